import { OUTSIDE_DEFAULTS, type PiSettings } from "../../config/index.ts";
import type { PiActions, PiContext } from "../host.ts";
import { applyOutside } from "./apply.ts";
import { nextMessages, type Outside as OutsideState, readOutside } from "./branch.ts";
import { answerTo, type CompactionWish, type OurCompaction, ourCompaction } from "./compaction.ts";
import { OUTSIDE_ENTRY } from "./entries.ts";
import type { FoldMessage } from "./fold.ts";
import { type ObjectIds, rememberedIds, tokensIn } from "./keys.ts";
import type { PiMessage } from "./message.ts";
import { type Outlook, outlook, type Rules } from "./outlook.ts";
import { estimatedSize, type SizeParts, sizeOf } from "./size.ts";

/** The conversation outside the model, while Pi is on one of its sessions. What Pi calls here never throws. */
export interface Outside {
  /** The messages of a request as they are sent; what newly goes out is written on the branch before. */
  sent<M extends PiMessage>(messages: readonly M[]): readonly (M | FoldMessage)[];
  /** What becomes of a compaction that Pi is about to make. */
  compacts(wish: CompactionWish & { readonly reserve: number }): PiAnswer;
  /**
   * From now on no text of this branch goes out, or texts go out again. Answers whether some are outside, so that the model may
   * need the tools that their stubs name.
   */
  switched(isOff: boolean): boolean;
  /**
   * Has old texts go out now, down to the target, because a person wishes it. Answers what that comes to; null if nothing
   * can go out. Throws if the entry cannot be written.
   */
  externalize(): { readonly objects: number; readonly tokens: number } | null;
  /** Pi has come to a session, or to another branch of it. */
  arrived(how: "start" | "tree"): void;
}

/** What Pi is answered. */
export type PiAnswer = { readonly cancel?: true; readonly compaction?: OurCompaction };

export interface OutsideParts {
  context(): PiContext;
  readonly actions: Pick<PiActions, "appendEntry" | "getActiveTools" | "getAllTools">;
  /** Settings in force. @throws RlmError `invalid_config` */
  settings(cwd: string): PiSettings;
}

/** Tokens that Pi keeps free for an answer, until it has told another number. */
const RESERVE = 16_384;

export function openOutside({ context, actions, settings }: OutsideParts): Outside {
  const ids = rememberedIds();
  let reserve = RESERVE;
  let known: PiSettings | undefined;
  /** What failed stays undone until Pi starts again. */
  let failed: "nothing" | "planning" | "all" = "nothing";
  let toldUnknown = false;

  const written = (next: Outlook<PiMessage>) => writeEntries(next, actions);
  const tell = (text: string) => notify(context, text);
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

  function planned<M extends PiMessage>(messages: readonly M[], outside: OutsideState) {
    const branch = context().sessionManager.getBranch();
    const rules = held().externalize ? rulesNow() : null;
    if (!rules) return applyOutside(messages, outside, ids);
    const next = outlook({ messages, branch, base: baseOf(messages), ids, rules });
    written(next);
    return next.sent;
  }

  function answered(wish: CompactionWish): PiAnswer {
    const branch = context().sessionManager.getBranch();
    const { entries } = readOutside(branch);
    const { externalize, compaction } = held();
    const rules = rulesNow();
    if (!rules || entries.isOff || (!externalize && entries.epochs.length === 0)) return {};
    const messages = nextMessages(branch);
    const answer = answerTo(wish, { messages, branch, base: baseOf(messages), ids, rules }, compaction);
    if (answer.is === "cancelled") return { cancel: true };
    if (answer.is === "pi") return {};
    if (answer.becauseOfSize)
      tell("RLM: the conversation is too large for a model to summarize; its objects are listed");
    return { compaction: answer.compaction };
  }

  return {
    externalize() {
      const branch = context().sessionManager.getBranch();
      const messages = nextMessages(branch);
      const rules = rulesNow();
      if (!rules) return null;
      return written(outlook({ messages, branch, base: baseOf(messages), ids, rules: { ...rules, isAsked: true } }));
    },
    arrived(how) {
      known = undefined;
      if (how === "start") failed = "nothing";
    },
    switched: (isOff) => switchTo(isOff, context, actions),
    sent(messages) {
      if (failed === "all") return messages;
      let outside: OutsideState | undefined;
      try {
        outside = readOutside(context().sessionManager.getBranch());
        if (outside.entries.unknown > 0 && !toldUnknown) {
          toldUnknown = true;
          tell("RLM: entries of another version of Belay say what is outside the conversation; they are passed over");
        }
        if (outside.entries.isOff) {
          const branch = context().sessionManager.getBranch();
          const fits = fitsRaw({ messages, branch, outside, base: baseOf(messages), ids }, context().model, reserve);
          return fits ? messages : applyOutside(messages, outside, ids);
        }
        if (failed === "nothing") return planned(messages, outside);
      } catch (error) {
        fail("planning", error);
      }
      try {
        return outside ? applyOutside(messages, outside, ids) : messages;
      } catch (error) {
        fail("all", error);
        return messages;
      }
    },
    compacts(wish) {
      reserve = wish.reserve;
      try {
        if (failed === "nothing") return answered(wish);
      } catch (error) {
        fail("planning", error);
      }
      return afterFailure(wish, context, ids);
    },
  };
}

/** Answers true if Pi has left the session: the tools that stubs name are then kept. */
function switchTo(isOff: boolean, context: () => PiContext, actions: Pick<PiActions, "appendEntry">): boolean {
  try {
    const { entries } = readOutside(context().sessionManager.getBranch());
    if (entries.isOff !== isOff) actions.appendEntry(OUTSIDE_ENTRY, { v: 1, off: isOff });
    return entries.epochs.length > 0;
  } catch {
    return true;
  }
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

/** Writes what goes out on the branch. Answers what it comes to; null if nothing does. */
function writeEntries(
  { entries, objects }: Outlook<PiMessage>,
  actions: Pick<PiActions, "appendEntry">,
): ReturnType<Outside["externalize"]> {
  for (const entry of entries) actions.appendEntry(OUTSIDE_ENTRY, entry);
  const [first] = entries;
  return first ? { objects, tokens: first.before - first.after } : null;
}

function notify(context: () => PiContext, text: string): void {
  try {
    context().ui.notify(text, "warning");
  } catch {
    // Pi has left the session.
  }
}

/** By what more goes out; null if there is no model whose window could be too small. */
function rulesOf(settings: Settings, model: PiContext["model"], reserve: number): Rules | null {
  if (!model) return null;
  const { externalize_at: at, externalize_to: to, externalize_min_tokens: min } = settings;
  const { manifest_tokens: manifest, warm_turns } = settings;
  return { at, to, min, manifest, warm_turns, window: model.contextWindow, reserve, model };
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

/** Whether the messages fit as Pi has them: after `/rlm off` they are then sent so. */
function fitsRaw(parts: SizeParts, model: PiContext["model"], reserve: number): boolean {
  if (!model) return true;
  // What was counted behind the entry of `/rlm off` may be either of stubs or of texts.
  const branch = parts.branch.slice(0, parts.outside.entries.newest);
  const { ratio } = sizeOf(parts.messages, { ...parts, branch, outside: readOutside(branch) });
  return estimatedSize(parts.messages, parts, ratio).tokens < model.contextWindow - reserve;
}
