import { setImmediate } from "node:timers/promises";
import { RlmError } from "../../../runtime/index.ts";
import { type Context, isSmall, objectOf } from "../../context/index.ts";
import { describeSession, type SessionDescription } from "../../history/index.ts";
import { version } from "../../platform/version.ts";
import { listReadableSessions, type ReadableSessions, readRecord } from "../../session/index.ts";
import { type PiOrigins, piOrigins } from "../../settings/index.ts";
import { tools } from "../../tools/pi-tools.ts";
import type { Looked } from "../../view/index.ts";
import { completeEntry } from "../branch/mirror.ts";
import type { Cleared, Compact, Externalized, Left, Switched } from "../externalize/asked.ts";

import type { PiActions } from "../host.ts";
import type { Lifecycle } from "../lifecycle.ts";
import { placesOf } from "../opened/opened.ts";
import type { StateBoard } from "../runs/board.ts";
import { type BranchReport, sessionsOf } from "./report.ts";

/** A person's commands to the extension. A failed one throws an RlmError. */
export interface Control {
  readonly board: StateBoard;
  /**
   * Brings the board up to the branch. If Pi has only just come to a session, the board may lag
   * behind.
   */
  refresh(): Promise<void>;
  /**
   * Offers the tools to the model, or takes them away, for this branch. Those that stubs name, or
   * may name again, stay.
   */
  setEnabled(enabled: boolean): Switched;
  /** Has the tools offered or not, as the branch says that Pi has come to. */
  followBranch(): void;
  /**
   * Has Pi compact the conversation without a model, and takes all tools away. Rejects if something
   * runs, or if Pi cannot.
   */
  leave(compact: Compact): Promise<Left>;
  externalize(): Externalized;
  clear(): Cleared;
  /** The conversation outside, and the execs of the branch. */
  report(): Promise<BranchReport>;
  /** Documents of the branch's P. None if P cannot be read. */
  documents(): Promise<ListedDocuments>;
  /** Cancels what runs. Returns false if nothing runs. */
  cancel(): boolean;
  /** The sessions of the store, the one changed last first, and those that cannot be read. */
  sessions(): Promise<ReadableSessions>;
  /** The session and the checkpoint of the branch; null if RLM was not used on it. */
  branch(): Promise<{ readonly session: SessionDescription; readonly checkpoint: string | null } | null>;
  /**
   * The page of the branch's session; null if RLM was not used on it. @param now ms since the epoch
   */
  look(texts: boolean, now: number): Promise<Looked | null>;
  /** The branch stands at this checkpoint from now on; what was on it before stays in the store. */
  goTo(session: string, checkpoint: string): Promise<void>;
  /** The settings in force in this folder, each with its origin. */
  settings(cwd: string): PiOrigins;
}

/** Bytes that the page may take. */
const PAGE_BYTES = 32 * 2 ** 20;

