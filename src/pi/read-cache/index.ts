import type { ExtensionAPI, ExtensionContext, ExtensionUIContext, ToolDefinition } from "@mariozechner/pi-coding-agent";
import type { Clock } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { settledWithin } from "../../platform/signals.ts";
import type { PiSettings } from "../../settings/index.ts";
import { type Store, textKey } from "../../store/index.ts";
import type { PiMessage } from "../externalize/message.ts";
import { say } from "../view/texts.ts";
import { isThere, readPath, readTextFile } from "./file.ts";
import { openReadFollower, type ReadFollower } from "./follow.ts";
import { FULL, META_KEY, REFRESH_ENTRY, type Refresh, scopeOf } from "./meta.ts";
import { openSent } from "./sent.ts";
import { statusLine, statusOf } from "./status.ts";
import { badRange, openTexts, suffixOf } from "./texts.ts";

/**
 * The read cache while one instance of the extension lives. It does nothing unless a setting turns
 * it on.
 */
export interface ReadCache {
  /** Pi is on a session. */
  arrived(context: StartContext): void;
  /** The messages of a request, as Belay leaves them. */
  requested(messages: readonly PiMessage[]): void;
  /** Pi leaves the session: the store is given time to keep the newest texts. */
  left(): Promise<undefined>;
}

interface ReadCacheParts {
  /** Settings in force. @throws RlmError `invalid_config` */
  settings(cwd: string): PiSettings;
  /** Opens the store if it is not open. */
  store(): Promise<Pick<Store, "cached" | "keepText">>;
  readonly clock: Clock;
  /** Writes the words of a command when there is no user interface. */
  write(text: string): void;
}

interface StartContext extends Readonly<Pick<ExtensionContext, "cwd" | "hasUI">> {
  readonly ui: Pick<ExtensionUIContext, "notify" | "setStatus">;
}

/** The part of Pi that is used. */
type ReadCacheHost = Pick<
  ExtensionAPI,
  "on" | "registerTool" | "registerCommand" | "appendEntry" | "getActiveTools" | "getAllTools"
>;

/** The line of `read` is Pi's own, so that Pi's footer tells of an answer. */
const STATUS = "read-cache";
/** ms that the end of Pi waits for the store. */
const CLOSE_MS = 2_000;

/** Names of files that a session's settings exempt; null while the cache is off. */
type Exempt = readonly string[] | null;

export function openReadCache(pi: ReadCacheHost, parts: ReadCacheParts): ReadCache {
  const { clock, write } = parts;
  let named: Exempt = null;
  let isRegistered = false;
  const exempt = () => named ?? [];
  const sent = openSent();
  const store = openTextStore(parts);
  const texts = openTexts(store);
  const isRefreshOffered = () => pi.getActiveTools().includes(REFRESH_TOOL);
  const follower = openReadFollower({ exempt, sent, texts, isRefreshOffered });
  pi.on("before_provider_request", ({ payload }) => {
    if (named) sent.posted(payload);
  });
  followReads(pi, follower, () => named !== null);
  return {
    arrived(context) {
      if (context.hasUI) context.ui.setStatus(STATUS, undefined);
      named = exemptOf(context, parts);
      if (named === null) return;
      store.open();
      if (isRegistered) return;
      isRegistered = true;
      registerRefresh(
        pi,
        { exempt, append: (type, data) => pi.appendEntry(type, data), now: () => clock.now() },
        write,
      );
      pi.registerCommand("readcache-status", {
        description: "What the model has of files, and what the read cache saved",
        async handler(_line, at) {
          // Before the first request of a process, what the branch has is what will be sent.
          const now = sent.hasAsked() ? follower.reading(at) : { ...follower.reading(at), wasSent: () => true };
          say(statusOf(now, store.state(texts.problem()), follower.failures), "info", at, write);
        },
      });
    },
    requested(messages) {
      if (named) sent.requested(messages);
    },
    left: async () => void (await settledWithin(texts.settled(), CLOSE_MS, clock)),
  };
}

/** Reads the settings. If they cannot be read, one line says why, and what is off because of it. */
function exemptOf(context: StartContext, { settings, write }: Pick<ReadCacheParts, "settings" | "write">): Exempt {
  try {
    const { read_cache: isOn = false, read_cache_exclude: names = [] } = settings(context.cwd);
    return isOn ? names : null;
  } catch (error) {
    say(`RLM: ${messageOf(error)}\n${WHAT_IS_OFF}`, "warning", context, write);
    return null;
  }
}

const WHAT_IS_OFF =
  "Until it is corrected and /reload is typed, the rlm tools fail, no objects go outside, and the read cache is off.";

function followReads(pi: ReadCacheHost, follower: ReadFollower, isOn: () => boolean): void {
  pi.on("tool_call", async ({ toolName, input }, context) => {
    if (!isOn() || toolName !== "read") return {};
    const reason = await follower.called(input, context);
    return reason === null ? {} : { block: true, reason };
  });
  pi.on("tool_result", async (event, context) => {
    const served = isOn() && event.toolName === "read" ? await follower.answered(event, context) : null;
    if (!served) return {};
    if (served.text !== null && context.hasUI) context.ui.setStatus(STATUS, statusLine(served, context));
    const details = Object.assign({}, event.details, { [META_KEY]: served.meta });
    // An equal text is not given back: later versions of Pi drop a result's structure then.
    return served.text === null ? { details } : { content: [{ type: "text", text: served.text }], details };
  });
}

