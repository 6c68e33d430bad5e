/** The result of the work, or a rejection with `reason` as soon as the signal aborts. The work itself goes on. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal, reason: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(reason());
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
