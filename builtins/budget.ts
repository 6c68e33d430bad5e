import type { CallScope, Json } from "../runtime/index.ts";
import { defineBuiltin } from "./define.ts";
import { factsOf } from "./facts.ts";
import { functionsLeft } from "./functions.ts";

export const budget = defineBuiltin({
  name: "budget",
  signature: "function budget(): Budget",
  summary: "What is left of the budget: tokens, sub-calls, ms inside execs, and dollars if they are limited.",
  example: "budget().sub_calls",
  types: `interface Budget {
  tokens: number;
  sub_calls: number;
  time_ms: number;
  /** Only if dollars are limited. */
  cost_usd?: number;
  /** Calls of functions; only if the program lends some. */
  functions?: number;
  /** The same values by their longer names. */
  remaining_tokens: number;
  remaining_sub_calls: number;
  remaining_time_ms: number;
  remaining_cost_usd?: number;
  remaining_functions?: number;
  /** Spent since the last load, by the answers that are recorded. */
  spent_tokens: number;
  spent_cost_usd: number;
}`,
  params: {},
  run: (_services, _args, scope) => remainingBudget(scope),
});

/** The rest of the budget at this moment. */
export function remainingBudget(scope: CallScope): { [name: string]: Json } {
  const { remaining_tokens: tokens, remaining_cost_usd: cost_usd, ...facts } = factsOf(scope);
  const functions = functionsLeft(scope);
  const sub_calls = Math.max(0, facts.remaining_sub_calls - scope.newCalls());
  const time_ms = Math.max(0, Math.floor(facts.remaining_time_ms - scope.sliceMs()));
  return {
    tokens,
    sub_calls,
    time_ms,
    remaining_tokens: tokens,
    remaining_sub_calls: sub_calls,
    remaining_time_ms: time_ms,
    spent_tokens: facts.spent_tokens,
    spent_cost_usd: facts.spent_cost_usd,
    ...(functions === undefined ? {} : { functions, remaining_functions: functions }),
    ...(cost_usd === undefined ? {} : { cost_usd, remaining_cost_usd: cost_usd }),
  };
}
