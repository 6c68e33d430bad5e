import { type Clock, RlmError } from "../../../runtime/index.ts";
import { failure, type SubCallError } from "../../models/index.ts";
import { onceAborted } from "../../platform/signals.ts";
import type { CallContext } from "./port.ts";

export const CANCELLED = failure("cancelled", "the call was cancelled");
export const TIME_OVER = failure("budget_exceeded", "the time of the budget is over", { limit: "time_ms" });

/** The time of a call with context, ms. Time in which no process ran its child does not count. */
export type ChildTime = ReturnType<typeof timeOf>;

/** @param taken by the child in earlier processes, ms */
export function timeOf(timeout_ms: number, { timeLeft }: Pick<CallContext, "timeLeft">, taken: number) {
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
