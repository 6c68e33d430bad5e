import type { Clock } from "../../runtime/index.ts";
import { whenAborted } from "../platform/signals.ts";

/** A call that waits for its turn. One of the two is called, once: `refuse` answers it now, and begins nothing. */
type WaitingCall = Readonly<Record<"begin" | "refuse", () => void>>;

/** Calls that wait, in their order. */
export function openWaiting(clock: Clock) {
  const waiting = new Set<WaitingCall>();
  return {
    /** Adds one. It is refused when the time is over, ms, or the signal aborts. */
    add({ begin, refuse }: WaitingCall, ms: number, signal: AbortSignal): void {
      const leaving = (act: () => void) => () => {
        waiting.delete(own);
        for (const callOff of callOffs) callOff();
        act();
      };
      const own: WaitingCall = { begin: leaving(begin), refuse: leaving(refuse) };
      const callOffs = [afterMs(clock, ms, own.refuse), whenAborted(signal, own.refuse)];
      waiting.add(own);
    },
    /** Begins the next one in this tick, so that no other call takes the same turn. */
    next(): void {
      const [next] = waiting;
      next?.begin();
    },
    refuseAll(): void {
      for (const call of [...waiting]) call.refuse();
    },
  };
}

/** Acts after so many ms; Infinity: never. Returns a function that cancels it. */
export function afterMs(clock: Clock, ms: number, act: () => void): () => void {
  return ms === Number.POSITIVE_INFINITY ? () => {} : clock.after(Math.max(0, ms), act);
}