export function openControl(
  { board, cancel, opened, outside, rested, context, view, refresh }: Lifecycle,
  actions: Pick<PiActions, "appendEntry" | "getActiveTools" | "setActiveTools">,
  env: NodeJS.ProcessEnv,
): Control {
  function offer(ours: readonly string[], enabled: boolean): void {
    const others = actions.getActiveTools().filter((name) => !OURS.includes(name));
    actions.setActiveTools([...others, ...ours]);
    board.change({ enabled });
    rested();
  }

  /**
   * Offers the tools to the model, or takes them away, for this branch. Those that stubs name, or
   * may name again, stay.
   */
  function setEnabled(enabled: boolean): Switched {
    const sent = outside.switched(!enabled);
    offer(enabled ? OURS : staying(sent), enabled);
    return sent;
  }

  return {
    board,
    refresh,
    setEnabled,
    followBranch() {
      const isOff = outside.isOff();
      // The choice of the user or another extension holds, unless we have chosen before.
      if (isOff === board.current().enabled) setEnabled(!isOff);
    },
    async leave(compact) {
      const { running } = board.current();
      if (running) throw isRunning(running.tool);
      const left = await outside.leave(compact);
      offer(staying(left.is), false);
      return left;
    },
    externalize: outside.externalize,
    clear() {
      const cleared = outside.clear();
      rested();
      return cleared;
    },
    async report() {
      const sessions = await sessionsOf(view(), opened);
      return { overview: outside.overview(), size: outside.size(), sessions };
    },
    documents: async () => documentsOf((await context()).P),
    cancel,
    sessions: async () => listReadableSessions((await opened()).store),
    async branch() {
      const { head } = view();
      if (!head) return null;
      const session = await describeSession((await opened()).store, head.session);
      return { session, checkpoint: head.checkpoint };
    },
    async look(texts, now) {
      const { head } = view();
      if (!head) return null;
      // The page is a large text, which nothing else needs.
      const { lookAt } = await import("../../view/index.ts");
      return lookAt((await opened()).store, head.session, { texts, now, maxBytes: PAGE_BYTES, belay: version() });
    },
    async goTo(session, checkpoint) {
      const { store } = await opened();
      const row = (await store.checkpoints(session)).find(({ id, kind }) => id === checkpoint && kind === "end");
      const records = (await store.journal(session)).map(({ record }) => readRecord(record));
      const complete = records.find((record) => record.record === "rlm_complete" && record.exec_id === row?.exec_id);
      if (complete?.record !== "rlm_complete") {
        throw new RlmError("checkpoint_not_found", `the session ${session} has no checkpoint ${checkpoint}`, {
          suggestion: "/rlm checkpoints lists those that there are.",
        });
      }
      // The state of a branch is the last end of an exec on it, whichever it is.
      actions.appendEntry("rlm_complete", completeEntry(session, complete, checkpoint));
      await refresh();
    },
    settings: (cwd) => piOrigins(placesOf(cwd, env)),
  };
}

/** Tools that stubs name, which a model may be sent after `/rlm off` too. */
function staying(sent: Switched): readonly string[] {
  return sent === "nothing" ? [] : ["rlm_peek", "rlm_search"];
}

const OURS = tools.map(({ name }) => name);

/** The failure of what has to wait until a call has ended. */
export function isRunning(tool: string): RlmError {
  return new RlmError("exec_unfinished", `${tool} is running`, {
    suggestion: "Wait for it, or end it with /rlm cancel.",
  });
}

/** Documents of P as `/rlm store` lists them. */
interface ListedDocuments {
  readonly listed: readonly ListedDocument[];
  /** The number of documents that are not listed. */
  readonly left: number;
}

interface ListedDocument {
  /** The id of its text; of a document of a large P its own, by which tools find it too. */
  readonly id: string;
  readonly is: "P";
  readonly kind: "file";
  readonly tokens: number;
  readonly description: string;
  /** Its text, of a large P the beginning of it. */
  text(): string;
}

/** Documents of a large P that are listed, and characters of each in which words are looked for. */
const LISTED = 1000;
const LOOKED_AT = 64 * 1024;

/**
 * Documents of P as `/rlm store` shows them: what is sent of them is what the model reads with
 * tools. To name those of a large P by their texts, all of it would be read.
 */
export async function documentsOf(P: Context | null): Promise<ListedDocuments> {
  if (!P) return { listed: [], left: 0 };
  const { documents, text } = P;
  const isWhole = isSmall(P);
  const count = isWhole ? documents.length : Math.min(documents.length, LISTED);
  const listed: ListedDocument[] = [];
  for (let at = 0; at < count; at++) {
    const document = documents.at(at);
    if (!document) break;
    const { start, end } = document;
    const { id } = await objectOf({ of: "P", context: P, document }, () => setImmediate());
    listed.push({
      id,
      is: "P",
      kind: "file",
      tokens: Math.ceil((end - start) / 4),
      description: document.id,
      text: () => text.slice(start, isWhole ? end : Math.min(end, start + LOOKED_AT)),
    });
  }
  return { listed, left: documents.length - count };
}
