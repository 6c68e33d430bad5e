import type { Clock } from "../../../runtime/index.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { failure, unsent } from "../failure.ts";
import type {
  Model,
  ModelAnswer,
  ModelMessage,
  ModelRequest,
  ModelTurn,
  Post,
  RequestBudget,
  RequestEstimate,
  SubCallError,
  ToolSpec,
  Usage,
} from "../port.ts";
import { type Patience, sendPatiently } from "../replies/away.ts";
import { addUsage, costOf, estimateRequest, estimateTokens, NO_USAGE, tokensOf } from "../usage.ts";

/** A reply of the model: what a trace of a sub-agent shows of it. */
export interface SubCallTurn {
  /** When the request that it answers was sent, ms since the epoch. */
  readonly at: number;
  /** Until the reply, ms. */
  readonly ms: number;
  /**
   * Tokens of the turn, requests that failed included. Input counts what was read from and written
   * to a cache too.
   */
  readonly input: number;
  readonly output: number;
  readonly cost_usd: number;
  /** Names of the tools that the reply asks for, in order. */
  readonly tools: readonly string[];
}

/** Usage of a sub-call so far. */
export interface Spent {
  /** Sum over all requests. If a provider reported no usage for an answer, its estimate counts. */
  readonly usage: Usage;
  /** Sent, retries included. */
  readonly requests: number;
  /** Replies of the model. */
  readonly turns: readonly SubCallTurn[];
  /** Failures that were retried, oldest first. */
  readonly attempts: readonly SubCallAttempt[];
  /** When the first request left, ms since the epoch; null: none has. */
  readonly sent_at: number | null;
  /** Names of parameters that the model does not take: it was asked without them. */
  readonly ignored: readonly string[];
  /** Kinds of what was put right in its replies. */
  readonly mended: readonly string[];
}

export const NOTHING_SENT: Spent = {
  usage: NO_USAGE,
  requests: 0,
  turns: [],
  attempts: [],
  sent_at: null,
  ignored: [],
  mended: [],
};

export type Asked = Pick<ModelAnswer, "isConstrained"> &
  (
    | { readonly ok: true; readonly turn: ModelTurn }
    | ({ readonly ok: false } & Pick<Extract<ModelAnswer, { ok: false }>, "error" | "isTooLong" | "unread">)
  );

/** The fields that all requests of a call have in common. */
type OfAllRequests = Pick<ModelRequest, "conversation" | "thinking" | "sampling" | "shared" | "begun">;

/** The requests of one sub-call. */
export interface Requests {
  /** One turn of the model. It is sent again if that may help. Each request is reserved first. */
  ask(
    system: string | null,
    messages: readonly ModelMessage[],
    tools: readonly ToolSpec[],
    form?: Pick<ModelRequest, "schema" | "mayDropTools">,
  ): Promise<Asked>;
  /** The usage so far. */
  spent(): Spent;
}

export interface RequestParts extends RetryTimes {
  readonly budget: RequestBudget;
  /** Waits for a server that is away. Absent or null: nobody does, as for rows of a batch. */
  readonly patience?: Patience | null;
  /**
   * Takes the request of this number in the call, from 0. The call then goes by batches: it has no
   * deadline and no retries.
   */
  post?(k: number): Post;
}

/**
 * `deadline`: when the whole call must be over, on the clock's monotonic scale, ms. `conversation`:
 * its requests continue each other, so that providers are asked to cache them and are told this id.
 */
