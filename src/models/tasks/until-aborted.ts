import { onceAborted } from "../../platform/signals.ts";

/** The result of the work, or a rejection with `reason` as soon as the signal aborts. The work itself goes on. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal, reason: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const callOff = onceAborted(signal, () => reject(reason()));
  try {
    return await Promise.race([promise, work]);
  } finally {
    callOff();
  }
}
