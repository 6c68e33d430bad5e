import { SHARED } from "./protocol.ts";

/** The time that a machine is given. Tests and replays pass their own. */
export interface Clock {
  /** ms since the epoch: what the guest's Date shows. */
  now(): number;
  /** ms that never run backwards. Limits are measured with it. */
  monotonic(): number;
  /** Runs something once, after `ms`. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

export const systemClock = clockOf(true);

/** Like `systemClock`, but its timers do not keep the process alive. */
export const backgroundClock = clockOf(false);

function clockOf(keepsAlive: boolean): Clock {
  return {
    now: () => Date.now(),
    monotonic: monotonicMs,
    after(ms, run) {
      // If the delay is longer than a timer can hold, Node fires the timer at once.
      const timer = setTimeout(run, Math.min(ms, 2 ** 31 - 1));
      if (!keepsAlive) timer.unref();
      return () => clearTimeout(timer);
    },
  };
}

/** ms that never run backwards. `performance` takes a thread 1 ms to load. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

export interface RunClock {
  /** Begins a slice of an exec that has already run for `ranMs` of its `limitMs`. */
  start(ranMs: number, limitMs: number): void;
  /** Ends the slice. Returns the exec's running time so far, ms. */
  pause(): number;
  /**
   * Polled by the engine. Once true, true for the rest of the slice: a guest may catch what an
   * interrupt throws.
   */
  shouldStop(): boolean;
  stopped(): "timeout" | "cancelled" | undefined;
  /** Sets the limit aside: the machine may use the next `ms` for its own last steps. */
  grace(ms: number): void;
  /** Runs work whose time is not guest running time. It may be called within such work. */
  offClock<T>(work: () => T): T;
  /** Runs work as if the exec had not been cancelled. */
  ignoringCancel<T>(work: () => T): T;
  /** Wall time since `start`, ms. */
  sliceMs(): number;
  monotonic(): number;
}

/** Measures guest running time over the slices of an exec and says when to stop. */
export function openRunClock(clock: Clock, shared: Int32Array): RunClock {
  let startedAt = 0;
  let before = 0;
  let limit = Number.POSITIVE_INFINITY;
  let offMs = 0;
  let reason: "timeout" | "cancelled" | undefined;
  let graceUntil: number | undefined;
  /** The time at which the work began that is going on off the clock. */
  let offFrom: number | undefined;
  const elapsed = () => before + (offFrom ?? clock.monotonic()) - startedAt - offMs;
  return {
    start(ranMs: number, limitMs: number): void {
      startedAt = clock.monotonic();
      before = ranMs;
      limit = limitMs;
      offMs = 0;
      reason = undefined;
      graceUntil = undefined;
      Atomics.store(shared, SHARED.offClockMs, 0);
    },
    pause: elapsed,
    shouldStop(): boolean {
      if (graceUntil !== undefined) return clock.monotonic() > graceUntil;
      if (reason) return true;
      if (Atomics.load(shared, SHARED.cancel) === 1) reason = "cancelled";
      else if (elapsed() > limit) reason = "timeout";
      return reason !== undefined;
    },
    stopped: () => reason,
    grace(ms: number): void {
      graceUntil = clock.monotonic() + ms;
    },
    offClock<T>(work: () => T): T {
      if (offFrom !== undefined) return work();
      const from = clock.monotonic();
      offFrom = from;
      Atomics.store(shared, SHARED.offClock, 1);
      try {
        return work();
      } finally {
        offMs += clock.monotonic() - from;
        offFrom = undefined;
        Atomics.store(shared, SHARED.offClockMs, Math.ceil(offMs));
        Atomics.store(shared, SHARED.offClock, 0);
      }
    },
    ignoringCancel<T>(work: () => T): T {
      const cancelled = Atomics.exchange(shared, SHARED.cancel, 0);
      try {
        return work();
      } finally {
        Atomics.store(shared, SHARED.cancel, cancelled);
      }
    },
    sliceMs: () => clock.monotonic() - startedAt,
    monotonic: () => clock.monotonic(),
  };
}
