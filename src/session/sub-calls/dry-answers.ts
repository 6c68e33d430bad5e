import { readSubCall, type SubCallRequest } from "../../../builtins/index.ts";
import { joinSignals } from "../../joined-signal.ts";
import type { SubCall } from "../../model/index.ts";
import type { ExecEnvelope } from "../journal/envelope.ts";
import { FREE, type SubCallPlan } from "./plan.ts";
import type { Answered, Answers } from "./port.ts";

/** What sub-calls would take. Tokens and dollars are estimates; dollars only where prices are known. */
export interface CallEstimate {
  readonly sub_calls: number;
  /** Of the first request of each call: its prompt with the system prompt, the tools and the schema that go with it. */
  readonly input_tokens: number;
  /** At the most, of these requests: the sum of `max_tokens`. */
  readonly max_output_tokens: number;
  /** At the most: a sub-agent with tools makes a request for each of its turns, and an answer is repaired once. */
  readonly max_requests: number;
  /** Of the first requests, at the most. */
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

/** What the model layer knows: what would be sent, what it takes, and what stands in place of an answer. */
export interface DryRunModel {
  plan(request: SubCallRequest): Promise<SubCallPlan>;
  estimate(call: SubCall): Omit<CallEstimate, "sub_calls">;
  placeholder(call: SubCall, signal: AbortSignal): Promise<Answered["settlement"]>;
}

/** Answers every call with a placeholder and keeps count. */
export function openDryAnswers(model: DryRunModel): Answers & { estimate(partial: boolean): DryRun["estimate"] } {
  const sites = new Map<string, CallEstimate>();
  return {
    facts: {},
    async answer(call, { signal, timeOver }) {
      const request = readSubCall(call.name, call.args);
      const plan = await model.plan(request);
      if (!plan.ok) return plan.answered;
      const site = call.site ?? "<cell>";
      const before = sites.get(site) ?? NONE;
      sites.set(site, add(before, { sub_calls: 1, ...model.estimate(plan.call) }));
      using stop = joinSignals(signal, timeOver);
      const settlement = await model.placeholder(plan.call, stop.signal);
      return { settlement, record: { ...FREE, tool_override_event: plan.event }, cacheKey: null };
    },
    repeatable: () => true,
    estimate(partial) {
      const list = [...sites].map(([site, estimate]) => ({ site, ...estimate }));
      return { ...list.reduce<CallEstimate>(add, NONE), sites: list, partial };
    },
  };
}

const NONE: CallEstimate = { sub_calls: 0, input_tokens: 0, max_output_tokens: 0, max_requests: 0, cost_usd: 0 };

const add = (a: CallEstimate, b: CallEstimate): CallEstimate => ({
  sub_calls: a.sub_calls + b.sub_calls,
  input_tokens: a.input_tokens + b.input_tokens,
  max_output_tokens: a.max_output_tokens + b.max_output_tokens,
  max_requests: a.max_requests + b.max_requests,
  cost_usd: a.cost_usd + b.cost_usd,
});
