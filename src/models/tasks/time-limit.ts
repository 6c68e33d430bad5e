import { onceAborted } from "../../platform/signals.ts";

/** Time that a provider's SDK may take to come to rest after an abort, ms: it then reports the charge. */
const REST_MS = 500;

/** Timers hold no more. */
const LONGEST_MS = 2 ** 31 - 1;

export type Limited = ReturnType<typeof limited>;

/** A signal and a time limit in one: after either, the caller waits for `REST_MS` at the most. */
export function limited(signal: AbortSignal, timeoutMs: number) {
  const controller = new AbortController();
  const { promise: overdue, resolve } = Promise.withResolvers<null>();
  let ended: "cancelled" | "timeout" | null = null;
  let rest: ReturnType<typeof setTimeout> | undefined;
  const end = (by: "cancelled" | "timeout") => {
    if (ended !== null) return;
    ended = by;
    rest = setTimeout(resolve, REST_MS, null);
    controller.abort();
  };
  const timer = setTimeout(end, Math.min(timeoutMs, LONGEST_MS), "timeout");
  const callOff = onceAborted(signal, () => end("cancelled"));
  return {
    /** Aborts with the given signal and when the time is over. */
    signal: controller.signal,
    /** Resolves with null if the work goes on too long after it was told to end. */
    overdue,
    /** The first cause of its end, or null. */
    ended: () => ended,
    /** Frees the timers and the listener; aborts nothing. */
    release(): void {
      clearTimeout(timer);
      clearTimeout(rest);
      callOff();
    },
  };
}
