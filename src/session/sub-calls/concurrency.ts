import { whenAborted } from "../../platform/signals.ts";

/** Lets at most `limit` pieces of work run at once. The others wait in order. */
export interface Limiter {
  /** Answers undefined if the signal aborts before the work has begun. */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined>;
  /** A place, held until it is disposed of; undefined if the signal aborts first. */
  take(signal: AbortSignal): Promise<Disposable | undefined>;
  /** Raises the limit to at least this much, until the answer is disposed of. */
  widen(limit: number): Disposable;
}

export function openLimiter(limit: number): Limiter {
  let running = 0;
  const waiting = new Set<() => void>();
  /** The number of callers that have asked for each width. */
  const widths = new Map<number, number>();

  function serve(): void {
    for (const go of waiting) {
      if (running >= Math.max(limit, ...widths.keys())) return;
      waiting.delete(go);
      running++;
      go();
    }
  }

  function place(): Disposable {
    return disposedOnce(() => {
      running--;
      serve();
    });
  }

  function take(signal: AbortSignal): Promise<Disposable | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const giveUp = () => {
        waiting.delete(go);
        resolve(undefined);
      };
      const callOff = whenAborted(signal, giveUp);
      const go = () => {
        callOff();
        resolve(place());
      };
      waiting.add(go);
      serve();
    });
  }

  return {
    take,
    async run(signal, work) {
      using taken = await take(signal);
      return taken && !signal.aborted ? await work() : undefined;
    },
    widen(width) {
      widths.set(width, (widths.get(width) ?? 0) + 1);
      serve();
      return disposedOnce(() => {
        const left = (widths.get(width) ?? 1) - 1;
        if (left > 0) widths.set(width, left);
        else widths.delete(width);
      });
    },
  };
}

function disposedOnce(dispose: () => void): Disposable {
  let isOver = false;
  return {
    [Symbol.dispose]() {
      if (isOver) return;
      isOver = true;
      dispose();
    },
  };
}
