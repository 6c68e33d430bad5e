import { readSubCall, type SubCallRequest } from "../../../builtins/index.ts";
import { firstly, type Json, LIMITS, type PendingCall, remedy } from "../../../runtime/index.ts";
import {
  endSentence,
  failure,
  loadSubCallLayer,
  type Models,
  type Spent,
  type SubCallError,
  type SubCallOutcome,
} from "../../models/index.ts";
import { agentModelName } from "../../platform/agent-commands.ts";
import { isRecord, withoutUndefined } from "../../platform/json.ts";
import { joinSignals, sleep } from "../../platform/signals.ts";
import type { CellSettings } from "../ask/api.ts";
import { readLoadInput } from "../contexts/contexts.ts";
import { hasTooManyCalls, isFunctionCall, limitsNow } from "../journal/ledger.ts";
import type { Start } from "../journal/records.ts";
import type { CallingSession } from "../parts.ts";
import { agentBudget, openAgentAnswers } from "./agent-answers.ts";
import type { AnswerCache, CallKeys } from "./cache.ts";
import { CANCELLED, inTime, TIME_OVER } from "./call-time.ts";
import { type GateOf, type Led, openGates, openLeads, withPlaces } from "./concurrency.ts";
import { type ByBatch, deliveryOf } from "./delivery.ts";
import { openFunctions } from "./functions.ts";
import { openStandingClock } from "./patience.ts";
import { type PlannedCall, type PlanOptions, planSubCall, unpricedCall } from "./plan.ts";
import {
  type Answered,
  type Answers,
  type CallContext,
  type ChildCall,
  type ChildRequest,
  FREE,
  guestError,
  limitOf,
  type PricedAnswer,
  refused,
  traceOf,
} from "./port.ts";
import { withRun } from "./run-part.ts";
import { waitsForUser, withWaiting } from "./wait-for-user.ts";

/** The models of calls, and the settings and cache that go with them. */
interface Asking {
  readonly models: Models;
  /** The settings that children take over. */
  readonly settings: CellSettings;
  /** null: every answer is asked for. */
  readonly cache: AnswerCache | null;
}

interface AnswersParts extends Asking, PlanOptions {
  readonly session: CallingSession;
}

const isForChild = (request: SubCallRequest): request is ChildRequest => request.context !== undefined;

/** Answers `llm_query` by asking a model, as far as policy and concurrency allow. */
export function openAnswers(session: CallingSession, asking: Asking): Answers {
  const { children, rules, above, options } = session;
  const { models, settings } = asking;
  const parts = partsOf(session, asking);
  const { policy } = parts;
  const gateOf = openGates(rules.concurrency);
  const leadOf = openLeads(models, session.env.clock);
  const cure = openCure(models, session.env);
  const functions = openFunctions(options.functions, session);

  const answerByChild = openChildAnswers(parts, gateOf);
  const answerByAgent = openAgentAnswers(session, (asked, context, stop) => ask(parts, asked, context, stop));

  const isRepeatable = ({ tools = [] }: SubCallRequest) =>
    !(policy.tools ?? []).some(({ name, sideEffects }) => sideEffects && tools.includes(name));

  return {
    facts: {
      get no_model() {
        return models.fallback === null ? cure() : null;
      },
      depth_left: Math.max(0, settings.max_depth - (above?.depth ?? 0)),
    },
    thinking: settings.thinking,
    noticesOf: openNotices(parts),
    effectsOf: functions.effectsOf,
    async answer(call, context) {
      const beyond = beyondLimits(session, call);
      if (beyond) return refused(beyond);
      if (isFunctionCall(call.name)) return functions.answer(call, context);
      const request = { ...context.sampling, ...readSubCall(call.name, call.args) };
      if (request.agent !== undefined) return answerByAgent(call.id, { ...request, agent: request.agent }, context);
      const foreign = foreignModel(models, request);
      if (foreign) return refused(foreign);
      if (isForChild(request) && (above?.depth ?? 0) >= settings.max_depth) return refused(TOO_DEEP);
      if (isForChild(request)) return answerByChild(call, request, context);
      using led = leadOf(request);
      using stopped = joinSignals(context.signal, context.timeOver);
      const stop = stopped.signal;
      const asked = { id: call.id, request };
      const repeatable = { ...asked, isRepeatable: isRepeatable(request) };
      const delivery = await deliveryOf(session, models, repeatable, context);
      if (delivery && "code" in delivery) return refused(delivery);
      // A cell may wait for a provider batch with all its calls at once.
      if (delivery) return await ask(parts, asked, context, stop, delivery);
      using entry = gateOf(call.id, request);
      const answered = await entry.gate.run(stop, async () => {
        // A cell may ask for more of its batch at once than the session's limit.
        using _wide = session.places.requests.widen(entry.width);
        return await ask(parts, { ...asked, led }, context, stop);
      });
      return inTime(answered, context);
    },
    async discard({ id, name, args }) {
      if (isFunctionCall(name)) return null;
      const request = readSubCall(name, args);
      if (request.agent !== undefined) return session.agents.giveUp(id, request);
      return isForChild(request) ? children.discard(id, request, settings) : null;
    },
    async recorded({ id, args: [, given] }) {
      if (isRecord(given) && given.agent !== undefined) await session.agents.recorded(id);
    },
    unrecorded: (callIds) => children.unrecorded(callIds),
    resumes: (call) => !isFunctionCall(call.name) && isForChild(readSubCall(call.name, call.args)),
    modelOf: (call) => modelOf(readSubCall(call.name, call.args), parts),
    repeatable: (call) =>
      isFunctionCall(call.name)
        ? functions.effectsOf(call) !== "once"
        : isRepeatable(readSubCall(call.name, call.args)),
    isUnderWay: async (id) => (await session.agents.isUnderWay(id)) || (await hasRequests(session, id)),
  };
}