function registerRefresh(pi: ReadCacheHost, parts: RefreshParts, write: ReadCacheParts["write"]): void {
  // Beside another cache's tool of this name ours stays away: that cache answers the reads.
  if (!pi.getAllTools().some(({ name }) => name === REFRESH_TOOL)) pi.registerTool(refreshTool(parts));
  pi.registerCommand("readcache-refresh", {
    description: "Have the next read of a file show it whole: PATH [START-END]",
    async handler(line, context) {
      try {
        say(await refresh(wishIn(line), context.cwd, parts), "info", context, write);
      } catch (error) {
        say(`${messageOf(error)}. Usage: /readcache-refresh PATH [START-END]`, "error", context, write);
      }
    },
  });
}

/** Texts in Belay's store, which is opened behind and not waited for. */
function openTextStore({ store, clock }: Pick<ReadCacheParts, "store" | "clock">) {
  let opened: Pick<Store, "cached" | "keepText"> | null = null;
  let problem: string | null = null;
  const open = async () => {
    opened = await store();
    return opened;
  };
  return {
    keep: async (hash: string, text: string) => (await open()).keepText(hash, text, clock.now()),
    async read(hash: string): Promise<string | null> {
      const text = await opened?.cached(textKey(hash));
      return typeof text === "string" ? text : null;
    },
    open() {
      open().catch((error: unknown) => {
        problem = messageOf(error);
      });
    },
    state(failed: string | null): string {
      const why = failed ?? (opened ? null : problem);
      if (why !== null) return `the store failed: ${why}`;
      return opened ? "in Belay's store" : "the store is not open yet";
    },
  };
}

export const REFRESH_TOOL = "readcache_refresh";

interface RefreshParts {
  exempt(): readonly string[];
  append(customType: string, data: Refresh): void;
  now(): number;
}

/** A file, or lines of it, that the next read is to show whole. */
interface Wish {
  readonly path: string;
  readonly offset?: number | undefined;
  readonly limit?: number | undefined;
}

/**
 * Keeps the wish on the branch, and answers what is to be said. A file that is not there may come
 * to be. @throws Error
 */
async function refresh(wish: Wish, cwd: string, { exempt, append, now }: RefreshParts): Promise<string> {
  const { path, offset, limit } = await withSuffix(wish, cwd);
  const pathKey = await readPath(path, cwd);
  const file = await readTextFile(pathKey, exempt());
  const total = file ? file.text.split("\n").length : Number.POSITIVE_INFINITY;
  const start = Math.max(1, offset ?? 1);
  const end = Math.max(start, Math.min(total, limit === undefined ? total : start + limit - 1));
  // Lines up to an unknown end are the whole file.
  const scopeKey = Number.isFinite(end) ? scopeOf({ start, end, total }) : FULL;
  append(REFRESH_ENTRY, { v: 1, kind: "invalidate", pathKey, scopeKey, at: now() });
  return `The next read of ${path}${scopeKey === FULL ? "" : `:${start}-${end}`} shows it whole.`;
}

async function withSuffix(wish: Wish, cwd: string): Promise<Wish> {
  const { path, offset, limit } = wish;
  if (path.trim() === "") throw new Error("No path was given: name the file that is to be read whole again");
  if (limit !== undefined && limit < 1) throw new Error(badRange(`of ${limit} lines`, path));
  if (offset !== undefined || limit !== undefined) return wish;
  const suffix = suffixOf(path);
  if (!suffix || (await isThere(path, cwd))) return wish;
  if (suffix.problem !== null) throw new Error(suffix.problem);
  return suffix;
}

/** The wish of `/readcache-refresh PATH [START-END]`. */
function wishIn(line: string): Wish {
  const typed = line.trim();
  const [, path = typed, lines] = /^(.+?)\s+(\d{1,9}(?:-\d{1,9})?)$/s.exec(typed) ?? [];
  return { path: lines === undefined ? path : `${path}:${lines}` };
}

/**
 * The tool with which a model asks for a text again. Its guideline is all that the cache says in
 * the prompt.
 */
function refreshTool(parts: RefreshParts): ToolDefinition {
  return {
    name: REFRESH_TOOL,
    label: "Read whole again",
    description: "Have the next read of a file, or of these lines, show it whole.",
    promptGuidelines: ["read may answer that a file is unchanged, or with a diff to your last read of it."],
    parameters: Parameters,
    // The next read of the same answer has to find the entry.
    executionMode: "sequential",
    async execute(_id, { path, offset, limit }, _signal, _update, { cwd }) {
      return { content: [{ type: "text", text: await refresh({ path, offset, limit }, cwd, parts) }], details: {} };
    },
  };
}

const Parameters = {
  type: "object",
  required: ["path"],
  properties: {
    path: { type: "string" },
    offset: { type: "integer", minimum: 1 },
    limit: { type: "integer", minimum: 1 },
  },
};
