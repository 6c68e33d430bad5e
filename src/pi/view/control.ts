import { join } from "node:path";
import { RlmError } from "../../../runtime/index.ts";
import { type PiOrigins, piOrigins } from "../../config/index.ts";
import { homeFolder } from "../../home.ts";
import { agentDirOf } from "../../model/index.ts";
import {
  describeSession,
  listSessions,
  readRecord,
  type SessionDescription,
  type SessionSummary,
} from "../../session/index.ts";
import { tools } from "../../tools/pi-tools.ts";
import type { BranchView } from "../branch/entries.ts";
import { completeEntry } from "../branch/mirror.ts";
import type { PiActions } from "../host.ts";
import type { Opened } from "../opened/opened.ts";
import type { Outside } from "../outside/index.ts";
import type { StateBoard } from "../runs/board.ts";
import type { Runs } from "../runs/runs.ts";

/** What a person can ask of the extension. What fails throws an RlmError. */
export interface Control {
  readonly board: Pick<StateBoard, "current" | "subscribe">;
  /** Brings the board up to the branch. If Pi has only just come to a session, the board may lag behind. */
  refresh(): Promise<void>;
  /** Offers the tools to the model, or takes them away. Returns those that stay, because texts sent as stubs need them. */
  setEnabled(enabled: boolean): readonly string[];
  /** Has old texts of the conversation go out now. Returns null if nothing can. */
  externalize(): { readonly objects: number; readonly tokens: number } | null;
  /** Cancels what runs. Returns false if nothing runs. */
  cancel(): boolean;
  /** Every session of the store, the one changed last first. */
  sessions(): Promise<readonly SessionSummary[]>;
  /** The session and the checkpoint of the branch; null if RLM was not used on it. */
  branch(): Promise<{ readonly session: SessionDescription; readonly checkpoint: string | null } | null>;
  /** The branch stands at this checkpoint from now on; what was on it before stays in the store. */
  goTo(session: string, checkpoint: string): Promise<void>;
  /** @param cwd folder of the project */
  settings(cwd: string): PiOrigins;
}

/** What of the lifecycle this needs. */
export interface ControlParts {
  readonly board: StateBoard;
  readonly runs: Pick<Runs, "cancel">;
  opened(): Promise<Pick<Opened, "store">>;
  readonly switched: Outside["switched"];
  externalize: Control["externalize"];
  view(): BranchView;
  /** Brings the board up to the branch. */
  refresh(): Promise<void>;
}

export function openControl(
  { board, runs, opened, switched, externalize, view, refresh }: ControlParts,
  actions: Pick<PiActions, "appendEntry" | "getActiveTools" | "setActiveTools">,
  env: NodeJS.ProcessEnv,
): Control {
  return {
    board,
    refresh,
    setEnabled(enabled) {
      const others = actions.getActiveTools().filter((name) => !OURS.includes(name));
      const hasStubs = switched(!enabled);
      const stay = !enabled && hasStubs ? NAMED_BY_STUBS : [];
      actions.setActiveTools([...others, ...(enabled ? OURS : stay)]);
      board.change({ enabled });
      return stay;
    },
    externalize,
    cancel: () => runs.cancel(),
    sessions: async () => listSessions((await opened()).store),
    async branch() {
      const { head } = view();
      if (!head) return null;
      const session = await describeSession((await opened()).store, head.session);
      return { session, checkpoint: head.checkpoint };
    },
    async goTo(session, checkpoint) {
      const { store } = await opened();
      const rows = await store.checkpoints(session);
      const row = rows.find(({ id, kind }) => id === checkpoint && kind === "end");
      const records = (await store.journal(session)).map(({ record }) => readRecord(record));
      const complete = records.find((record) => record.record === "rlm_complete" && record.exec_id === row?.exec_id);
      if (complete?.record !== "rlm_complete") throw noCheckpoint(session, checkpoint);
      // The state of a branch is the last end of an exec on it, whichever it is.
      actions.appendEntry("rlm_complete", completeEntry(session, complete, checkpoint));
      await refresh();
    },
    settings(cwd) {
      const userFile = join(homeFolder(env), "config.json");
      return piOrigins({ cwd, env, agentDir: agentDirOf(env), userFile });
    },
  };
}

const NAMED_BY_STUBS = ["rlm_peek", "rlm_search"];
const OURS = tools.map(({ name }) => name);

function noCheckpoint(session: string, checkpoint: string): RlmError {
  return new RlmError("checkpoint_not_found", `the session ${session} has no checkpoint ${checkpoint}`, {
    suggestion: "/rlm checkpoints lists those that there are.",
  });
}
