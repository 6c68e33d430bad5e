import type { Clock } from "../../../runtime/index.ts";

/** A clock that stands still during some waits, which have nothing to do with the time that it measures. */
export interface StandingClock extends Clock {
  /** Does work during which the clock stands still. */
  paused<T>(work: () => Promise<T>): Promise<T>;
}

export function openStandingClock(clock: Clock): StandingClock {
  /** For how long the time has stood still, ms, since when it does now, and for how many waits. */
  let stood = 0;
  let since: number | null = null;
  let waits = 0;
  let going = Promise.withResolvers<void>();
  const monotonic = () => (since ?? clock.monotonic()) - stood;
  return {
    now: clock.now,
    monotonic,
    after(ms: number, run: () => void): () => void {
      const until = monotonic() + ms;
      let isOff = false;
      let stoodThen = stood;
      let callOff = clock.after(ms, due);
      function due(): void {
        if (isOff) return;
        if (since !== null) return void going.promise.then(due);
        const left = stood === stoodThen ? 0 : until - monotonic();
        stoodThen = stood;
        if (left > 0) callOff = clock.after(left, due);
        else run();
      }
      return () => {
        isOff = true;
        callOff();
      };
    },
    async paused<T>(work: () => Promise<T>): Promise<T> {
      since ??= clock.monotonic();
      waits += 1;
      try {
        return await work();
      } finally {
        waits -= 1;
        if (waits === 0) {
          stood += clock.monotonic() - since;
          since = null;
          going.resolve();
          going = Promise.withResolvers();
        }
      }
    },
  };
}
