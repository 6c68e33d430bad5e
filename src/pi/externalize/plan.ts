import type { Fate } from "./apply.ts";
import type { Outside } from "./branch.ts";
import type { EpochEntry } from "./entries.ts";
import { type ObjectIds, tokensOf } from "./keys.ts";
import { isEmptyFailure, openCalls, type PiMessage } from "./message.ts";
import { stubbed } from "./stub.ts";

/** The facts that a plan is made from. */
interface PlanParts {
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
 * Plans an epoch that frees so many estimated tokens, or as many as may be freed: the oldest
 * messages become stubs; if that is too little, the oldest turns are folded. Without a number all
 * that can be stubs are, and nothing is folded. The last prompt and the last answer stay as they
 * are, and everything behind them. Returns null if nothing can go out.
 */
export function planEpoch(parts: PlanParts, wanted: number | null): Plan | null {
  const groups = groupsOf(parts);
  let freed = 0;
  let taken = 0;
  // Messages that no entry names go out with the next one that an entry names.
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
 * Plans for a request that is too large now: results behind the last answer go out, the largest
 * first, until so many estimated tokens are freed. Returns null if there are none.
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

/**
 * The last message of the turns that are folded, to free so many estimated tokens more; null if
 * none can be.
 */
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

// Groups that go out together, and messages that stay.

/** A message and the results of its calls: all of them go out together. */
interface Group {
  readonly members: readonly Fate[];
  /** The value of `through` that ends behind this group; `null` if no entry could name it. */
  readonly through: string | null;
  /** Estimated tokens that its stubs free. */
  readonly freed: number;
  /** Keys of texts in it that stay although they could go. */
  readonly keep: readonly string[];
  /** True if something in it stays as it is, whether it could go or not. */
  readonly stays: boolean;
}

/** Groups that may go out, the oldest first. */
function groupsOf(parts: PlanParts): readonly Group[] {
  const { fates, outside } = parts;
  const isNamed = (key: string | null) => key !== null && outside.isAnswered(key);
  // A prompt that failed counts as answered: Pi keeps the failure on the branch, and may leave it
  // out of the messages.
  const head = fates.findLastIndex(({ key }) => isNamed(key));
  const stays = staying(parts);
  const groups: Fate[][] = [];
  for (const fate of fates.slice(0, head + 1 + callsBehind(fates, head))) {
    const open = groups.at(-1);
    if (open && fate.message.role === "toolResult") open.push(fate);
    else groups.push([fate]);
  }
  return groups.map((members) => {
    const key = members[0]?.key ?? null;
    const freeable = members.map((fate) => ({ fate, freed: freedBy(fate, parts) })).filter(({ freed }) => freed > 0);
    return {
      through: isNamed(key) ? key : null,
      members,
      freed: freeable.reduce((sum, { fate, freed }) => sum + (stays.has(fate) ? 0 : freed), 0),
      keep: freeable.flatMap(({ fate }) => (stays.has(fate) && fate.key !== null ? [fate.key] : [])),
      stays: members.some((fate) => stays.has(fate)),
    };
  });
}

/** Estimated tokens that a stub of the message would free; 0 if it has none, or is one. */
function freedBy(fate: Fate, parts: PlanParts): number {
  const stub = nextStub(fate, parts);
  return stub ? tokensOf(fate.message) - tokensOf(stub) : 0;
}

/** The stub that an epoch would make of the message; null if it would make none. */
function nextStub({ message, key, call, is }: Fate, { ids, bounds }: PlanParts): PiMessage | null {
  if (is !== "raw" || key === null) return null;
  return stubbed(message, [{ min: bounds.min, preview: null }], { key, call, ids });
}

/**
 * Turns that are whole: from a prompt to the next one. What stands before the first prompt is part
 * of its turn.
 */
function turnsOf(groups: readonly Group[]): readonly (readonly Group[])[] {
  const turns: Group[][] = [];
  let hasPrompt = false;
  for (const group of groups) {
    const isPrompt = group.members[0]?.message.role === "user";
    if (turns.length === 0 || (isPrompt && hasPrompt)) turns.push([]);
    hasPrompt ||= isPrompt;
    turns.at(-1)?.push(group);
  }
  // The turn behind which no prompt stands here may continue.
  return turns.slice(0, -1);
}

/**
 * Nothing of the turn stays, each of its results can be named, and none can still come: those of
 * our own tools may be recovered.
 */
function isFoldable(turn: readonly Group[]): boolean {
  return turn.every(({ stays, members }) => {
    if (stays || members.some(({ message, key }) => message.role === "toolResult" && key === null)) return false;
    const open = openCalls();
    for (const { message } of members) open.take(message);
    return open.left().every(({ name }) => !name.startsWith("rlm_"));
  });
}

/** Tools whose results the model has just asked for: it would only ask again. */
const WARM = ["rlm_peek", "rlm_search", "rlm_query", "rlm_ask", "rlm_batch", "rlm_exec"];

/** Messages that stay although they lie before the last answer. */
function staying({ fates, bounds }: PlanParts): ReadonlySet<Fate> {
  const stays = new Set<Fate>();
  const prompt = fates.findLast(({ message }) => message.role === "user");
  if (prompt) stays.add(prompt);
  const answer = lastAnswer(fates);
  for (const fate of fates.slice(Math.max(0, answer), answer + 1 + callsBehind(fates, answer))) stays.add(fate);
  let answers = 0;
  for (const fate of fates.toReversed()) {
    const { role, toolName = "" } = fate.message;
    if (role === "assistant") answers++;
    else if (answers <= bounds.warm_turns && WARM.includes(toolName)) stays.add(fate);
  }
  return stays;
}

/** The number of results that follow an answer. */
function callsBehind(fates: readonly Fate[], answer: number): number {
  const behind = fates.slice(answer + 1).findIndex(({ message }) => message.role !== "toolResult");
  return behind < 0 ? fates.length : behind;
}

/**
 * The place of the last answer; -1 if there is none. An answer that failed before it said anything
 * does not count: the prompt that it should have answered may be what was too large.
 */
function lastAnswer(fates: readonly Fate[]): number {
  return fates.findLastIndex(({ message }) => message.role === "assistant" && !isEmptyFailure(message));
}