/** The refusal of a call that the machine refuses before it is made, unless another process took over its guest. */
function beyondLimits({ rules, state }: CallingSession, { name }: Pick<PendingCall, "name">): SubCallError | null {
  if (!isFunctionCall(name) && !SUB_CALLS.has(name))
    return failure("policy_violation", "there is no call of this name", ASK);
  if (!hasTooManyCalls(rules, state().account)) return null;
  return failure("budget_exceeded", "the cell has made more calls than it may", { limit: "sub_calls" });
}

/** The refusal of a model that the cell itself has named. */
function foreignModel(models: Models, { model }: Pick<SubCallRequest, "model">): SubCallError | null {
  const refusal = model === undefined || model === models.fallback ? null : models.refusal?.(model);
  return refusal ? failure("policy_violation", refusal.message, { suggestion: refusal.suggestion }) : null;
}

const SUB_CALLS: ReadonlySet<string> = new Set(["llm_query", "rlm_query"]);
const ASK = { suggestion: "Call llm_query with a prompt." };
const TOO_DEEP = failure("policy_violation", "a call with context would go deeper than the session allows", ASK);

/** Opens the answering of calls by children, or by what is on record for them. */
function openChildAnswers(parts: AnswersParts, gateOf: GateOf) {
  const { session, settings, cache } = parts;
  const { children, run } = session;

  /** A child takes no place of its session: it waits for one of its level, and its requests for those of the tree. */
  async function byChild(call: ChildCall, request: ChildRequest, context: CallContext): Promise<Answered> {
    const refusal = unpricedCall(parts, { model: request.model ?? settings.model ?? undefined });
    if (refusal) return refusal;
    // A child would load its context, and then refuse it.
    const { schemaProblem, taskThread } = await loadSubCallLayer();
    const { schema } = request;
    const flaw = schema === undefined ? null : await schemaProblem(schema, taskThread(), context.signal);
    if (flaw) return refused(flaw);
    const full = await run?.count({ id: call.id, counts: 1, ended: context.signal }, context.signal);
    if (full) return refused(full);
    if (request.batch?.max_concurrent === undefined) return children.answer(call, request, context, settings);
    using entry = gateOf(call.id, request);
    using stopped = joinSignals(context.signal, context.timeOver);
    const answered = await entry.gate.run(stopped.signal, () => children.answer(call, request, context, settings));
    return answered ?? refused(context.timeOver.aborted ? TIME_OVER : CANCELLED);
  }

  return async (call: ChildCall, request: ChildRequest, context: CallContext): Promise<Answered> => {
    const keys = cache?.keyOf(request, call.id, context.thinking) ?? null;
    const known = await knownAnswer(parts, keys, context.isAgain && (await children.isThere(call.id)));
    if (known) return known;
    const answered = await byChild(call, request, context);
    return answered.settlement.ok ? { ...answered, cacheKey: keys } : answered;
  };
}

