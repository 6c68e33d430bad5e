import type { Fate } from "./apply.ts";
import { tokensOf } from "./keys.ts";
import { isEmptyFailure, openCalls, type PiMessage } from "./message.ts";
import type { PlanParts } from "./plan.ts";
import { stubbed } from "./stub.ts";

// What can go out together, and what has to stay.

/** A message and the results of its calls: all of them go out together. */
export type Group = ReturnType<typeof groupsOf>[number];

/** Groups that may go out, the oldest first. */
export function groupsOf(parts: PlanParts) {
  const { fates, outside } = parts;
  const isNamed = (key: string | null) => key !== null && outside.isAnswered(key);
  // A prompt that failed counts as answered: Pi keeps the failure on the branch, and may leave it out of the messages.
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
      /** The value of `through` that ends behind this group; null if no entry could name it. */
      through: isNamed(key) ? key : null,
      members,
      /** Estimated tokens that its stubs free. */
      freed: freeable.reduce((sum, { fate, freed }) => sum + (stays.has(fate) ? 0 : freed), 0),
      /** Keys of texts in it that stay although they could go. */
      keep: freeable.flatMap(({ fate }) => (stays.has(fate) && fate.key !== null ? [fate.key] : [])),
      /** Something in it stays as it is, whether it could go or not. */
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
export function nextStub({ message, key, call, is }: Fate, { ids, bounds }: PlanParts): PiMessage | null {
  if (is !== "raw" || key === null) return null;
  return stubbed(message, [{ min: bounds.min, preview: null }], { key, call, ids });
}

/** Turns that are whole: from a prompt to the next one. What stands before the first prompt is part of its turn. */
export function turnsOf(groups: readonly Group[]): readonly (readonly Group[])[] {
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
 * Nothing of the turn stays, each of its results can be named, and none can still come: those of our own tools may be
 * recovered.
 */
export function isFoldable(turn: readonly Group[]): boolean {
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
 * The place of the last answer; -1 if there is none. An answer that failed before it said anything does not count: the
 * prompt that it should have answered may be what was too large.
 */
export function lastAnswer(fates: readonly Fate[]): number {
  return fates.findLastIndex(({ message }) => message.role === "assistant" && !isEmptyFailure(message));
}
