import { type Clock, LIMITS } from "../../../runtime/index.ts";

export type ExecTime = ReturnType<typeof openTime>;

/**
 * The session's time while an exec runs. When it ends, calls fail; the cell then has `LIMITS.timeOverMs` to finish.
 *
 * @param startedAt on the scale of `clock.monotonic()`. @param wholeMs what was left to the session when the exec began
 */
export function openTime(clock: Clock, startedAt: number, wholeMs: number) {
  /** Wall time of the exec, without the time in which no process ran it, ms. */
  const elapsed = () => clock.monotonic() - startedAt;
  /** The session's remaining time, ms. */
  const left = () => Math.max(0, wholeMs - elapsed());
  const over = new AbortController();
  const out = new AbortController();
  const timers = [clock.after(left(), () => over.abort()), clock.after(left() + LIMITS.timeOverMs, () => out.abort())];
  return {
    elapsed,
    left,
    /** Calls in flight fail. */
    over: over.signal,
    /** The exec ends. */
    out: out.signal,
    [Symbol.dispose]() {
      for (const callOff of timers) callOff();
    },
  };
}
