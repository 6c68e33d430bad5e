import type { ExtensionAPI, ExtensionContext, ExtensionUIContext } from "@mariozechner/pi-coding-agent";
import type { Clock } from "../../../runtime/index.ts";
import type { PiSettings } from "../../config/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { META_KEY, type TextStore } from "../../read-cache/index.ts";
import { type Store, textKey } from "../../store/index.ts";
import type { PiMessage } from "../outside/index.ts";
import { say } from "../view/texts.ts";
import { openReadFollower, type ReadFollower } from "./follow.ts";
import { REFRESH_TOOL, type RefreshParts, refresh, refreshTool, wishIn } from "./refresh.ts";
import { statusLine, statusOf } from "./status.ts";

/** The read cache while one instance of the extension lives. It does nothing unless a setting turns it on. */
export type ReadCache = ReturnType<typeof openReadCache>;

export interface ReadCacheParts {
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
export type ReadCacheHost = Pick<
  ExtensionAPI,
  "on" | "registerTool" | "registerCommand" | "appendEntry" | "getActiveTools" | "getAllTools"
>;

/** The line of `read` is Pi's own, so that Pi's footer tells of an answer. */
const STATUS = "read-cache";

/** Names of files that a session's settings exempt; null while the cache is off. */
type Exempt = readonly string[] | null;

export function openReadCache(pi: ReadCacheHost, parts: ReadCacheParts) {
  let exempt: Exempt = null;
  let isRegistered = false;
  const texts = openTextStore(parts);
  const follower = openReadFollower({
    exempt: () => exempt ?? [],
    store: texts,
    isRefreshOffered: () => pi.getActiveTools().includes(REFRESH_TOOL),
    clock: parts.clock,
  });
  followReads(pi, follower, () => exempt !== null);
  return {
    /** Pi is on a session. */
    arrived(context: StartContext): void {
      if (context.hasUI) context.ui.setStatus(STATUS, undefined);
      exempt = exemptOf(context, parts);
      if (exempt === null) return;
      texts.open();
      if (isRegistered) return;
      isRegistered = true;
      register(
        pi,
        { ...parts, exempt: () => exempt ?? [], store: () => texts.state(follower.storeProblem()) },
        follower,
      );
    },
    /** The messages of a request, as Belay leaves them. */
    requested(messages: readonly PiMessage[]): void {
      if (exempt !== null) follower.requested(messages);
    },
    /** Pi leaves the session: the store is given time to keep the newest texts. */
    left: follower.left,
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
  pi.on("before_provider_request", ({ payload }) => {
    if (isOn()) follower.posted(payload);
  });
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

type RegisterParts = Pick<ReadCacheParts, "clock" | "write"> & Pick<RefreshParts, "exempt"> & { store(): string };

function register(pi: ReadCacheHost, { clock, write, exempt, store }: RegisterParts, follower: ReadFollower): void {
  const parts: RefreshParts = {
    exempt,
    append: (customType, data) => pi.appendEntry(customType, data),
    now: () => clock.now(),
  };
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
  pi.registerCommand("readcache-status", {
    description: "What the model has of files, and what the read cache saved",
    async handler(_line, context) {
      const { failures, reading, hasAsked } = follower;
      // Before the first request of a process, what the branch has is what will be sent.
      const now = hasAsked() ? reading(context) : { ...reading(context), wasSent: () => true };
      say(statusOf(now, { store: store(), failures, cwd: context.cwd }), "info", context, write);
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
  const texts: TextStore = {
    keep: async (hash, text) => (await open()).keepText(hash, text, clock.now()),
    async read(hash) {
      const text = await opened?.cached(textKey(hash));
      return typeof text === "string" ? text : null;
    },
  };
  return {
    ...texts,
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
