import type { Fate } from "./apply.ts";
import type { Outside } from "./branch.ts";
import type { EpochEntry } from "./entries.ts";
import { type Group, groupsOf, isFoldable, lastAnswer, nextStub, turnsOf } from "./groups.ts";
import { type ObjectIds, tokensOf } from "./keys.ts";
import { stubbed } from "./stub.ts";

/** The facts that a plan is made from. */
export interface PlanParts {
  /** All messages, with what becomes of them now. */
  readonly fates: readonly Fate[];
  readonly outside: Outside;
  readonly ids: ObjectIds;
  readonly bounds: Bounds;
}

/** The user's settings of what may go out. */
export interface Bounds {
  readonly min: number;
  readonly manifest: number;
  /** Answers of the model behind a result of Belay's tools until it may go out. */
  readonly warm_turns: number;
}

/** The objects that an epoch puts out, by the keys of messages. */
export type Plan = Pick<EpochEntry, "through" | "fold" | "keep" | "results">;

/**
 * Plans an epoch that frees so many estimated tokens, or as many as may be freed: the oldest messages become stubs; if that
 * is too little, the oldest turns are folded. Without a number all that can be stubs are, and nothing is folded. The last
 * prompt and the last answer stay as they are, and everything behind them. Returns null if nothing can go out.
 */
export function planEpoch(parts: PlanParts, wanted: number | null): Plan | null {
  const groups = groupsOf(parts);
  let freed = 0;
  let taken = 0;
  // What an entry cannot name goes out with the next that it can.
  while (taken < groups.length && (wanted === null || freed < wanted || groups[taken - 1]?.through === null)) {
    freed += groups[taken]?.freed ?? 0;
    taken++;
  }
  const folded = wanted !== null && freed < wanted ? foldable(parts, groups, wanted - freed) : null;
  if (freed === 0 && folded === null) return null;
  const through = groups.slice(0, taken).findLast(({ through }) => through !== null)?.through;
  if (through === undefined || through === null) return null;
  const keep = groups.slice(0, taken).flatMap((group) => group.keep);
  return { through, ...(folded === null ? {} : { fold: folded }), ...(keep.length > 0 ? { keep } : {}) };
}

/**
 * Plans for a request that is too large now: results behind the last answer go out, the largest first, until so
 * many estimated tokens are freed. Returns null if there are none.
 */
export function planValve({ fates, ids }: PlanParts, wanted: number, preview: number): Plan | null {
  const last = lastAnswer(fates);
  const bounds = [{ min: 0, preview }];
  const results = fates
    .slice(last + 1)
    .flatMap(({ message, key, call, is }) => {
      if (message.role !== "toolResult" || key === null || is !== "raw") return [];
      const stub = stubbed(message, bounds, { key, call, ids });
      return stub ? [{ key, freed: tokensOf(message) - tokensOf(stub) }] : [];
    })
    .toSorted((a, b) => b.freed - a.freed);
  const chosen: string[] = [];
  let freed = 0;
  for (const { key, freed: more } of results) {
    if (freed >= wanted) break;
    chosen.push(key);
    freed += more;
  }
  return chosen.length > 0 ? { results: [...new Set(chosen)] } : null;
}

/** The last message of the turns that are folded, to free so many estimated tokens more; null if none can be. */
function foldable(parts: PlanParts, groups: readonly Group[], wanted: number): string | null {
  let freed = parts.outside.fold ? 0 : -parts.bounds.manifest;
  let fold: string | null = null;
  for (const turn of turnsOf(groups)) {
    if (freed >= wanted || !isFoldable(turn)) break;
    const through = turn.findLast(({ through }) => through !== null)?.through ?? null;
    if (through === null) continue;
    if (turn.every(({ members }) => members.every(({ is, key }) => is === "folded" || key === null))) continue;
    fold = through;
    freed += turn.flatMap(({ members }) => members).reduce((sum, fate) => sum + shownTokens(fate, parts), 0);
  }
  return freed > 0 ? fold : null;
}

/** Tokens of the message once its stub is there. */
function shownTokens(fate: Fate, parts: PlanParts): number {
  if (fate.is === "folded" || fate.key === null) return 0;
  return tokensOf(nextStub(fate, parts) ?? fate.sent);
}
