import { OUTSIDE_DEFAULTS, type PiSettings } from "../../config/index.ts";
import type { BranchEntry } from "../branch/entries.ts";
import type { Epoch } from "../events.ts";
import type { PiActions, PiContext } from "../host.ts";
import { applyOutside } from "./apply.ts";
import { type Asked, epochOf, openAsked } from "./asked.ts";
import { nextMessages, type Outside as OutsideState, readOutside } from "./branch.ts";
import { answerTo, type CompactionWish, type OurCompaction, ourCompaction } from "./compaction.ts";
import { findCopies } from "./copies.ts";
import { OUTSIDE_ENTRY } from "./entries.ts";
import type { FoldMessage } from "./fold.ts";
import { type ObjectIds, rememberedIds, tokensIn } from "./keys.ts";
import { messagesOf, type PiMessage } from "./message.ts";
import { outlook, type Rules } from "./outlook.ts";
import { rawSize } from "./size.ts";

/** The conversation outside the model, while Pi is on one of its sessions. What Pi calls here never throws. */
export interface Outside {
  /** The messages of a request as they are sent; what newly goes out is written on the branch before. */
  sent<M extends PiMessage>(messages: readonly M[]): readonly (M | FoldMessage)[];
  /** What becomes of a compaction that Pi is about to make. */
  compacts(wish: CompactionWish & { readonly reserve: number }): PiAnswer;
  /** What a person asks of it. */
  readonly asked: Asked;
  /** Pi has come to a session, or to another branch of it. */
  arrived(how: "start" | "tree"): void;
}

/** The branch, and what it says of its messages. */
interface Seen {
  readonly branch: readonly BranchEntry[];
  readonly outside: OutsideState;
}

/** What Pi is answered. */
export type PiAnswer = { readonly cancel?: true; readonly compaction?: OurCompaction };

export interface OutsideParts {
  context(): PiContext;
  readonly actions: Pick<PiActions, "appendEntry" | "getActiveTools" | "getAllTools">;
  /** Settings in force. @throws RlmError `invalid_config` */
  settings(cwd: string): PiSettings;
  /** Is told of each epoch that is written. Must not throw. */
  announced(epoch: Epoch): void;
}

/** Tokens that Pi keeps free for an answer, until it has told another number. */
const RESERVE = 16_384;

export function openOutside({ context, actions, settings, announced }: OutsideParts): Outside {
  const ids = rememberedIds();
  let reserve = RESERVE;
  let known: PiSettings | undefined;
  /** What failed stays undone until Pi starts again. */
  let failed: "nothing" | "planning" | "all" = "nothing";

  const write = (data: object) => actions.appendEntry(OUTSIDE_ENTRY, data);
  const tell = (text: string) => notify(context, text);
  const tellOnce = saidOnce(tell);
  const held = () => {
    known ??= settings(context().cwd);
    return { ...OUTSIDE_DEFAULTS, ...known };
  };

  function fail(what: "planning" | "all", error: unknown): void {
    const isFirst = failed === "nothing";
    failed = what;
    if (!isFirst) return;
    const why = error instanceof Error ? error.message : String(error);
    tell(`RLM: old texts of the conversation no longer go out until Pi starts again (externalize_failed): ${why}`);
  }

  const rulesNow = () => rulesOf(held(), context().model, reserve);
  const baseOf = (messages: readonly PiMessage[]) => baseTokens(messages, context(), actions);
  const branch = () => context().sessionManager.getBranch();
  const room = () => (windowOf(context().model) ?? Number.POSITIVE_INFINITY) - reserve;
  const window = () => windowOf(context().model);
  const keeps = () => held().externalize;
  const asked = openAsked({ ids, branch, write, wrote: announced, baseOf, rules: rulesNow, room, window, keeps });

  function planned<M extends PiMessage>(messages: readonly M[], seen: Seen) {
    const rules = held().externalize ? rulesNow() : null;
    if (!rules) return applyOutside(messages, seen.outside, ids);
    const next = outlook({ ...seen, messages, base: baseOf(messages), ids, rules });
    for (const entry of next.entries) write(entry);
    const epoch = epochOf(next.entries, next.objects);
    if (epoch) announced(epoch);
    return next.sent;
  }

  function answered(wish: CompactionWish): PiAnswer {
    const seen = seenOn(branch());
    const { entries } = seen.outside;
    const settings = held();
    const rules = rulesNow();
    if (!rules || entries.isOff || (!settings.externalize && entries.epochs.length === 0)) return {};
    const messages = nextMessages(seen.branch);
    const answer = answerTo(wish, { ...seen, messages, base: baseOf(messages), ids, rules }, settings);
    if (answer.is === "cancelled") return { cancel: true };
    if (answer.is === "pi") return {};
    if (answer.becauseOfSize)
      tell("RLM: the conversation is too large for a model to summarize; its objects are listed");
    return { compaction: answer.compaction };
  }

  return {
    asked,
    arrived(how) {
      known = undefined;
      if (how === "start") failed = "nothing";
    },
    sent(messages) {
      if (failed === "all") return messages;
      let seen: Seen | undefined;
      try {
        seen = seenOn(branch());
        const { outside } = seen;
        findCopies(messages, messagesOf(seen.branch));
        if (outside.entries.unknown > 0) tellOnce(UNKNOWN);
        if (outside.entries.isOff) {
          const { tokens } = rawSize({ ...seen, messages, base: baseOf(messages), ids });
          return tokens < room() ? messages : applyOutside(messages, outside, ids);
        }
        if (failed === "nothing") return planned(messages, seen);
      } catch (error) {
        fail("planning", error);
      }
      try {
        return seen ? applyOutside(messages, seen.outside, ids) : messages;
      } catch (error) {
        fail("all", error);
        return messages;
      }
    },
    compacts(wish) {
      reserve = wish.reserve;
      try {
        const last = asked.compacts(wish);
        if (last) return last;
        if (failed === "nothing") return answered(wish);
      } catch (error) {
        fail("planning", error);
      }
      return afterFailure(wish, context, ids);
    },
  };
}