export function openRequests(
  model: Model,
  { max_tokens, ...asking }: OfAllRequests & { readonly max_tokens: number },
  { budget, clock, random, sleep, post, patience = null }: RequestParts,
  { deadline, signal }: { readonly deadline: number; readonly signal: AbortSignal },
): Requests {
  const price = post ? (model.batchPrice ?? model.price) : model.price;
  let spent = NOTHING_SENT;
  /** When the newest request left, on both scales of the clock. */
  let left = { at: 0, monotonic: 0 };

  /** A retry gives its reservation back while it waits, and reserves again. */
  async function send(request: Omit<ModelRequest, "timeoutMs">, hasBegun: () => void): Promise<ModelAnswer> {
    const estimate = { ...(heldBy(model) ?? estimateRequest(request, price)), model: model.id };
    const reservation = await budget.reserve(estimate, signal);
    if ("code" in reservation) return unsent(reservation);
    let usage = NO_USAGE;
    try {
      const timeoutMs = Math.ceil(deadline - clock.monotonic());
      if (timeoutMs <= 0) return unsent(failure("timeout", "no time was left to send the request"));
      left = { at: clock.now(), monotonic: clock.monotonic() };
      spent = { ...spent, requests: spent.requests + 1, sent_at: spent.sent_at ?? left.at };
      const delivery = post ? { post: post(spent.requests - 1) } : {};
      using told = patience?.firstToken(model.id, timeoutMs);
      const begun = all(() => told?.[Symbol.dispose](), hasBegun, request.begun);
      const answer = await model.complete({ ...request, timeoutMs, begun, ...delivery }, signal);
      usage = chargeOf(answer, estimate, price);
      spent = { ...spent, ignored: [...new Set([...spent.ignored, ...(answer.ignored ?? [])])] };
      if (!answer.ok && answer.error.code === "rate_limited") {
        await reservation.limited?.(answer.retryAfterMs ?? null, answer.error);
      }
      return answer;
    } finally {
      spent = { ...spent, usage: addUsage(spent.usage, usage) };
      reservation.settle(usage);
    }
  }

  return {
    async ask(
      system: string | null,
      messages: readonly ModelMessage[],
      tools: readonly ToolSpec[],
      form: Pick<ModelRequest, "schema" | "mayDropTools"> = {},
    ): Promise<Asked> {
      if (signal.aborted) return { ok: false, error: failure("cancelled", "the call was cancelled") };
      const before = spent.usage;
      const request: Omit<ModelRequest, "timeoutMs"> = {
        system,
        messages,
        tools,
        maxTokens: max_tokens,
        thinking: "off",
        cache: asking.conversation === undefined ? "none" : "short",
        ...asking,
        ...form,
      };
      const patiently = () => sendPatiently((begun) => send(request, begun), model, patience, signal);
      const { answer, attempts } = await withRetries(patiently, {
        clock,
        sleep,
        random,
        deadline,
        signal,
        // Who collects the rows has sent those again that may be.
        ...(post ? { maxRetries: 0 } : {}),
      });
      spent = { ...spent, attempts: [...spent.attempts, ...attempts] };
      if (answer.ok) await budget.answered?.(null);
      // Rows of a batch are sent again by who collects them, and are given up then.
      else if (answer.ends === "run" || (!post && answer.ends === "job")) await budget.answered?.(answer.error);
      const asked = withoutUndefined({ isConstrained: answer.isConstrained });
      if (!answer.ok) {
        const { error, isTooLong, unread } = answer;
        return { ...asked, ok: false, error, ...withoutUndefined({ isTooLong, unread }) };
      }
      const took = { at: left.at, ms: clock.monotonic() - left.monotonic };
      const turns = [...spent.turns, turnOf(answer.turn, took, before, spent.usage)];
      spent = { ...spent, turns, mended: [...spent.mended, ...(answer.turn.mended ?? [])] };
      return { ...asked, ok: true, turn: answer.turn };
    },
    spent: () => spent,
  };
}

/** The estimate of a model that says what its requests may take; undefined: it does not. */
function heldBy({ reserves }: Model): RequestEstimate | undefined {
  if (!reserves) return undefined;
  return { input_tokens: 0, max_tokens: reserves.tokens, cost_usd: reserves.cost_usd };
}

/** Does one after the other. */
const all = (...steps: readonly ((() => void) | undefined)[]) => {
  return () => {
    for (const step of steps) step?.();
  };
};

function turnOf(
  { toolUses }: ModelTurn,
  took: Pick<SubCallTurn, "at" | "ms">,
  before: Usage,
  after: Usage,
): SubCallTurn {
  const output = after.output - before.output;
  const input = tokensOf(after) - tokensOf(before) - output;
  const cost_usd = after.cost_usd - before.cost_usd;
  return { ...took, input, output, cost_usd, tools: toolUses.map(({ name }) => name) };
}

/**
 * A failed request costs what the provider said, else nothing. A reply without usage (servers that
 * report none) costs its estimate: the input as it was reserved, the output by its length, as far
 * as the server shows it. If the server has counted the input alone, the output is estimated.
 */
