import type { CallScope, Json } from "../runtime/index.ts";
import { defineBuiltin } from "./define.ts";

export const budget = defineBuiltin({
  name: "budget",
  signature: "function budget(): Budget",
  summary: "What is left of the session's budget: tokens, sub-calls, and ms inside execs.",
  example: "budget().sub_calls",
  types: `interface Budget {
  tokens: number;
  sub_calls: number;
  time_ms: number;
  /** The same values by their longer names. */
  remaining_tokens: number;
  remaining_sub_calls: number;
  remaining_time_ms: number;
}`,
  params: {},
  run: (_services, _args, scope) => remainingBudget(scope),
});

/** The budget as of this moment: the host states it when a slice begins. */
export function remainingBudget(scope: CallScope): { [name: string]: Json } {
  const { facts } = scope;
  const left = (name: string): number => {
    const value: unknown = typeof facts === "object" && facts !== null ? Reflect.get(facts, name) : undefined;
    return typeof value === "number" ? value : 0;
  };
  const tokens = left("remaining_tokens");
  const sub_calls = left("remaining_sub_calls");
  const time_ms = Math.max(0, Math.floor(left("remaining_time_ms") - scope.sliceMs()));
  return {
    tokens,
    sub_calls,
    time_ms,
    remaining_tokens: tokens,
    remaining_sub_calls: sub_calls,
    remaining_time_ms: time_ms,
  };
}
