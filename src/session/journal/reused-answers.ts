import { OF_HISTORY } from "../../../builtins/index.ts";
import { isRecord, withoutUndefined } from "../../platform/json.ts";
import type { ExecRecords } from "./exec-records.ts";
import type { Start, ToolCall, ToolResult } from "./records.ts";

/**
 * Answers that a cancelled cell got, for the same cell that is run next: by what was asked, in the order of the calls. A
 * client's own time limit can cancel a cell whose answers are paid for.
 */
export type ReusableAnswers = ReadonlyMap<string, readonly (ReusableAnswer | undefined)[]>;

/** An answer on record, with what it took if another session paid for it. */
export interface ReusableAnswer extends Pick<ToolResult, "value" | "model" | "mended" | "by_hand"> {
  readonly tokens?: number;
  readonly cost_usd?: number;
}

export const NOTHING_REUSABLE: ReusableAnswers = new Map();

/** The answers for an exec that begins. @param before those that the exec before it had */
export function reusableFor(start: Start, last: ExecRecords | null, before: ReusableAnswers): ReusableAnswers {
  if (!last || !(isAgain(start, last) || start.again?.exec_id === last.start.exec_id)) return NOTHING_REUSABLE;
  const reusable = new Map(before);
  // A conversation that has grown since decides what a call gets that is given places of it, and no other.
  const holds = start.history_hash === last.start.history_hash ? () => true : isOutsideHistory;
  // Answers that the exec took over are the first of its own.
  for (const [asked, answers] of answersOf(last, holds, start.again?.answers)) {
    reusable.set(asked, [...answers, ...(reusable.get(asked) ?? []).slice(answers.length)]);
  }
  return reusable;
}

/**
 * Finds the answer that a call of an exec takes over; undefined: it is to be asked. The second of equal calls takes the second answer.
 *
 * @param made the calls of the exec so far, in their order; each is looked at once
 * @param askedBy what a call asks, as the keys of the answers have it; null: nothing that has an answer
 */
export function openReuse<Call extends Pick<ToolCall, "call_id">>(
  reusable: ReusableAnswers,
  made: () => readonly Call[],
  askedBy: (call: Call) => string | null,
): (call_id: string) => ReusableAnswer | undefined {
  if (reusable.size === 0) return () => undefined;
  let seen = 0;
  const times = new Map<string, number>();
  const answers = new Map<string, ReusableAnswer>();
  return (call_id) => {
    const calls = made();
    for (const call of calls.slice(seen)) {
      const asked = askedBy(call);
      if (asked === null) continue;
      const time = times.get(asked) ?? 0;
      times.set(asked, time + 1);
      const answer = reusable.get(asked)?.[time];
      if (answer !== undefined) answers.set(call.call_id, answer);
    }
    seen = calls.length;
    return answers.get(call_id);
  };
}

function isAgain({ kind, cell }: Start, { start, complete }: ExecRecords): boolean {
  // An exec that was given up has left no state: its caller wants none of it.
  if (complete?.error_code !== "cancelled" || complete.checkpoint_id === null || cell === null) return false;
  return start.kind === kind && start.cell === cell;
}

/** True if no place of the conversation is given to the call. */
function isOutsideHistory({ args }: ToolCall): boolean {
  return args.every((arg) => !(isRecord(arg) && isRecord(arg.context) && arg.context.of === OF_HISTORY));
}

/** @param given answers that a person gave to the calls */
function answersOf(
  { calls, results }: ExecRecords,
  holds: (call: ToolCall) => boolean,
  given: NonNullable<Start["again"]>["answers"] = [],
): Map<string, ReusableAnswer[]> {
  const answered = new Map(results.filter(({ success }) => success).map((result) => [result.call_id, result]));
  const byHand = new Map(given.map(({ call_id, value }) => [call_id, value]));
  const answers = calls.filter(holds).flatMap((call): (ReusableAnswer & { readonly asked: string })[] => {
    const asked = askedBy(call);
    const value = byHand.get(call.call_id);
    if (value !== undefined) return [{ asked, value, model: "", by_hand: true }];
    const result = answered.get(call.call_id);
    if (!result) return [];
    const { model, mended, by_hand } = result;
    return [{ asked, value: result.value, model, ...withoutUndefined({ mended, by_hand }) }];
  });
  return Map.groupBy(answers, ({ asked }) => asked);
}

/** The words of a call, to the letter, and how it is asked. */
export const askedBy = ({ name, args_hash, thinking = "off", sampling = {} }: ToolCall) =>
  `${name} ${args_hash} ${thinking} ${JSON.stringify(sampling)}`;
