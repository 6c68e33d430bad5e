import type { Clock } from "../../runtime/index.ts";
import { whenAborted } from "./signals.ts";

/** Waits by the clock; an abort ends the wait. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const callOff = clock.after(ms, () => {
      awake();
      resolve();
    });
    const awake = whenAborted(signal, () => {
      callOff();
      resolve();
    });
  });
}
