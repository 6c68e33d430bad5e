import type { Clock } from "../../runtime/index.ts";

/** A clock that only the test moves. */
export interface MovedClock extends Clock {
  /** Moves the clock on, and runs what is then due, in the order of its times. */
  move(ms: number): void;
}

export function openMovedClock(): MovedClock {
  let now = 0;
  const timers = new Set<{ readonly at: number; run(): void }>();
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    move(ms) {
      const until = now + ms;
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
        if (!next) break;
        timers.delete(next);
        now = next.at;
        next.run();
      }
      now = until;
    },
  };
}
