import { endInTime } from "../platform/signals.ts";

/**
 * Time that a provider's SDK may take to come to rest after an abort, ms: it then reports the
 * charge.
 */
const REST_MS = 500;

/** A signal and a time limit in one: after either, the caller waits for `REST_MS` at the most. */
export interface Limited {
  /** Aborts with the given signal and when the time has run out. */
  readonly signal: AbortSignal;
  /** Resolves with null if the work continues too long after it was told to end. */
  readonly overdue: Promise<null>;
  /** The first cause of its end, or null. */
  ended(): "cancelled" | "timeout" | null;
  /** Frees the timers and the listener; aborts nothing. */
  release(): void;
}

export function limited(signal: AbortSignal, timeoutMs: number): Limited {
  const controller = new AbortController();
  const { promise: overdue, resolve } = Promise.withResolvers<null>();
  let ended: "cancelled" | "timeout" | null = null;
  let rest: NodeJS.Timeout | undefined;
  const limit = endInTime(timeoutMs, signal, (by) => {
    ended = by === "time" ? "timeout" : "cancelled";
    rest = setTimeout(resolve, REST_MS, null);
    controller.abort();
  });
  return {
    signal: controller.signal,
    overdue,
    ended: () => ended,
    release() {
      clearTimeout(rest);
      limit[Symbol.dispose]();
    },
  };
}
