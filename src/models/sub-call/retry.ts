import type { Clock } from "../../../runtime/index.ts";
import { failure } from "../failure.ts";
import type { ModelAnswer, SubCallError } from "../port.ts";

/** The first wait is up to this long; it doubles with each retry. */
const BASE_MS = 500;
const CAP_MS = 8000;
/**
 * Refusals of parts of a request, after which it is sent without them. It has no more such parts.
 */
const MOST_ADAPTED = 6;

/** The time and the chance of retries. */
export interface RetryTimes {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** From 0 up to 1: jitter of retries. */
  random(): number;
  /** Resolves after `ms`, or as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface RetryOptions extends RetryTimes {
  /** Default 3. */
  readonly maxRetries?: number;
  /**
   * When the time of the call has ended, on the clock's monotonic scale: no wait goes beyond it.
   */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** A failure that was retried, or a wait for a server. */
export interface SubCallAttempt {
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
