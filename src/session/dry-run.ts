import { callsOf, readSubCall, type SubCallRequest } from "../../builtins/index.ts";
import { LIMITS } from "../../runtime/index.ts";
import { loadSubCallLayer, type SubCall } from "../model/index.ts";
import { joinSignals } from "../platform/signals.ts";
import type { Store } from "../store/index.ts";
import type { CallEstimate, DryRun, ExecOptions } from "./api.ts";
import type { Env } from "./env.ts";
import { runCell } from "./exec/run-exec.ts";
import { openGuest } from "./machine/guest.ts";
import type { Setup } from "./setup.ts";
import { FREE, planSubCall, type SubCallPlan } from "./sub-calls/plan.ts";
import type { Answered, Answers } from "./sub-calls/port.ts";

/** Runs the cell on another machine at the same checkpoint. Its journal, answers and state are thrown away. */
export async function dryRun(
  setup: Setup,
  source: string,
  { limits = {}, name, signal, history }: ExecOptions,
): Promise<DryRun> {
  const answers = await placeholders(setup);
  const store: Store = { ...setup.env.store, commit: async () => {}, putContext: async () => {} };
  const env: Env = { ...setup.env, store, emit: (event) => event.kind === "notice" && setup.env.emit(event) };
  const guest = openGuest({ ...setup.guestOptions, env });
  try {
    const scratch: Setup = { ...setup, env, guest, answers, moved() {} };
    const request = { kind: "cell", source, limits, sites: true, ...(name === undefined ? {} : { name }) } as const;
    const asked = { ...(signal ? { signal } : {}), ...(history ? { history } : {}) };
    const envelope = await runCell(scratch, request, asked);
    return { envelope, estimate: answers.estimate(!envelope.success) };
  } finally {
    await guest[Symbol.asyncDispose]();
  }
}

async function placeholders({ answers, env, rules, granted, loading, options }: Setup) {
  const { estimateSubCall, placeholderAnswer, readOnlyTools, taskThread } = await loadSubCallLayer();
  const { models } = env;
  const { approve, ...policy } = options.subAgents ?? {};
  const planning = {
    models,
    // The user is not asked to approve calls that are not sent.
    policy: { ...policy, ...(approve ? { approve: async () => true } : {}) },
    limitsCost: rules.budget.max_cost_usd !== null,
  };
  const tools = [...readOnlyTools({ roots: granted.roots, cwd: loading.cwd }), ...(policy.tools ?? [])];
  const maxTurns = policy.maxTurns ?? LIMITS.subAgentTurns;
  const model: DryRunModel = {
    plan: (request) => planSubCall(planning, request, answers.thinking ?? "off"),
    estimate: (call) => estimateSubCall(call, { models, tools, maxTurns }),
    placeholder: async (call, stop) => ({ ok: true, value: await placeholderAnswer(call, taskThread(), stop) }),
  };
  return openDryAnswers(model, { depth_left: answers.facts.depth_left ?? 0 });
}

/** The model layer's part in a dry run: the requests, their cost, and placeholders for answers. */
interface DryRunModel {
  plan(request: SubCallRequest): Promise<SubCallPlan>;
  estimate(call: SubCall): Omit<CallEstimate, "sub_calls" | "children" | "child_sub_calls">;
  placeholder(call: SubCall, signal: AbortSignal): Promise<Answered["settlement"]>;
}

/** Answers every call with a placeholder and keeps count. @param facts what cells may do in the session */
function openDryAnswers(
  model: DryRunModel,
  facts: Answers["facts"] = {},
): Answers & { estimate(partial: boolean): DryRun["estimate"] } {
  const sites = new Map<string, CallEstimate>();
  return {
    facts,
    async answer(call, { signal, timeOver }) {
      const request = readSubCall(call.name, call.args);
      const plan = await model.plan(request);
      if (!plan.ok) return plan.answered;
      const site = call.site ?? "<cell>";
      const before = sites.get(site) ?? NONE;
      const own = request.context ? childEstimate(request) : { ...NONE, ...model.estimate(plan.call) };
      sites.set(site, add(before, { ...own, sub_calls: 1 }));
      using stop = joinSignals(signal, timeOver);
      const settlement = withCites(await model.placeholder(plan.call, stop.signal), request);
      return { settlement, record: { ...FREE, tool_override_event: plan.event }, cacheKey: null };
    },
    repeatable: () => true,
    estimate(partial) {
      const list = [...sites].map(([site, estimate]) => ({ site, ...estimate }));
      return { ...list.reduce<CallEstimate>(add, NONE), sites: list, partial };
    },
  };
}

const NONE: CallEstimate = {
  sub_calls: 0,
  input_tokens: 0,
  max_output_tokens: 0,
  max_requests: 0,
  cost_usd: 0,
  children: 0,
  child_sub_calls: 0,
};

const childEstimate = (request: SubCallRequest) => ({
  ...NONE,
  children: 1,
  child_sub_calls: callsOf(request, Number.POSITIVE_INFINITY) - 1,
});

function withCites(settlement: Answered["settlement"], { cites = false }: SubCallRequest): Answered["settlement"] {
  return settlement.ok && cites ? { ok: true, value: { answer: settlement.value, cites: [] } } : settlement;
}

const add = (a: CallEstimate, b: CallEstimate): CallEstimate => ({
  sub_calls: a.sub_calls + b.sub_calls,
  input_tokens: a.input_tokens + b.input_tokens,
  max_output_tokens: a.max_output_tokens + b.max_output_tokens,
  max_requests: a.max_requests + b.max_requests,
  cost_usd: a.cost_usd + b.cost_usd,
  children: a.children + b.children,
  child_sub_calls: a.child_sub_calls + b.child_sub_calls,
});
