import { callsOf, readSubCall, type SubCallRequest } from "../../builtins/index.ts";
import { LIMITS, type PendingCall } from "../../runtime/index.ts";
import { estimateTokens, loadSubCallLayer } from "../models/index.ts";
import { type AgentCommands, isUncounted, reservesOf } from "../platform/agent-commands.ts";
import { withoutUndefined } from "../platform/json.ts";
import { joinSignals } from "../platform/signals.ts";
import type { Store } from "../store/index.ts";
import type { CallEstimate, DryRun } from "./api.ts";
import type { Env } from "./env.ts";
import { beginCell } from "./exec/cell.ts";
import { functionOf, leftForNext, limitsNow } from "./journal/ledger.ts";
import { openGuest } from "./machine/guest.ts";
import type { DryRunOptions } from "./option-types.ts";
import type { SessionParts } from "./parts.ts";
import { openStoreQuota } from "./store-quota.ts";
import { sumOfQuestion } from "./sub-calls/cache.ts";
import { openFunctions } from "./sub-calls/functions.ts";
import { openHeldBackCount } from "./sub-calls/held-back.ts";
import { planSubCall } from "./sub-calls/plan.ts";
import { type Answered, type Answers, FREE, refused } from "./sub-calls/port.ts";
import { type AskedPart, openTakenOver } from "./sub-calls/taken-over.ts";

/** Runs the cell on another machine at the same checkpoint. Its journal, answers and state are thrown away. */
export async function dryRun(
  setup: SessionParts,
  source: string,
  { limits = {}, name, signal, history, workflow = false, assumed = 0 }: DryRunOptions,
): Promise<DryRun> {
  const answers = await placeholders(setup, { assumed, workflow });
  const store: Store = { ...setup.env.store, commit: async () => 0, thin: async () => 0, putContext: async () => {} };
  const env: Env = { ...setup.env, store, emit: (event) => event.kind === "notice" && setup.env.emit(event) };
  const guest = openGuest({ ...setup.guestOptions, env });
  try {
    const { maxSessionMb } = setup.options;
    const space = openStoreQuota(setup.row, null, { maxSessionMb, maxContextBytes: LIMITS.contextBytes, hashes: [] });
    const scratch: SessionParts = { ...setup, env, space, guest, answers, moved() {}, isDry: true };
    const request = {
      kind: "cell",
      source,
      limits: withoutUndefined(limits),
      sites: true,
      workflow,
      ...withoutUndefined({ name }),
    } as const;
    const asked = withoutUndefined({ signal, history });
    const envelope = await beginCell(scratch, request, asked);
    return { envelope, estimate: answers.estimate(!envelope.success) };
  } finally {
    await guest[Symbol.asyncDispose]();
  }
}

/** Answers every call with a placeholder, and keeps count of what the requests would cost. */
async function placeholders(
  setup: SessionParts,
  { assumed, workflow }: { readonly assumed: number; readonly workflow: boolean },
) {
  const { answers, env, rules, state, granted, loading, options } = setup;
  const { estimateSubCall, placeholderAnswer, readOnlyTools, taskThread } = await loadSubCallLayer();
  const { models } = env;
  const { approve, ...policy } = options.subAgents ?? {};
  const left = leftForNext(rules, state().account);
  const planning = {
    models,
    // The user is not asked to approve calls that are not sent.
    policy: { ...policy, ...(approve ? { approve: async () => true } : {}) },
    limitsCost: left.remaining_cost_usd !== undefined,
    agents: workflow ? (options.agents ?? {}) : {},
  };
  const tools = [...readOnlyTools({ roots: granted.roots, cwd: loading.cwd }), ...(policy.tools ?? [])];
  const maxTurns = policy.maxTurns ?? LIMITS.subAgentTurns;
  const onRecord = await openOnRecord(setup, workflow);
  const { remaining_tokens: tokens, remaining_cost_usd: cost_usd = Number.POSITIVE_INFINITY } = left;
  const limits = limitsNow(rules, { question: null });
  const { max_tokens } = (workflow ? rules.workflow : undefined) ?? limits;
  const limit = { max_tokens, isUsual: rules.tokensAreUsual };
  const byBatch = openHeldBackCount(limits, { tokens, cost_usd });
  const sites = new Map<string, CallEstimate>();
  let functions = 0;
  let reused = 0;
  const lent = openFunctions(options.functions, { env, rules });
  const runsDry = (name: string) => options.functions?.[name]?.runsDry === true;
  const answer: Answers["answer"] = async (call, context) => {
    const { signal, timeOver } = context;
    const called = functionOf(call.name);
    if (called !== null && runsDry(called)) return lent.answer(call, context);
    if (called !== null) {
      functions++;
      return { settlement: { ok: true, value: PLACEHOLDER }, record: FREE, cacheKey: null };
    }
    const request = { ...options.sampling, ...readSubCall(call.name, call.args) };
    const known = await onRecord?.(call, request);
    if (known?.settlement.ok) reused++;
    if (known) return known;
    const plan = await planSubCall(planning, request, answers.thinking ?? "off");
    if ("settlement" in plan) return plan;
    const site = request.phase ?? call.site ?? "<cell>";
    const own = estimateOf(request, options.agents, limit) ?? estimateSubCall(plan.call, { models, tools, maxTurns });
    sites.set(site, add(sites.get(site) ?? NONE, { ...NONE, ...own, sub_calls: 1 }));
    const isByBatch = !request.context && (request.delivery ?? options.delivery) === "batch";
    const { input_tokens = 0, max_output_tokens = 0, cost_usd = 0 }: Partial<CallEstimate> = own;
    using _held = isByBatch ? byBatch.hold({ tokens: input_tokens + max_output_tokens, cost_usd }) : undefined;
    using stop = joinSignals(signal, timeOver);
    const value = await placeholderAnswer({ ...plan.call, assumed }, taskThread(), stop.signal);
    const settlement = { ok: true, value: request.cites ? { answer: value, cites: [] } : value } as const;
    return { settlement, record: { ...FREE, tool_override_event: plan.event }, cacheKey: null };
  };
  return {
    facts: { depth_left: answers.facts.depth_left ?? 0 },
    answer,
    repeatable: () => true,
    estimate(partial: boolean): DryRun["estimate"] {
      const list = [...sites].map(([site, estimate]) => ({ site, ...estimate }));
      const heldBack = byBatch.heldBack();
      const made = { ...(functions > 0 ? { functions } : {}), ...(heldBack ? { held_back: heldBack } : {}) };
      const taken = onRecord ? { reused } : {};
      return { ...list.reduce<CallEstimate>(add, NONE), sites: list, partial, ...made, ...taken };
    },
  };
}

