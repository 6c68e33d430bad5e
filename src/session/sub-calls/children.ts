import { noConversation, OF_HISTORY, type SubCallRequest } from "../../../builtins/index.ts";
import { DEFAULT_ASK_MS, type ExecSignals, hasCode, type Json, LIMITS, RlmError } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { failure, isFailureCode, knownModel, type SubCallError, withFallback } from "../../models/index.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { joinSignals } from "../../platform/signals.ts";
import type { Store } from "../../store/index.ts";
import type { Session } from "../api.ts";
import type { AskEnvelope, CellSettings, Citation } from "../ask/api.ts";
import { storedContext } from "../contexts/contexts.ts";
import { excerptInput, rangesInParent } from "../contexts/excerpts.ts";
import type { Host } from "../env.ts";
import type { SessionEvent } from "../events.ts";
import type { SessionState } from "../journal/account.ts";
import { mendedBy } from "../journal/exec-warnings.ts";
import { limitsNow } from "../journal/ledger.ts";
import type { HostedOptions } from "../option-types.ts";
import type { SessionParts } from "../parts.ts";
import { childName, type Spent, spentBy } from "../stored/children.ts";
import { type ChildStop, type ChildTime, openStop, timeOf } from "./call-time.ts";
import { childOptions, childParts } from "./child-options.ts";
import {
  type Answered,
  type CallContext,
  type ChildRequest,
  type Children,
  FREE,
  guestError,
  type ParentCall,
} from "./port.ts";

/** The session that makes the calls, and the way to open a child of it. */
type SharedParts = "row" | "env" | "rules" | "state" | "places" | "space" | "patience" | "suspension";

interface ChildrenParts extends Pick<SessionParts, SharedParts> {
  /** Opens the child of this name, with its context loaded. It is made if it is missing. */
  open(name: string, child: ChildOf): Promise<OpenChild>;
}

interface ChildOf {
  readonly callId: string;
  readonly request: ChildRequest;
  /** The conversation in which the call is made, if the process that gives the call up still has it. */
  readonly history: Context | null;
  readonly settings: CellSettings;
  readonly above: ParentCall;
}

interface OpenChild {
  readonly session: Session;
  /** The places of a range of the child's P in the context that its call gave. */
  toCaller(range: Range): readonly Range[];
}

type Range = readonly [start: number, end: number];

export function openChildren(parts: ChildrenParts): Children {
  const { env, rules, row } = parts;
  /** An exec that is suspended does not wait for its children. Opening one of them again waits, and so does closing the session. */
  const open = new Map<string, Promise<unknown>>();

  async function inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const working = (open.get(name) ?? Promise.resolve()).then(work);
    const settled = working.catch(() => {});
    open.set(name, settled);
    try {
      return await working;
    } finally {
      if (open.get(name) === settled) open.delete(name);
    }
  }

  return {
    answer({ id: callId, counts = 1 }, request, context, settings) {
      const name = childName(row.id, callId);
      return inTurn(name, () => answer(parts, name, { callId, calls: counts, request, context, settings }));
    },
    discard(callId, request, settings) {
      const name = childName(row.id, callId);
      return inTurn(name, () => discard(parts, name, { callId, request, settings }));
    },
    async unrecorded(callIds) {
      const spent = await Promise.all(callIds.map((id) => spentBy(env.store, childName(row.id, id), rules.depth + 1)));
      return spent.flatMap((one, at) => {
        const callId = callIds[at];
        return one && callId !== undefined ? [{ callId, tokens: one.tokens, cost_usd: one.cost_usd }] : [];
      });
    },
    isThere: async (callId) => (await spentBy(env.store, childName(row.id, callId), rules.depth + 1)) !== null,
    async closed() {
      await Promise.all(open.values());
    },
  };
}

interface Asked {
  readonly callId: string;
  /** The number of sub-calls that the call counts as: itself and those that its child may make. */
  readonly calls: number;
  readonly request: ChildRequest;
  readonly context: CallContext;
  readonly settings: CellSettings;
}

