/** Lets at most `limit` pieces of work run at once; the rest waits in order. */
export interface Gate {
  /** undefined where the signal aborts before the work began. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined>;
}

export function openGate(limit: number): Gate {
  let running = 0;
  const waiting: (() => void)[] = [];
  return {
    async run(signal, work) {
      while (running >= limit && !signal.aborted) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      }
      if (signal.aborted) return undefined;
      running++;
      try {
        return await work();
      } finally {
        running--;
        waiting.shift()?.();
      }
    },
  };
}
