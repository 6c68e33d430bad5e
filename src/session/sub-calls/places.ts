import { LIMITS } from "../../../runtime/index.ts";
import { failure, type RequestBudget } from "../../model/index.ts";
import { type Limiter, openLimiter } from "./concurrency.ts";

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
