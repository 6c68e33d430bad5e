import { LIMITS } from "../../../runtime/index.ts";
import { failure, type RequestBudget } from "../../model/index.ts";
import { whenAborted } from "../../platform/signals.ts";

/**
 * Places that a session and all its children share: places for requests to models, and for the guests of children. A call
 * that waits for a guest's place holds only places of the levels above. A call that has a request's place waits for the
 * budget alone. So no two calls wait for each other.
 */
export interface Places {
  /** Held from before a request is reserved until it is answered; never while a call waits to be sent again. */
  readonly requests: Limiter;
  /** Held by a child of this depth (from 1) for as long as it has a guest. */
  guests(depth: number): Limiter;
}

/** @param concurrency requests in flight at once, of all levels */
export function openTreePlaces(concurrency: number): Places {
  const levels = new Map<number, Limiter>();
  return {
    requests: openLimiter(concurrency),
    guests(depth) {
      const level = levels.get(depth) ?? openLimiter(LIMITS.guestsPerLevel);
      levels.set(depth, level);
      return level;
    },
  };
}

/** A budget of which each request also takes a place. The first request has `first`, if that was taken before. */
export function withPlaces(budget: RequestBudget, requests: Limiter, first?: Disposable): RequestBudget {
  let next = first;
  return {
    ...budget,
    async reserve(estimate, signal) {
      const place = next ?? (await requests.take(signal));
      next = undefined;
      if (!place) return failure("cancelled", "the call was cancelled");
      const held = await budget.reserve(estimate, signal);
      if (!("settle" in held)) {
        place[Symbol.dispose]();
        return held;
      }
      return {
        ...held,
        settle(usage) {
          held.settle(usage);
          place[Symbol.dispose]();
        },
      };
    },
  };
}

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