function partsOf(session: CallingSession, asking: Asking): AnswersParts {
  const { options, rules, run, state } = session;
  return {
    ...asking,
    session,
    // A call of the session may have a limit of its own.
    get limitsCost() {
      return limitsNow(rules, state().account).max_cost_usd !== null || run?.limitsCost === true;
    },
    policy: options.subAgents ?? {},
    agents: options.agents ?? {},
  };
}

async function ask(
  parts: AnswersParts,
  { id, request, led }: { readonly id: string; readonly request: SubCallRequest; readonly led?: Led | undefined },
  context: CallContext,
  signal: AbortSignal,
  delivery: ByBatch | null = null,
): Promise<Answered> {
  const { session, models, policy, cache } = parts;
  const isOfAgent = request.agent !== undefined;
  const cacheKey = isOfAgent ? null : (cache?.keyOf(request, id, context.thinking) ?? null);
  const known = await knownAnswer(parts, cacheKey, context.isAgain && (await hasRequests(session, id)));
  if (known) return known;
  const plan = await planSubCall(parts, request, context.thinking);
  if ("settlement" in plan) return plan;
  const { runSubCall, taskThread, threadedTools } = await loadSubCallLayer();
  const { requests } = session.places;
  await led?.turn(signal);
  // The call's own time begins with its first place.
  using place = delivery ? undefined : await requests.take(signal);
  if (!place && !delivery) return refused(CANCELLED);
  if (!isOfAgent) context.begun();
  const time = openStandingClock(session.patience.time);
  const asked = { id, counts: 1, ended: context.signal, isPosted: delivery !== null, paused: time.paused } as const;
  const own = isOfAgent ? agentBudget(session, context, time) : context.budget;
  const local = withRun(own, session, asked);
  const model = modelOf(request, parts) ?? "";
  const budget = waitsForUser(session)
    ? withWaiting(local, session.suspension, { id, model, ended: context.signal, timeLeft: context.timeLeft })
    : local;
  const outcome = await runSubCall(
    { ...plan.call, ...(delivery?.model ? { model: delivery.model } : {}) },
    {
      models: isOfAgent ? await session.agents.modelsFor(id, request) : models,
      budget: delivery ? budget : withPlaces(budget, requests, place),
      ...(delivery ? { post: delivery.post } : {}),
      tools: isOfAgent ? [] : [...threadedTools(readableBy(session), taskThread()), ...(policy.tools ?? [])],
      thread: taskThread(),
      conversation: id,
      ...(led ? withoutUndefined({ shared: led.shared(), begun: led.begun }) : {}),
      maxTurns: policy.maxTurns ?? LIMITS.subAgentTurns,
      clock: time,
      random: session.env.random,
      sleep: (ms, until) => sleep(time, ms, until),
      patience: delivery ? null : session.patience,
    },
    signal,
  );
  return answeredWith(parts, { id, request, plan, outcome, delivery, cacheKey });
}

/** A call that was asked, with what came of it. */
interface AskedCall {
  readonly id: string;
  readonly request: SubCallRequest;
  readonly plan: PlannedCall;
  readonly outcome: SubCallOutcome;
  readonly delivery: ByBatch | null;
  readonly cacheKey: CallKeys | null;
}

function answeredWith(
  { session }: AnswersParts,
  { id, request, plan, outcome, delivery, cacheKey }: AskedCall,
): Answered {
  const { usage, attempts, model } = outcome;
  const told = { usage, attempts, model, refused: false, cached: false, tool_override_event: plan.event };
  const met = outcome.ok ? {} : limitOf(outcome.error);
  const worktrees = request.agent === undefined ? [] : session.agents.worktreesOf(id);
  const kept = { ...delivery?.delivered(), ...(worktrees.length > 0 ? { worktrees } : {}) };
  const record = { ...told, ...met, ...traceOf(outcome, plan.call.tools), ...kept };
  const settlement = outcome.ok
    ? ({ ok: true, value: outcome.value } as const)
    : ({ ok: false, error: guestError(outcome.error) } as const);
  return { settlement, record, cacheKey: outcome.ok && isReusable(request, outcome) ? cacheKey : null };
}