function chargeOf(answer: ModelAnswer, estimate: RequestEstimate, price: Model["price"]): Usage {
  const chars = answer.ok ? charsOf(answer.turn) : answer.unread;
  if (chars === undefined) return answer.usage;
  const output = estimateTokens(chars);
  if (answer.charged) return isUncounted(answer, chars) ? withOutput(answer.usage, output, price) : answer.usage;
  const cost_usd = costOf(price, estimate.input_tokens, output);
  return { ...NO_USAGE, input: estimate.input_tokens, output, cost_usd, estimated: estimate.input_tokens + output };
}

/** True if a provider has counted the tokens of a request, and none of the reply to it: some servers never do. */
const isUncounted = ({ usage }: ModelAnswer, chars: number) =>
  chars > 0 && usage.output === 0 && usage.input + usage.cache_read > 0;

function withOutput(usage: Usage, output: number, price: Model["price"]): Usage {
  const input = usage.input + usage.cache_read;
  const cost_usd = usage.cost_usd + costOf(price, input, output) - costOf(price, input, 0);
  return { ...usage, output, cost_usd, estimated: output };
}

function charsOf({ text, toolUses }: ModelTurn): number {
  return toolUses.reduce((total, use) => total + JSON.stringify(use.arguments).length, text.length);
}

/** The first wait is up to this long; it doubles with each retry. */
const BASE_MS = 500;
const CAP_MS = 8000;
/**
 * Refusals of parts of a request, after which it is sent without them. It has no more such parts.
 */
const MOST_ADAPTED = 6;

/** The time and the chance of retries. */
interface RetryTimes {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** From 0 up to 1: jitter of retries. */
  random(): number;
  /** Resolves after `ms`, or as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

interface RetryOptions extends RetryTimes {
  /** Default 3. */
  readonly maxRetries?: number;
  /**
   * When the time of the call has ended, on the clock's monotonic scale: no wait goes beyond it.
   */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** A failure that was retried, or a wait for a server. */
interface SubCallAttempt {
  readonly code: SubCallError["code"];
  /** Time before the next attempt, ms. */
  readonly waited_ms: number;
}

/**
 * Sends until an answer comes that a retry would not change: transient failures (`rate_limited` and
 * `provider_error` that say so) are sent again after exponential backoff with full jitter, or after
 * the server's Retry-After. A wait that would go beyond the deadline is not begun: the failure is
 * the answer. A request whose part was refused is sent again at once, since the refusal was free.
 * `attempt` counts from 0.
 *
 * @returns the last answer, without the usage of earlier attempts: each was an answer to `send`
 */
export async function withRetries(
  send: (attempt: number) => Promise<ModelAnswer>,
  options: RetryOptions,
): Promise<{ readonly answer: ModelAnswer; readonly attempts: readonly SubCallAttempt[] }> {
  const attempts: SubCallAttempt[] = [];
  /** Attempts that are no retries: requests without a part, and waits for a server. */
  let others = 0;
  let adapted = 0;
  for (;;) {
    const answer = await send(attempts.length);
    if (answer.waitedMs !== undefined) {
      others += 1;
      attempts.push({ code: "provider_error", waited_ms: answer.waitedMs });
    }
    if (!answer.ok && answer.isAdapted && adapted < MOST_ADAPTED && !options.signal.aborted) {
      others += 1;
      adapted += 1;
      attempts.push({ code: answer.error.code, waited_ms: 0 });
      continue;
    }
    const retries = attempts.length - others;
    if (answer.ok || !isTransient(answer.error) || retries >= (options.maxRetries ?? 3)) return { answer, attempts };
    const wait = waitOf(answer.retryAfterMs, retries, options.random());
    if (options.clock.monotonic() + wait >= options.deadline) return { answer, attempts };
    await options.sleep(wait, options.signal);
    attempts.push({ code: answer.error.code, waited_ms: wait });
    if (options.signal.aborted) return { answer: cancelledAfter(answer), attempts };
  }
}

function isTransient(error: SubCallError): boolean {
  return error.retriable && (error.code === "rate_limited" || error.code === "provider_error");
}

/**
 * Calls that were told the same Retry-After come back spread over the base wait, not all at once.
 */
function waitOf(retryAfterMs: number | undefined, retries: number, random: number): number {
  if (retryAfterMs !== undefined) return Math.round(retryAfterMs + random * BASE_MS);
  return Math.round(random * Math.min(CAP_MS, BASE_MS * 2 ** retries));
}

function cancelledAfter({ usage, charged }: ModelAnswer): ModelAnswer {
  const error = failure("cancelled", "cancelled while waiting to send the call again");
  return { ok: false, usage, charged, error };
}
