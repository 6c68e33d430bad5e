import type { ExtensionAPI, ExtensionContext, ExtensionUIContext } from "@mariozechner/pi-coding-agent";
import type { Clock } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";
import type { PiSettings } from "../../settings/index.ts";
import { type Store, textKey } from "../../store/index.ts";
import type { PiMessage } from "../externalize/index.ts";
import { say } from "../view/texts.ts";
import { settledWithin } from "../waiting.ts";
import { openReadFollower, type ReadFollower } from "./follow.ts";
import { META_KEY } from "./meta.ts";
import { REFRESH_TOOL, type RefreshParts, refresh, refreshTool, wishIn } from "./refresh.ts";
import { openSent } from "./sent.ts";
import { statusLine, statusOf } from "./status.ts";
import { openTexts } from "./texts.ts";

/** The read cache while one instance of the extension lives. It does nothing unless a setting turns it on. */
export interface ReadCache {
  /** Pi is on a session. */
  arrived(context: StartContext): void;
  /** The messages of a request, as Belay leaves them. */
  requested(messages: readonly PiMessage[]): void;
  /** Pi leaves the session: the store is given time to keep the newest texts. */
  left(): Promise<undefined>;
}

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
    arrived(context: StartContext): void {
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
    requested(messages: readonly PiMessage[]): void {
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
