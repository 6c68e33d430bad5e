import type { SubCallRequest } from "../../../builtins/index.ts";
import { type Clock, LIMITS } from "../../../runtime/index.ts";
import { failure, knownModel, type Models, type RequestBudget } from "../../models/index.ts";
import { joinSignals, sleep } from "../../platform/signals.ts";
import { heldByBoth, openQueue } from "./budget.ts";

/**
 * Places that a session and all its children share: places for requests to models, and for the guests of children. A call
 * that waits for a guest's place holds only places of the levels above. A call that has a request's place waits for the
 * budget alone. So no two calls wait for each other.
 */
export interface Places {
  /** Held from before a request is reserved until it is answered; never while a call waits to be sent again. */
  readonly requests: Limiter;
  /** Returns the places that children of this depth (from 1) hold for as long as they have a guest. */
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
      return heldByBoth({ settle: () => place[Symbol.dispose]() }, () => budget.reserve(estimate, signal));
    },
  };
}

/** Lets at most so many pieces of work run at once. The others wait in order. */
export interface Limiter {
  /** Takes a place, held until it is disposed of. @returns `undefined` if the signal aborts first */
  take(signal: AbortSignal): Promise<Disposable | undefined>;
  /** Does work in a place. @returns `undefined` if the signal aborts before the work has begun */
  run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined>;
  /** Raises the limit to at least this much, until what it returns is disposed of. */
  widen(width: number): Disposable;
}

export function openLimiter(limit: number): Limiter {
  let running = 0;
  const queue = openQueue();
  /** One for each caller that has asked for more. */
  const widths: number[] = [];

  function take(signal: AbortSignal): Promise<Disposable | undefined> {
    const place = () => {
      if (running >= Math.max(limit, ...widths)) return undefined;
      running++;
      return disposedOnce(() => {
        running--;
        queue.serve();
      });
    };
    return queue.wait(place, signal);
  }

  return {
    take,
    async run(signal, work) {
      using taken = await take(signal);
      return taken && !signal.aborted ? await work() : undefined;
    },
    widen(width) {
      widths.push(width);
      queue.serve();
      return disposedOnce(() => widths.splice(widths.indexOf(width), 1));
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

/** Finds the gate of a call: that of its batch, or of the session. It is left when the call has ended. */
export type GateOf = (callId: string, request: SubCallRequest) => CallGate;

interface CallGate extends Disposable {
  readonly gate: Limiter;
  /** Calls that may pass the gate at once. */
  readonly width: number;
}

export function openGates(concurrency: number): GateOf {
  const ofSession = openLimiter(concurrency);
  /** One for each batch that has calls in flight. */
  const batches = new Map<string, { readonly gate: Limiter; calls: number }>();
  return (callId, { batch }) => {
    if (batch?.max_concurrent === undefined) return { gate: ofSession, width: concurrency, [Symbol.dispose]() {} };
    const width = Math.min(batch.max_concurrent, LIMITS.maxConcurrency);
    const key = `${callId.slice(0, callId.lastIndexOf("."))}#${batch.id}`;
    const own = batches.get(key) ?? { gate: openLimiter(width), calls: 0 };
    own.calls += 1;
    batches.set(key, own);
    return {
      gate: own.gate,
      width,
      [Symbol.dispose]() {
        own.calls -= 1;
        if (own.calls === 0) batches.delete(key);
      },
    };
  };
}

/** Calls under way that begin with the same text. */
interface Fan {
  /** The text that all of them begin with: system prompt and prompt. */
  beginning: string;
  calls: number;
  /** Aborts when the answer of the call that went ahead begins, or when that call has ended. null: none has gone. */
  ahead: AbortSignal | null;
}

/** One call of a fan. It leaves the fan when it is disposed of. */
export interface Led extends Disposable {
  /** Resolves when the call may be sent: at once for the first and for one that is alone. The signal ends the wait. */
  turn(signal: AbortSignal): Promise<void>;
  /** UTF-16 units of the prompt that the others begin with too. undefined: there are no others, or they have another system prompt. */
  shared(): number | undefined;
  /** The answer of the call begins. */
  begun(): void;
}

/**
 * Lets one of several calls with a long beginning in common go ahead. The others are sent when its answer begins: from then on
 * the provider has the beginning in its cache. They wait for a bounded time, and no longer than that call lasts.
 */
export function openLeads(models: Models, clock: Clock): (request: SubCallRequest) => Led | undefined {
  const fans = new Map<string, Fan>();
  return ({ prompt, system = "", model = null, tools, schema }) => {
    const text = `${system}\n${prompt}`;
    if (text.length < LIMITS.leadUnits || !knownModel(models, model)?.caches) return undefined;
    const key = JSON.stringify([model, tools, schema, text.slice(0, LIMITS.leadUnits)]);
    const fan = fans.get(key) ?? { beginning: text, calls: 0, ahead: null };
    const beginning = commonBeginning(fan.beginning, text);
    // The cache gives the prefix of the call ahead only if it is sent unchanged.
    if (fan.ahead !== null && beginning !== fan.beginning) return undefined;
    fan.beginning = beginning;
    fan.calls += 1;
    fans.set(key, fan);
    const own = new AbortController();
    return {
      async turn(signal) {
        if (fan.calls < 2) return;
        if (fan.ahead === null) {
          fan.ahead = own.signal;
          return;
        }
        using either = joinSignals(signal, fan.ahead);
        await sleep(clock, LIMITS.leadMs, either.signal);
      },
      shared() {
        const units = fan.beginning.length - system.length - 1;
        return fan.calls < 2 || units < 0 ? undefined : units;
      },
      begun: () => own.abort(),
      [Symbol.dispose]() {
        own.abort();
        fan.calls -= 1;
        if (fan.calls === 0) fans.delete(key);
      },
    };
  };
}

/** The text that both begin with. No character is cut in two. */
function commonBeginning(one: string, other: string): string {
  if (other.startsWith(one)) return one;
  let units = 0;
  while (one.charCodeAt(units) === other.charCodeAt(units)) units += 1;
  const isHalf = /[\uD800-\uDBFF]/.test(one.charAt(units - 1));
  return one.slice(0, isHalf ? units - 1 : units);
}
