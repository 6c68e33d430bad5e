import { type Clock, firstly, LIMITS, RlmError } from "../../../runtime/index.ts";
import { failure, type SubCallError } from "../../models/index.ts";
import { onceAborted } from "../../platform/signals.ts";
import { type Answered, type CallContext, refused } from "./port.ts";

export const CANCELLED = failure("cancelled", "the call was cancelled");
export const TIME_OVER = failure("budget_exceeded", "the time of the budget has run out", { limit: "time_ms" });
/** The failure for which calls wait that are not begun, since the time has run out. */
export const TIME_SPENT = { ...TIME_OVER, suggestion: `${firstly("moreBudget")}.` };

/** The answer to a call that was ended, or did not begin, has the reason for that. */
export function inTime(answered: Answered | undefined, { timeOver }: Pick<CallContext, "timeOver">): Answered {
  const isCancelled = answered?.settlement.ok === false && answered.settlement.error.code === "cancelled";
  if (answered && !(timeOver.aborted && isCancelled)) return answered;
  const why = refused(timeOver.aborted ? TIME_OVER : CANCELLED);
  return answered
    ? { ...why, record: { ...why.record, usage: answered.record.usage, model: answered.record.model } }
    : why;
}

/** The time of a call with context, ms. Time in which no process ran its child does not count. */
export interface ChildTime {
  /** Time of the call in all processes together. */
  readonly wholeMs: number;
  readonly leftMs: number;
  /** It is the call's own, and over before that of its session. */
  readonly isOwn: boolean;
}

/** @param taken by the child in earlier processes, ms */
export function timeOf(timeout_ms: number, { timeLeft }: Pick<CallContext, "timeLeft">, taken: number): ChildTime {
  const most = taken + timeLeft();
  const wholeMs = Math.min(timeout_ms, most);
  return { wholeMs, leftMs: Math.max(0, wholeMs - taken), isOwn: timeout_ms <= most };
}

/** Ends a child before its answer. A child that is suspended is not ended: it continues its parent. */
export interface ChildStop extends Disposable {
  /** Its reason is an RlmError. */
  readonly signal: AbortSignal;
  /** Says why the call has no answer, if its time has run out or it was cancelled. */
  why(): SubCallError;
}

export function openStop(
  { signal, timeOver, suspend }: Pick<CallContext, "signal" | "timeOver" | "suspend">,
  clock: Clock,
  { wholeMs, leftMs, isOwn }: ChildTime,
): ChildStop {
  const stop = new AbortController();
  const spent = isOwn ? failure("timeout", `the call took longer than ${wholeMs} ms`) : TIME_OVER;
  let why = spent;
  const end = (reason: SubCallError) => {
    // Suspending the exec aborts its calls too.
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
    signal: stop.signal,
    why: () => why,
    [Symbol.dispose]() {
      for (const callOff of callOffs) callOff();
    },
  };
}

/** The session's time while an exec runs. When it ends, calls fail; the cell then has `LIMITS.timeOverMs` to finish. */
export interface ExecTime extends Disposable {
  /** Wall time of the exec, without the time in which no process ran it, ms. */
  elapsed(): number;
  /** The session's remaining time, ms. */
  left(): number;
  /** Aborts when calls in flight are to fail. */
  readonly over: AbortSignal;
  /** Aborts when the exec is to end. */
  readonly out: AbortSignal;
}

/**
 * @param startedAt on the scale of `clock.monotonic()`. @param wholeMs what was left to the session when the exec began
 * @param waits its calls wait for the user once the time has run out: those that are out are answered, and nothing is aborted
 */
export function openTime(clock: Clock, startedAt: number, wholeMs: number, waits = false): ExecTime {
  const elapsed = () => clock.monotonic() - startedAt;
  const left = () => Math.max(0, wholeMs - elapsed());
  const over = new AbortController();
  const out = new AbortController();
  const ends = () => [
    clock.after(left(), () => over.abort()),
    clock.after(left() + LIMITS.timeOverMs, () => out.abort()),
  ];
  const timers = waits ? [] : ends();
  return {
    elapsed,
    left,
    over: over.signal,
    out: out.signal,
    [Symbol.dispose]() {
      for (const callOff of timers) callOff();
    },
  };
}
