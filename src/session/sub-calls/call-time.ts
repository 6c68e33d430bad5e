import type { SubCallRequest } from "../../../builtins/index.ts";
import { type Clock, RlmError } from "../../../runtime/index.ts";
import { failure, type SubCallError } from "../../model/index.ts";
import { aborted, onceAborted } from "../../platform/signals.ts";
import { sleep } from "../../platform/sleep.ts";
import type { CallContext } from "./port.ts";

/** Opens the time of one call. It stands still while the call waits for its run, which has nothing to do with the call's own time. */
export function openCallClock(clock: Clock) {
  /** For how long the time has stood still, ms, and since when it does now. */
  let stood = 0;
  let since: number | null = null;
  let going: Promise<void> = Promise.resolve();
  const monotonic = () => (since ?? clock.monotonic()) - stood;
  return {
    now: clock.now,
    monotonic,
    async paused<T>(work: () => Promise<T>): Promise<T> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const from = clock.monotonic();
      since = from;
      going = promise;
      try {
        return await work();
      } finally {
        stood += clock.monotonic() - from;
        since = null;
        resolve();
      }
    },
    /** Resolves after `ms` of the call's time, or as soon as the signal aborts. */
    async sleep(ms: number, signal: AbortSignal): Promise<void> {
      const until = monotonic() + ms;
      for (let left = ms; left > 0 && !signal.aborted; left = until - monotonic()) {
        await sleep(clock, left, signal);
        if (!signal.aborted) await Promise.race([going, aborted(signal)]);
      }
    },
  };
}

export const CANCELLED = failure("cancelled", "the call was cancelled");
export const TIME_OVER = failure("budget_exceeded", "the time of the budget is over", { limit: "time_ms" });

/** Time that a call with context may take unless it says otherwise, ms. */
const CHILD_MS = 600_000;

/** The time of a call with context, ms. Time in which no process ran its child does not count. */
export type ChildTime = ReturnType<typeof timeOf>;

/** @param taken by the child in earlier processes, ms */
export function timeOf(
  { timeout_ms = CHILD_MS }: Pick<SubCallRequest, "timeout_ms">,
  { timeLeft }: Pick<CallContext, "timeLeft">,
  taken: number,
) {
  const most = taken + timeLeft();
  const wholeMs = Math.min(timeout_ms, most);
  // If it is its own, the call's time is over before that of its session.
  return { wholeMs, leftMs: Math.max(0, wholeMs - taken), isOwn: timeout_ms <= most };
}

export type ChildStop = ReturnType<typeof openStop>;

/** Opens the stop that ends a child before its answer. A child that is suspended is not ended: it goes on with its parent. */
export function openStop(
  { signal, timeOver, suspend }: Pick<CallContext, "signal" | "timeOver" | "suspend">,
  clock: Clock,
  { wholeMs, leftMs, isOwn }: ChildTime,
) {
  const stop = new AbortController();
  const spent = isOwn ? failure("timeout", `the call took longer than ${wholeMs} ms`) : TIME_OVER;
  let why = spent;
  const end = (reason: SubCallError) => {
    // What suspends the exec aborts its calls too.
    if (stop.signal.aborted || suspend?.aborted) return;
    why = reason;
    stop.abort(new RlmError(reason.code, reason.message, { suggestion: reason.suggestion }));
  };
  const callOffs = [
    onceAborted(timeOver, () => end(TIME_OVER)),
    onceAborted(signal, () => end(CANCELLED)),
    clock.after(leftMs, () => end(spent)),
  ];
  return {
    /** Its reason is an RlmError. */
    signal: stop.signal,
    /** Why the call has no answer, if its time is over or it was cancelled. */
    why: () => why,
    [Symbol.dispose]() {
      for (const callOff of callOffs) callOff();
    },
  };
}