/** Time that a call with context may take unless it says otherwise, ms. At a server of one's own it is that of an ask. */
const CHILD_MS = 600_000;

async function answer(parts: ChildrenParts, name: string, asked: Asked): Promise<Answered> {
  const { env, places } = parts;
  const depth = parts.rules.depth + 1;
  const { context } = asked;
  const before = await spentBy(env.store, name, depth);
  const ended = before && endedBefore(before);
  if (ended) return answeredBy(ended, before);
  using waiting = joinSignals(context.signal, context.timeOver, context.suspend);
  using place = await parts.suspension.idle(() => places.guests(depth).take(waiting.signal));
  // The call's own time begins with its place.
  const { request, settings } = asked;
  const isLocal = knownModel(env.models, request.model ?? settings.model)?.isLocal;
  const usualMs = isLocal ? DEFAULT_ASK_MS : CHILD_MS;
  const time = timeOf(request.timeout_ms ?? usualMs, context, before?.time_ms ?? 0);
  using stop = openStop(context, parts.patience.time, time);
  if (!place) {
    const left = context.suspend?.aborted ? null : await discard(parts, name, asked);
    return { ...(left ?? answeredBy(CANCELLED, before)), settlement: { ok: false, error: guestError(stop.why()) } };
  }
  context.begun();
  const { settlement, mended } = await settled(parts, name, { ...asked, time, stop });
  const answered = answeredBy(settlement, await spentBy(env.store, name, depth));
  return { ...answered, record: { ...answered.record, ...withoutUndefined({ mended }) } };
}

type Settlement = Answered["settlement"];

/** The end of a child by a process that did not come to record it for the call; null: it was not ended. */
function endedBefore({ ended_by: by }: Spent): Settlement | null {
  return by && isFailureCode(by.code) ? { ok: false, error: guestError(failure(by.code, by.message)) } : null;
}

const CANCELLED: Settlement = { ok: false, error: guestError(failure("cancelled", "the call was given up")) };

/** Records the child's ask as cancelled, and those of its children, so that nothing of it is left to be resumed. */
async function discard(
  parts: ChildrenParts,
  name: string,
  asked: Pick<Asked, "callId" | "request" | "settings">,
): Promise<Answered | null> {
  const depth = parts.rules.depth + 1;
  if ((await spentBy(parts.env.store, name, depth)) === null) return null;
  const opening = { ...asked, history: null, budget: NOTHING_LEFT, limits: parts.rules.budget };
  await withChild(parts, name, opening, ({ session }) => session.discard());
  return answeredBy(CANCELLED, await spentBy(parts.env.store, name, depth));
}

/** A child that is given up sends nothing any more. */
const NOTHING_LEFT: ParentCall["budget"] = {
  reserve: async () => failure("cancelled", "the call was given up"),
  atMost: (left) => left,
  settled: () => null,
};

/** Opens the child, works with it and closes it, so that its machine is gone before its place is. */
async function withChild<T>(
  { places, space, patience, rules, open }: ChildrenParts,
  name: string,
  { settings, budget, limits, ...asked }: Omit<ChildOf, "above"> & Pick<ParentCall, "budget" | "limits">,
  work: (child: OpenChild) => Promise<T>,
): Promise<T> {
  const above = { budget, places, space, patience, depth: rules.depth + 1, maxDepth: settings.max_depth, limits };
  const child = await open(name, { ...asked, settings, above });
  try {
    return await work(child);
  } finally {
    await child.session.close();
  }
}

/** The end of a child, as its call takes it. */
interface Settled {
  readonly settlement: Settlement;
  /** Kinds of what was put right in its replies. */
  readonly mended?: readonly string[] | undefined;
}