/** True if requests of the call wait for a provider batch. */
async function hasRequests({ env, row }: CallingSession, callId: string): Promise<boolean> {
  return (await env.store.batches.ofCall(row.id, callId)).length > 0;
}

/** The answer that is on record for a call; `null`: the model is to be asked. */
async function knownAnswer(
  { cache }: Pick<Asking, "cache">,
  keys: CallKeys | null,
  isUnderWay: boolean,
): Promise<Answered | null> {
  const known = keys === null ? null : await cache?.find(keys, isUnderWay);
  if (!known) return null;
  const { value, model, reused, mended } = known;
  const record = { ...FREE, model, cached: true, ...withoutUndefined({ reused, mended }) };
  return { settlement: { ok: true, value }, record, cacheKey: null };
}

/** False if the model has used a tool, whose answer may be another one now, or if its text stands for what the schema asks for. */
function isReusable({ or_text }: SubCallRequest, { turns, value }: Pick<Spent, "turns"> & { readonly value: Json }) {
  return turns.every(({ tools }) => tools.length === 0) && !(or_text && typeof value === "string");
}

function modelOf(request: SubCallRequest, { settings, models }: AnswersParts): string | null {
  if (request.agent !== undefined) return agentModelName(request.agent, request.model);
  return request.model ?? (isForChild(request) ? settings.model : models.fallback);
}

/** Folders that sub-agents may read: those of now, and those that the context was loaded from. */
function readableBy({ granted, loading, state }: CallingSession) {
  const recorded = state().account.loads.flatMap(rootsOf);
  const { cwd, documents = {} } = loading;
  return { roots: [...new Set([...granted.roots, ...granted.among(recorded)])], cwd, documents };
}

function rootsOf({ input }: Start): readonly string[] {
  const from = readLoadInput(input);
  return "roots" in from ? from.roots : [];
}

/** For cells that make a sub-call without a model. */
const NO_MODEL = `${firstly("nameModel")}; ${remedy("nameServer")}.`;

/** Time for which a cure counts that names the providers with keys. */
const CURE_MS = 1000;

/** The cure of a missing model. Every exec is told of it, and it reads files: it counts for a second. */
function openCure(models: Models, { clock }: CallingSession["env"]): () => string {
  let cured = { at: Number.NEGATIVE_INFINITY, cure: NO_MODEL };
  return () => {
    const at = clock.monotonic();
    if (at - cured.at > CURE_MS) cured = { at, cure: models.noModelCure?.() ?? NO_MODEL };
    return cured.cure;
  };
}

interface Asked {
  readonly models: Models;
  readonly session: Pick<CallingSession, "options" | "env">;
}

/** Models that were asked by batch, although no lower price for that is known. */
function fullPriceIn(results: readonly PricedAnswer[], models: Models): readonly string[] {
  const paid = results.filter(({ delivery, usage }) => delivery?.by === "batch" && usage.cost_usd > 0);
  return [...new Set(paid.map(({ model }) => model))].filter((model) => !hasBatchPrice(model, models));
}

/** False as well if the model cannot be asked any more, such as without its key. */
function hasBatchPrice(model: string, models: Models): boolean {
  try {
    return models.resolve(model).batchPrice !== undefined;
  } catch {
    return false;
  }
}

/** Warnings about models that have been asked, each told once. */
function openNotices({ models, session }: Asked): NonNullable<Answers["noticesOf"]> {
  const warned = new Set<string>();
  const isChosen = session.options.modelChosen === true;
  return (asked, results, isFirst) => {
    const { fallback } = models;
    const isNew = isChosen && isFirst && fallback !== null && asked.includes(fallback);
    const unlisted = models.unlisted?.(asked) ?? [];
    const now = session.env.clock.now();
    const ends = asked.flatMap((name) => endSentence(name, now) ?? []);
    const notices = [
      ...(isNew ? [`model_chosen: ${fallback}`] : []),
      ...unlisted.map((name) => `model_unlisted: ${name}`),
      ...ends.map((sentence) => `model_ends: ${sentence}`),
      ...fullPriceIn(results, models).map((name) => `batch_price_unknown: ${name}`),
    ].filter((notice) => !warned.has(notice));
    for (const notice of notices) warned.add(notice);
    return notices;
  };
}
