import { withoutUndefined } from "../platform/json.ts";
import type { Usage } from "./port.ts";

export const NO_USAGE: Usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };

/** All tokens of a usage, those read from and written to a cache included. */
export function tokensOf({ input, output, cache_read, cache_write }: Usage): number {
  return input + output + cache_read + cache_write;
}

export function addUsage(one: Usage, other: Usage): Usage {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cache_read: one.cache_read + other.cache_read,
    cache_write: one.cache_write + other.cache_write,
    cost_usd: one.cost_usd + other.cost_usd,
    ...withoutUndefined({
      reasoning: sumOf(one.reasoning, other.reasoning),
      saved_usd: sumOf(one.saved_usd, other.saved_usd),
    }),
  };
}

const sumOf = (one: number | undefined, other: number | undefined) =>
  one === undefined && other === undefined ? undefined : (one ?? 0) + (other ?? 0);