/** Has the child asked. */
async function settled(
  parts: ChildrenParts,
  name: string,
  asked: Asked & { readonly time: ChildTime; readonly stop: ChildStop },
): Promise<Settled> {
  const { calls, request, context, settings, time, stop } = asked;
  const { budget, history, suspend } = context;
  const max_sub_calls = Math.min(calls - 1, LIMITS.childSubCalls);
  const shared = limitsNow(parts.rules, parts.state().account);
  const limits = { ...shared, max_time_ms: time.wholeMs, max_sub_calls };
  return withChild<Settled>(parts, name, { ...asked, budget, history, limits }, async ({ session, toCaller }) => {
    const ownSettings = { ...settings, thinking: request.thinking ?? context.thinking };
    const end = await askChild(session, request, ownSettings, { signal: stop.signal, suspend });
    if (end.ok) {
      const value = request.cites ? withCites(end, request, toCaller) : end.answer;
      return { settlement: { ok: true, value }, mended: end.mended };
    }
    // The child's time is that of its call.
    const isOver = end.error.code === "budget_exceeded" && session.budget().remaining_time_ms <= 0;
    return { settlement: { ok: false, error: guestError(isOver ? stop.why() : end.error) } };
  }).catch(refusedContext);
}

/** The settlement of a call whose context is larger than the session allows. All other failures are thrown. */
function refusedContext(error: unknown): Settled {
  if (!hasCode(error, "context_too_large")) throw error;
  const refused = failure("invalid_argument", `llm_query: its ${error.message}`, { suggestion: SMALLER_CONTEXT });
  return { settlement: { ok: false, error: guestError(refused) } };
}

const SMALLER_CONTEXT = "Give fewer or smaller places in `context`: together they are a context of the session's size.";

function withCites(
  { answer, citations }: Extract<ChildEnd, { ok: true }>,
  { context }: ChildRequest,
  toCaller: OpenChild["toCaller"],
): Json {
  const cites = citations.flatMap(({ valid, p_start, p_end }: Citation) =>
    valid && p_start !== null && p_end !== null ? toCaller([p_start, p_end]) : [],
  );
  return { answer, cites: cites.map((range) => ("of" in context ? [...range, OF_HISTORY] : [...range])) };
}

/** The answer to the call. Its charge is the child's spending, whatever came of it. */
function answeredBy(settlement: Settlement, spent: Spent | null): Answered {
  if (!spent) return { settlement, record: FREE, cacheKey: null };
  const { usage, model, session, sub_calls, turns, depth_reached, limits_met, sent_at } = spent;
  const sent = sent_at === null ? {} : { sent_at };
  const child = { session, sub_calls, turns, depth_reached, ...(limits_met ? { limits_met } : {}) };
  return { settlement, record: { ...FREE, usage, model, child, ...sent }, cacheKey: null };
}

/** Opens sessions as the host does. It is handed in, since it stands above what a session is made of. */
export type OpenSession = (options: HostedOptions, host: Host) => Promise<Session>;

/** Opens children with the options and parts of their parent. They read no folders: all that they see is their P. */
export function childOpener(
  { options, env, state }: Pick<SessionParts, "options" | "env" | "state">,
  host: Host,
  openSession: OpenSession,
): ChildrenParts["open"] {
  return async (name, { callId, request, history, settings, above }) => {
    const { context, delivery = options.delivery } = request;
    const parent = "of" in context ? (history ?? (await storedHistory(env.store, state()))) : state().context;
    const excerpt = excerptInput(context, parent);
    const onProgress = (event: SessionEvent) => {
      if (event.kind === "turn") env.emit({ ...event, path: [callId, ...event.path] });
      if (event.kind === "notice") env.emit(event);
    };
    // Who reads a text for a query has cells, and nothing that the host could lend.
    const { subAgents: { tools: _tools, ...policy } = {} } = options;
    const subAgents = state().account.last?.start.kind === "query" ? { subAgents: policy } : {};
    const session = await openSession(
      {
        ...childOptions(options),
        ...subAgents,
        ...(delivery ? { delivery } : {}),
        roots: [],
        session: name,
        onProgress,
      },
      {
        ...childParts(host),
        ...env,
        above,
        excerpt,
        origin: "child",
        models: withFallback(env.models, settings.sub_model),
        heldContext: (key) => (parent?.key === key ? parent : (host.heldContext?.(key) ?? null)),
      },
    );
    return { session, toCaller: (range) => rangesInParent(excerpt, parent, range) };
  };
}

