import { type CellEnd, type Clock, LIMITS, placeless } from "../../../runtime/index.ts";

/** The session's time while an exec runs. When it ends, calls fail; the cell then has `LIMITS.timeOverMs` to finish. */
export interface ExecTime extends Disposable {
  /** Wall time of the exec, without the time in which no process ran it, ms. */
  elapsed(): number;
  /** The session's remaining time, ms. */
  left(): number;
  /** Calls in flight fail. */
  readonly over: AbortSignal;
  /** The exec ends. */
  readonly out: AbortSignal;
}

/** @param startedAt on the scale of `clock.monotonic()`. @param wholeMs what was left to the session when the exec began */
export function openTime(clock: Clock, startedAt: number, wholeMs: number): ExecTime {
  const elapsed = () => clock.monotonic() - startedAt;
  const left = () => Math.max(0, wholeMs - elapsed());
  const over = new AbortController();
  const out = new AbortController();
  const timers = [clock.after(left(), () => over.abort()), clock.after(left() + LIMITS.timeOverMs, () => out.abort())];
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

export function timeIsSpent(maxMs: number): CellEnd {
  return placeless(
    "budget_exceeded",
    "BudgetExceededError",
    `the session's time is spent (${maxMs} ms inside execs)`,
    "Summarise and finish, or load the context again, which begins a new budget.",
  );
}
