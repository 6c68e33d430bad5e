const EVERY_MS = 10;

/** Sees what work takes of the process: the most resident memory, and how late the main loop is. */
export function openWatch() {
  const delays: number[] = [];
  let rssBytes = 0;
  const look = () => {
    rssBytes = Math.max(rssBytes, process.memoryUsage.rss());
  };
  return {
    async during<T>(run: () => Promise<T>): Promise<T> {
      look();
      let due = performance.now() + EVERY_MS;
      const timer = setInterval(() => {
        look();
        delays.push(performance.now() - due);
        due = performance.now() + EVERY_MS;
      }, EVERY_MS);
      try {
        return await run();
      } finally {
        // A block that lasts until the end is one too.
        delays.push(performance.now() - due);
        clearInterval(timer);
        look();
      }
    },
    /** The delay is the 99th percentile, ms. */
    seen() {
      const sorted = delays.toSorted((one, other) => one - other);
      return { rssBytes, delayMs: Math.max(0, sorted[Math.ceil(0.99 * sorted.length) - 1] ?? 0) };
    },
  };
}
