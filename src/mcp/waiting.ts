import type { Clock } from "../../runtime/index.ts";

/** A call that waits for its turn. One of the two is called, once. */
export interface WaitingCall {
  begin(): void;
  /** It is answered now, and begins nothing. */
  refuse(): void;
}

/** Calls that wait, in their order. */
export interface Waiting {
  /** Adds one. It is refused when the time is over, ms, or the signal aborts. */
  add(call: WaitingCall, ms: number, signal: AbortSignal): void;
  /** Begins the next one in this tick, so that no other call takes the same turn. */
  next(): void;
  refuseAll(): void;
}

export function openWaiting(clock: Clock): Waiting {
  const waiting = new Set<WaitingCall>();
  return {
    add({ begin, refuse }, ms, signal) {
      const leave = () => {
        waiting.delete(own);
        callOff();
        signal.removeEventListener("abort", own.refuse);
      };
      const own: WaitingCall = {
        begin() {
          leave();
          begin();
        },
        refuse() {
          leave();
          refuse();
        },
      };
      const callOff = afterMs(clock, ms, own.refuse);
      signal.addEventListener("abort", own.refuse, { once: true });
      waiting.add(own);
    },
    next() {
      const [next] = waiting;
      next?.begin();
    },
    refuseAll() {
      for (const call of [...waiting]) call.refuse();
    },
  };
}

/** Acts after so many ms; Infinity: never. Returns a function that cancels it. */
export function afterMs(clock: Clock, ms: number, act: () => void): () => void {
  return ms === Number.POSITIVE_INFINITY ? () => {} : clock.after(Math.max(0, ms), act);
}
