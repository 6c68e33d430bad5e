import type { CallScope, Json } from "../runtime/index.ts";
import { defineBuiltin } from "./define.ts";

export const budget = defineBuiltin({
  name: "budget",
  signature: "function budget(): Budget",
  summary:
    "What is left of the session's budget: tokens, sub-calls, ms inside execs, and dollars where they are limited.",
  example: "budget().sub_calls",
  types: `interface Budget {
  tokens: number;
  sub_calls: number;
  time_ms: number;
  /** Only where dollars are limited. */
  cost_usd?: number;
  /** The same values by their longer names. */
  remaining_tokens: number;
  remaining_sub_calls: number;
  remaining_time_ms: number;
  remaining_cost_usd?: number;
}`,
  params: {},
  run: (_services, _args, scope) => remainingBudget(scope),
});

/** The budget as of this moment: the host states it when a slice begins. */
export function remainingBudget(scope: CallScope): { [name: string]: Json } {
  const { facts } = scope;
  const left = (name: string): number | undefined => {
    const value: unknown = typeof facts === "object" && facts !== null ? Reflect.get(facts, name) : undefined;
    return typeof value === "number" ? value : undefined;
  };
  const tokens = left("remaining_tokens") ?? 0;
  const sub_calls = Math.max(0, (left("remaining_sub_calls") ?? 0) - scope.newCalls());
  const time_ms = Math.max(0, Math.floor((left("remaining_time_ms") ?? 0) - scope.sliceMs()));
  const cost_usd = left("remaining_cost_usd");
  return {
    tokens,
    sub_calls,
    time_ms,
    remaining_tokens: tokens,
    remaining_sub_calls: sub_calls,
    remaining_time_ms: time_ms,
    ...(cost_usd === undefined ? {} : { cost_usd, remaining_cost_usd: cost_usd }),
  };
}
