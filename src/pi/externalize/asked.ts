import type { Epoch } from "../events.ts";
import { nextMessages, type Outside, readOutside } from "./branch.ts";
import type { BranchState } from "./branch-state.ts";
import { type CompactionWish, lastCompaction, type PiAnswer } from "./compaction.ts";
import type { EpochEntry } from "./entries.ts";
import type { ObjectIds } from "./keys.ts";
import { nextRequest, triggerOf } from "./next-request.ts";
import { type Overview, overviewOf } from "./overview.ts";

import { rawSize } from "./size.ts";

/**
 * A person's commands about the conversation outside. All of them throw if Pi has left the session,
 * or an entry cannot be written.
 */
export interface Asked {
  /** `/rlm off` holds on this branch. */
  isOff(): boolean;
  /** The messages that are outside. */
  overview(): Overview;
  /** The next request. */
  size(): NextSize;
  /** Has old texts go out now, down to the target. */
  externalize(): Externalized;
  /**
   * From now on no text of this branch goes out, or texts go out again. Answers what is sent of
   * those that are outside.
   */
  switched(isOff: boolean): Switched;
  /** Has all texts sent again. */
  clear(): Cleared;
  /** Has Pi compact the conversation with our summary; the branch then needs nothing of Belay. */
  leave(compact: Compact): Promise<Left>;
  /** The summary that `leave` asked for; null if it did not. */
  compacts(wish: CompactionWish): PiAnswer | null;
}

/** `tokens`: by how much requests are smaller. */
export type Externalized =
  | { readonly is: "out"; readonly objects: number; readonly tokens: number }
  | { readonly is: "nothing" | "off" | "no_model" };

/**
 * `raw`: as they were said. `stubs`: as before, since they would not fit. `nothing`: none is
 * outside.
 */
export type Switched = "nothing" | "raw" | "stubs";

/**
 * `too_large`: they would not fit. `out_again`: they would go out with the next request. Nothing is
 * written then.
 */
export type Cleared =
  | { readonly is: "cleared"; readonly objects: number }
  | { readonly is: "nothing" }
  | { readonly is: "too_large" | "out_again"; readonly tokens: number; readonly most: number };

/**
 * `compacted`: by this summary; false if there was too little to summarize. `stubs`: what Pi keeps
 * does not fit as texts.
 */
export interface Left {
  readonly compacted: boolean;
  readonly is: Switched;
}

/** Tokens of the next request, and of the window; null if Pi has no model. */
export interface NextSize {
  readonly tokens: number;
  readonly window: number | null;
}

/** Pi's `ctx.compact`. */
export type Compact = (options: { onComplete(): void; onError(error: Error): void }) => void;

interface AskedParts extends Pick<BranchState, "branch" | "baseOf" | "rules" | "room" | "window" | "keeps"> {
  readonly ids: ObjectIds;
  /** Writes one of our entries. */
  write(data: object): void;
  /** Tells others of an epoch that was written. */
  wrote(epoch: Epoch): void;
}

export function openAsked({ ids, branch, write, wrote, baseOf, rules, room, window, keeps }: AskedParts): Asked {
  /** Pi compacts because `leave` asked for it; `in_vain`: there is nothing to summarize. */
  let leaving: "no" | "yes" | "in_vain" = "no";

  /** The next request as it is, with nothing more put out. */
  function next() {
    const entries = branch();
    const messages = nextMessages(entries);
    const outside = readOutside(entries);
    const parts = { messages, branch: entries, outside, base: baseOf(messages), ids };
    const { objects, size } = nextRequest({ ...parts, rules: null });
    return { parts, objects, tokens: size.tokens, outside, raw: rawSize(parts).tokens };
  }

  /** Everything is sent as it was said: `/rlm off` holds, and it fits. */
  const isRaw = ({ outside, raw }: { readonly outside: Outside; readonly raw: number }) =>
    outside.entries.isOff && raw < room();

  function sentOnceOff(): Switched {
    const { objects, raw, outside } = next();
    if (outside.entries.epochs.length === 0) return "nothing";
    return objects > 0 && raw >= room() ? "stubs" : "raw";
  }

  return {
    isOff: () => readOutside(branch()).entries.isOff,
    overview: () => overviewOf(branch(), ids, isRaw(next())),
    size() {
      const now = next();
      return { tokens: isRaw(now) ? now.raw : now.tokens, window: window() };
    },
    externalize() {
      const held = rules();
      if (!held) return { is: "no_model" };
      const { parts, outside } = next();
      if (outside.entries.isOff) return { is: "off" };
      const { entries, objects } = nextRequest({ ...parts, rules: { ...held, isAsked: true } });
      for (const entry of entries) write(entry);
      const epoch = epochOf(entries, objects);
      if (epoch) wrote(epoch);
      return epoch ? { is: "out", objects, tokens: epoch.tokens } : { is: "nothing" };
    },
    switched(isOff) {
      if (readOutside(branch()).entries.isOff !== isOff) write({ v: 1, off: isOff });
      return sentOnceOff();
    },
    clear() {
      const { objects, raw, outside } = next();
      if (outside.entries.epochs.length === 0) return { is: "nothing" };
      if (raw >= room()) return { is: "too_large", tokens: raw, most: room() };
      const held = outside.entries.isOff || !keeps() ? null : rules();
      if (held && raw > triggerOf(held)) return { is: "out_again", tokens: raw, most: triggerOf(held) };
      write({ v: 1, clear: true });
      return { is: "cleared", objects };
    },
    async leave(compact) {
      leaving = "yes";
      const compacted = await isCompacted(compact, () => leaving === "in_vain").finally(() => {
        leaving = "no";
      });
      const is = sentOnceOff();
      // A later request that is larger must not find stubs: nobody is to be needed who reads them.
      if (is === "raw") write({ v: 1, clear: true });
      if (!readOutside(branch()).entries.isOff) write({ v: 1, off: true });
      return { compacted, is: is === "raw" ? "nothing" : is };
    },
    compacts(wish) {
      if (leaving === "no") return null;
      const compaction = lastCompaction(wish, branch(), ids);
      if (compaction) return { compaction };
      leaving = "in_vain";
      return { cancel: true };
    },
  };
}

/** The objects that went out with these entries, which are written together. */
export function epochOf(entries: readonly EpochEntry[], objects: number): Epoch | null {
  const first = entries[0];
  const last = entries.at(-1);
  return first && last ? { epoch: last.epoch, objects, tokens: first.before - last.after } : null;
}

/**
 * False if there was nothing to compact, as `isInVain` or Pi says. Rejects if Pi failed otherwise.
 */
function isCompacted(compact: Compact, isInVain: () => boolean): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const failed = (error: Error) => (isInVain() || NOTHING_TO_DO.test(error.message) ? resolve(false) : reject(error));
    compact({ onComplete: () => resolve(true), onError: failed });
  });
}

/** Pi's words if there is too little to compact. */
const NOTHING_TO_DO = /^(Nothing to compact|Already compacted)/;
