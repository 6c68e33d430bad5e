import { readSubCall } from "../../builtins/index.ts";
import type { Answered, Answers } from "./cell.ts";
import type { ExecEnvelope } from "./envelope.ts";

/** What sub-calls would take. Tokens and dollars are estimates; dollars only where prices are known. */
export interface CallEstimate {
  readonly sub_calls: number;
  readonly input_tokens: number;
  /** At the most: the sum of `max_tokens`. */
  readonly max_output_tokens: number;
  readonly cost_usd: number;
}

/** Answer of a dry run (semantics 24). */
export interface DryRun {
  /** The cell as it went with placeholders for answers. */
  readonly envelope: ExecEnvelope;
  readonly estimate: CallEstimate & {
    /** By the place in the code that makes the calls, `<cell 1>:3`. */
    readonly sites: readonly (CallEstimate & { readonly site: string })[];
    /** The cell did not come to its end: a real run may make more calls. */
    readonly partial: boolean;
  };
}

/** Prices and placeholders, as the model layer knows them. */
export interface DryRunModel {
  estimate(call: ReturnType<typeof readSubCall>): Omit<CallEstimate, "sub_calls">;
  placeholder(call: ReturnType<typeof readSubCall>, signal: AbortSignal): Promise<Answered["settlement"]>;
}

/** Answers every call with a placeholder and keeps count. */
export function openDryAnswers(model: DryRunModel): Answers & { estimate(partial: boolean): DryRun["estimate"] } {
  const sites = new Map<string, CallEstimate>();
  return {
    facts: {},
    async answer(call, { signal, timeOver }) {
      const request = readSubCall(call.name, call.args);
      const site = call.site ?? "<cell>";
      const before = sites.get(site) ?? NONE;
      sites.set(site, add(before, { sub_calls: 1, ...model.estimate(request) }));
      const settlement = await model.placeholder(request, AbortSignal.any([signal, timeOver]));
      return { settlement, record: FREE, cacheKey: null };
    },
    repeatable: () => true,
    estimate(partial) {
      const list = [...sites].map(([site, estimate]) => ({ site, ...estimate }));
      return { ...list.reduce<CallEstimate>(add, NONE), sites: list, partial };
    },
  };
}

const NONE: CallEstimate = { sub_calls: 0, input_tokens: 0, max_output_tokens: 0, cost_usd: 0 };

const add = (a: CallEstimate, b: CallEstimate): CallEstimate => ({
  sub_calls: a.sub_calls + b.sub_calls,
  input_tokens: a.input_tokens + b.input_tokens,
  max_output_tokens: a.max_output_tokens + b.max_output_tokens,
  cost_usd: a.cost_usd + b.cost_usd,
});

/** The record of a call for which nothing was sent. */
export const FREE: Answered["record"] = {
  usage: { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 },
  attempts: [],
  model: "",
  refused: false,
  cached: false,
  tool_override_event: null,
};
