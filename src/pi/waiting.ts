import type { Clock } from "../../runtime/index.ts";
import { aborted } from "../platform/signals.ts";

/** True if the work had ended within the time. */
export function settledWithin(work: Promise<unknown>, ms: number, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const callOff = clock.after(ms, () => resolve(false));
    void work.finally(() => {
      callOff();
      resolve(true);
    });
  });
}

/** Resolves when the work has ended or the signal aborts: someone who aborts a call does not want to wait for another one. */
export async function settledOrAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  await Promise.race([work, ...(signal ? [aborted(signal)] : [])]);
}