/** The conversation that the newest exec began with. A cell that gave a place of it to a child has had it stored. */
function storedHistory(store: Store, { account }: SessionState): Promise<Context> {
  const hash = account.last?.start.history_hash;
  if (hash === undefined) throw noConversation();
  return storedContext(store, hash);
}

/** The answer of a child. Citations are places of the child's P. */
type ChildEnd =
  | {
      readonly ok: true;
      readonly answer: Json;
      readonly citations: readonly Citation[];
      /** Kinds of what was put right in the replies below it; undefined: nothing was. */
      readonly mended: readonly string[] | undefined;
    }
  | { readonly ok: false; readonly error: SubCallError };

/** Turns of a child whose call names no number. */
const CHILD_TURNS = 10;

/**
 * Answers a call with context, by the ask of a child. A child is asked at most once. So an ask that an earlier process left
 * open is resumed, and one that has ended answers with its record.
 *
 * @param settings with the level of thinking of the call. @param signals for the child: `signal` aborts with an RlmError that says why
 * @throws RlmError if the store fails: the call has no answer then, and is to be made again
 */
async function askChild(
  session: ChildSession,
  request: SubCallRequest,
  settings: CellSettings,
  signals: ChildSignals,
): Promise<ChildEnd> {
  try {
    return endOf(await askOnce(session, request, settings, signals), request, signals);
  } catch (error) {
    if (!(error instanceof RlmError) || !isFailureCode(error.code)) throw error;
    // A child that cannot continue is not left to be resumed.
    await session.discard();
    return { ok: false, error: failure(error.code, error.message, { suggestion: error.suggestion }) };
  }
}

type ChildSession = Pick<Session, "ask" | "discard" | "resume">;
type ChildSignals = ExecSignals & { readonly signal: AbortSignal };

async function askOnce(
  session: ChildSession,
  request: SubCallRequest,
  { model, protocol, thinking, turn_tokens }: CellSettings,
  signals: ChildSignals,
): Promise<AskEnvelope> {
  const before = await session.resume(signals);
  if (before?.kind === "ask") return before.envelope;
  return session.ask(request.prompt, {
    model: request.model ?? model ?? undefined,
    protocol,
    thinking,
    turnTokens: turn_tokens ?? undefined,
    schema: request.schema,
    maxTurns: request.max_turns ?? CHILD_TURNS,
    ...signals,
  });
}

function endOf(envelope: AskEnvelope, request: SubCallRequest, { signal, suspend }: ChildSignals): ChildEnd {
  if (envelope.success) {
    const { answer, citations, warnings } = envelope;
    const isValue = request.schema !== undefined || typeof answer === "string";
    return { ok: true, answer: isValue ? answer : JSON.stringify(answer), citations, mended: mendedBy(warnings) };
  }
  const { error_code, error_message, suggestion } = envelope;
  if (suspend?.aborted) return { ok: false, error: failure("cancelled", error_message) };
  if (envelope.resumable) throw new RlmError(error_code, error_message, { suggestion });
  const code = isFailureCode(error_code) ? error_code : "sub_agent_error";
  return { ok: false, error: whyStopped(signal) ?? failure(code, error_message) };
}

/** Why the caller has stopped the child; null: it has not. */
function whyStopped({ aborted, reason }: AbortSignal): SubCallError | null {
  if (!aborted || !(reason instanceof RlmError) || !isFailureCode(reason.code)) return null;
  return failure(reason.code, reason.message);
}
