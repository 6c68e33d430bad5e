import { messageOf } from "../../platform/errors.ts";
import type { Epoch } from "../events.ts";
import type { PiContext } from "../host.ts";
import { applyOutside, type FoldMessage } from "./apply.ts";
import { type Asked, epochOf, openAsked } from "./asked.ts";

import { nextMessages } from "./branch.ts";
import { type BranchState, type BranchStateParts, openBranchState, type Seen } from "./branch-state.ts";
import { answerTo, type CompactionWish, ourCompaction, type PiAnswer } from "./compaction.ts";
import { OUTSIDE_ENTRY } from "./entries.ts";
import { type ObjectIds, rememberedIds } from "./keys.ts";
import { findCopies, messagesOf, type PiMessage } from "./message.ts";

import { nextRequest } from "./next-request.ts";
import { rawSize } from "./size.ts";

interface OutsideParts extends BranchStateParts {
  /** Is told of each epoch that is written. Must not throw. */
  announced(epoch: Epoch): void;
}

/**
 * The conversation outside the model, while Pi is on one of its sessions. What Pi calls here never
 * throws.
 */
export interface Outside {
  /** A person's commands about it. */
  readonly asked: Asked;
  /** Pi has come to a session, or to another branch of it. */
  arrived(how: "start" | "tree"): void;
  /**
   * The messages of a request as they are sent; what newly goes out is written on the branch
   * before.
   */
  sent<M extends PiMessage>(messages: readonly M[]): readonly (M | FoldMessage)[];
  /** The fate of a compaction that Pi is about to make. */
  compacts(wish: CompactionWish & { readonly reserve: number }): PiAnswer;
}

export function openOutside({ announced, ...parts }: OutsideParts): Outside {
  const { context, actions } = parts;
  const ids = rememberedIds();
  const now = openBranchState(parts);
  /** The parts that failed; they stay undone until Pi starts again. */
  let failed: "nothing" | "planning" | "all" = "nothing";

  const write = (data: object) => actions.appendEntry(OUTSIDE_ENTRY, data);
  const tell = (text: string) => notify(context, text);
  const tellOnce = saidOnce(tell);

  function fail(what: "planning" | "all", error: unknown): void {
    const isFirst = failed === "nothing";
    failed = what;
    if (!isFirst) return;
    const why = messageOf(error);
    const cure = "/rlm off leaves the conversation to Pi.";
    tell(
      `RLM: old objects of the conversation no longer go out until Pi starts again (externalize_failed): ${why}. ${cure}`,
    );
  }

  const asked = openAsked({ ids, write, wrote: announced, ...now });

  function planned<M extends PiMessage>(messages: readonly M[], seen: Seen) {
    const rules = now.keeps() ? now.rules() : null;
    if (!rules) return applyOutside(messages, seen.outside, ids);
    const next = nextRequest({ ...seen, messages, base: now.baseOf(messages), ids, rules });
    for (const entry of next.entries) write(entry);
    const epoch = epochOf(next.entries, next.objects);
    if (epoch) announced(epoch);
    return next.sent;
  }

  return {
    asked,
    arrived(how) {
      now.forget();
      if (how === "start") failed = "nothing";
    },
    sent<M extends PiMessage>(messages: readonly M[]): readonly (M | FoldMessage)[] {
      if (failed === "all") return messages;
      let seen: Seen | undefined;
      try {
        seen = now.seen();
        const { outside } = seen;
        findCopies(messages, messagesOf(seen.branch));
        if (outside.entries.unknown > 0) tellOnce(UNKNOWN);
        if (outside.entries.isOff) {
          const { tokens } = rawSize({ ...seen, messages, base: now.baseOf(messages), ids });
          return tokens < now.room() ? messages : applyOutside(messages, outside, ids);
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
      try {
        now.reserved(wish.reserve);
        const last = asked.compacts(wish);
        if (last) return last;
        if (failed === "nothing") return answered(wish, now, ids, tell);
      } catch (error) {
        fail("planning", error);
      }
      return afterFailure(wish, context, ids);
    },
  };
}

const UNKNOWN = "RLM: entries of another version of Belay say what is outside the conversation; they are passed over";

/** The answer to a compaction, by the settings and what is outside. */
function answered(wish: CompactionWish, now: BranchState, ids: ObjectIds, tell: (text: string) => void): PiAnswer {
  const seen = now.seen();
  const { entries } = seen.outside;
  const rules = now.rules();
  if (!rules || entries.isOff || (!now.keeps() && entries.epochs.length === 0)) return {};
  const messages = nextMessages(seen.branch);
  return answerTo(wish, { ...seen, messages, base: now.baseOf(messages), ids, rules }, now.settings(), tell);
}

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
    return { compaction: ourCompaction(wish, context().sessionManager.getBranch(), ids) };
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
