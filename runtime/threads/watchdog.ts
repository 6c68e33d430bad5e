import type { Clock } from "../clock.ts";
import { COMMAND_MS, TERMINATE_MS } from "../limits.ts";
import { SHARED } from "../protocol.ts";

export const TIMED_OUT = "the guest ran on past its limit and was ended from outside";
export const CANCELLED = "the guest did not stop when cancelled and was ended from outside";

interface Watched {
  /** The words of `SHARED`. */
  readonly shared: Int32Array;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  /** Running time that the guest may take, ms. */
  readonly limitMs: number;
  /** True if setting the `cancel` word shortens that: the guest must then come to rest soon. */
  readonly listensToCancel: boolean;
}

/**
 * Watches a thread that works on a message, and calls `overdue` once if the thread takes too long.
 * The guest has TERMINATE_MS more than its limit, and TERMINATE_MS after it was cancelled. Time
 * that a builtin takes off the clock does not count. Once an image is being captured, only the
 * capture has a limit: COMMAND_MS.
 *
 * @returns ends the watch
 */
export function watchThread(watched: Watched, overdue: (why: string) => void): () => void {
  const { shared, clock, limitMs, listensToCancel } = watched;
  const since = clock.monotonic();
  let cancelledAt: number | undefined;
  let capturingSince: number | undefined;
  let callOff = clock.after(LOOK_MS, look);

  function look(): void {
    const now = clock.monotonic();
    if (listensToCancel && Atomics.load(shared, SHARED.cancel) === 1) cancelledAt ??= now;
    if (Atomics.load(shared, SHARED.capturing) === 1) capturingSince ??= now;
    const left = (capturingSince === undefined ? runningUntil() : capturingSince + COMMAND_MS) - now;
    const isOffClock = Atomics.load(shared, SHARED.offClock) === 1 && cancelledAt === undefined;
    if (left > 0 || isOffClock) callOff = clock.after(isOffClock ? LOOK_MS : Math.min(left, LOOK_MS), look);
    else overdue(cancelledAt === undefined ? TIMED_OUT : CANCELLED);
  }

  function runningUntil(): number {
    const limit = since + Atomics.load(shared, SHARED.offClockMs) + limitMs;
    return Math.min(limit, cancelledAt ?? Number.POSITIVE_INFINITY) + TERMINATE_MS;
  }

  return () => callOff();
}

const LOOK_MS = 100;