/** Finds the answers on record that calls would take over: those of earlier runs. null: nothing is on record for the session. */
async function openOnRecord(
  setup: SessionParts,
  workflow: boolean,
): Promise<((call: PendingCall, request: SubCallRequest) => Promise<Answered | undefined>) | null> {
  const { answers, env, rules, state, options, recorded } = setup;
  const thinking = answers.thinking ?? "off";
  const of = { maxDepth: rules.maxDepth, contextKey: () => state().account.context_key };
  const made: AskedPart[] = [];
  const takenOver = await openTakenOver(setup, workflow, () => made);
  if (!recorded && !(workflow && options.reuse)) return null;
  return async (call, request) => {
    made.push({
      call_id: call.id,
      name: call.name,
      args: call.args,
      thinking,
      ...withoutUndefined({ sampling: options.sampling }),
    });
    const taken = takenOver.answer(call);
    if (taken) return taken;
    const lack = takenOver.lack(call);
    if (lack) return refused(lack);
    const value = await recorded?.(
      sumOfQuestion(request, thinking, { models: env.models, baseUrl: options.baseUrl }, of),
    );
    if (value === undefined) return undefined;
    return { settlement: { ok: true, value }, record: { ...FREE, cached: true }, cacheKey: null };
  };
}

/** The estimate of a call with a context, and of one of an agent; null: it is a plain call. */
function estimateOf(
  request: SubCallRequest,
  agents: AgentCommands = {},
  limit: Parameters<typeof isUncounted>[1],
): Partial<CallEstimate> | null {
  const { agent, context, prompt } = request;
  if (context) return { children: 1, child_sub_calls: callsOf(request, Number.POSITIVE_INFINITY) - 1 };
  const command = agent === undefined ? undefined : agents[agent];
  if (!command) return null;
  const uncounted = isUncounted(command, limit) ? 1 : 0;
  const { tokens, cost_usd } = uncounted ? { ...reservesOf(command), tokens: 0 } : reservesOf(command);
  const input_tokens = estimateTokens(prompt.length);
  const max_output_tokens = Math.max(0, tokens - input_tokens);
  const unpriced = command.max_usd === undefined ? 1 : 0;
  return { input_tokens, max_output_tokens, max_requests: 1, cost_usd, unpriced, uncounted };
}

/** In place of a function's result, whose form nobody has declared. */
const PLACEHOLDER = "placeholder";

const NONE: CallEstimate = {
  sub_calls: 0,
  input_tokens: 0,
  max_output_tokens: 0,
  max_requests: 0,
  cost_usd: 0,
  children: 0,
  child_sub_calls: 0,
  unpriced: 0,
  uncounted: 0,
};

function add(one: CallEstimate, other: CallEstimate): CallEstimate {
  const sum: { -readonly [figure in keyof CallEstimate]: number } = { ...one };
  let figure: keyof CallEstimate;
  for (figure in NONE) sum[figure] += other[figure];
  return sum;
}
