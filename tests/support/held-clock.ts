import { type Clock, systemClock } from "../../runtime/index.ts";

/** The system's clock, but timers of such times go off when the test lets time pass. */
export function heldClock(isHeld: (ms: number) => boolean = () => true) {
  const held = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    after(ms, run) {
      if (!isHeld(ms)) return systemClock.after(ms, run);
      held.add(run);
      return () => void held.delete(run);
    },
  };
  return {
    clock,
    pass() {
      const due = [...held];
      held.clear();
      for (const run of due) run();
    },
  };
}
