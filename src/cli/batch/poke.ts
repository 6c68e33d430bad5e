/** Waits that end when something happens. */
export interface Poke {
  /** Resolves after `ms`, when something has happened, or when the signal aborts. */
  wait(ms: number): Promise<void>;
  /** Something has happened. If nobody waits, the next wait ends at once. */
  now(): void;
}

export function openPoke(signal: AbortSignal): Poke {
  let hasHappened = false;
  let wake = () => {};
  const now = () => {
    hasHappened = true;
    wake();
  };
  signal.addEventListener("abort", now, { once: true });
  return {
    now,
    async wait(ms) {
      if (!hasHappened && !signal.aborted) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      hasHappened = false;
    },
  };
}
