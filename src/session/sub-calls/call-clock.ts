import type { Clock } from "../../../runtime/index.ts";
import { aborted } from "../../platform/signals.ts";

/** The time of one call. It stands still while the call waits for its run, which has nothing to do with the call's own time. */
export interface CallClock extends Pick<Clock, "now" | "monotonic"> {
  paused<T>(work: () => Promise<T>): Promise<T>;
  /** Resolves after `ms` of the call's time, or as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

/** @param sleep waits by the clock */
export function openCallClock(
  clock: Pick<Clock, "now" | "monotonic">,
  sleep: (ms: number, signal: AbortSignal) => Promise<void>,
): CallClock {
  /** For how long the time has stood still, ms, and since when it does now. */
  let stood = 0;
  let since: number | null = null;
  let going: Promise<void> = Promise.resolve();
  const monotonic = () => (since ?? clock.monotonic()) - stood;
  return {
    now: clock.now,
    monotonic,
    async paused(work) {
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
    async sleep(ms, signal) {
      const until = monotonic() + ms;
      for (let left = ms; left > 0 && !signal.aborted; left = until - monotonic()) {
        await sleep(left, signal);
        if (!signal.aborted) await Promise.race([going, aborted(signal)]);
      }
    },
  };
}
