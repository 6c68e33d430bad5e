import { whenAborted } from "../../platform/signals.ts";

/** Opens a queue of attempts. The first is made again and again until it succeeds; the others wait for it. */
export function openQueue() {
  const waiting = new Set<() => boolean>();

  /** Something has changed, so that attempts may succeed. */
  function serve(): void {
    for (const isServed of waiting) {
      if (!isServed()) return;
      waiting.delete(isServed);
    }
  }

  /** Resolves with the answer of an attempt that has one; with undefined if the signal aborts first. */
  function wait<T>(attempt: () => T | undefined, signal: AbortSignal): Promise<T | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const callOff = whenAborted(signal, () => {
      waiting.delete(isServed);
      resolve(undefined);
      serve();
    });
    const isServed = () => {
      const answer = attempt();
      if (answer === undefined) return false;
      callOff();
      resolve(answer);
      return true;
    };
    waiting.add(isServed);
    if (waiting.size === 1) serve();
    return promise;
  }

  return { serve, wait };
}
