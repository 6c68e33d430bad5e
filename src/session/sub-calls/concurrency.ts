/** Lets at most `limit` pieces of work run at once. The others wait in order. */
export interface Limiter {
  /** Answers undefined if the signal aborts before the work has begun. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined>;
}

export function openLimiter(limit: number): Limiter {
  let running = 0;
  const waiting = new Set<() => void>();

  function turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        waiting.delete(go);
        signal.removeEventListener("abort", go);
        resolve();
      };
      waiting.add(go);
      signal.addEventListener("abort", go);
    });
  }

  return {
    async run(signal, work) {
      while (running >= limit && !signal.aborted) await turn(signal);
      if (signal.aborted) return undefined;
      running++;
      try {
        return await work();
      } finally {
        running--;
        const [next] = waiting;
        next?.();
      }
    },
  };
}