const seenOn = (branch: readonly BranchEntry[]): Seen => ({ branch, outside: readOutside(branch) });

const UNKNOWN = "RLM: entries of another version of Belay say what is outside the conversation; they are passed over";

function saidOnce(say: (text: string) => void): (text: string) => void {
  let isSaid = false;
  return (text) => {
    if (!isSaid) say(text);
    isSaid = true;
  };
}

/** Our compaction, by no setting; nothing if it cannot be made either. */
function afterFailure(wish: CompactionWish, context: () => PiContext, ids: ObjectIds): PiAnswer {
  try {
    const { manifest_tokens: manifest, externalize_min_tokens: min } = OUTSIDE_DEFAULTS;
    return { compaction: ourCompaction(wish, context().sessionManager.getBranch(), { manifest, min }, ids) };
  } catch {
    return {};
  }
}

function notify(context: () => PiContext, text: string): void {
  try {
    context().ui.notify(text, "warning");
  } catch {
    // Pi has left the session.
  }
}

/** Tokens of the model's window; null if nobody knows them. */
function windowOf(model: PiContext["model"]): number | null {
  const window = Math.floor(model?.contextWindow ?? 0);
  return Number.isSafeInteger(window) && window > 0 ? window : null;
}

/** By what more goes out; null if there is no model whose window could be too small. */
function rulesOf(settings: Settings, model: PiContext["model"], reserve: number): Rules | null {
  const window = windowOf(model);
  if (!model || window === null) return null;
  const { externalize_at: at, externalize_to: to, externalize_min_tokens: min } = settings;
  const { manifest_tokens: manifest, warm_turns } = settings;
  return { at, to, min, manifest, warm_turns, window, reserve, model };
}

type Settings = { readonly [key in keyof typeof OUTSIDE_DEFAULTS]: NonNullable<PiSettings[key]> };

/** Tokens of what goes with the messages, estimated. From Pi 0.87 on a message of the system has all of it. */
function baseTokens(
  messages: readonly PiMessage[],
  context: Pick<PiContext, "getSystemPrompt">,
  actions: OutsideParts["actions"],
): number {
  if (messages.some(({ role }) => role === "system")) return 0;
  const active = actions.getActiveTools();
  const offered = actions.getAllTools().filter(({ name }) => active.includes(name));
  const tools = offered.map(({ name, description, parameters }) => ({ name, description, parameters }));
  return tokensIn(context.getSystemPrompt().length + JSON.stringify(tools).length);
}
