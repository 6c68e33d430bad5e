/** A few things that many tests take in turn. */
export interface Pool<T> {
  /** Runs work with one that is free, once there is one. */
  use<R>(work: (item: T) => Promise<R>): Promise<R>;
}

export function openPool<T>(items: readonly T[]): Pool<T> {
  const free = [...items];
  const waiting: ((item: T) => void)[] = [];
  return {
    async use(work) {
      const item = free.pop() ?? (await new Promise<T>((resolve) => waiting.push(resolve)));
      try {
        return await work(item);
      } finally {
        const next = waiting.shift();
        if (next) next(item);
        else free.push(item);
      }
    },
  };
}
