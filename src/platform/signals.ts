import type { Clock } from "../../runtime/index.ts";

/**
 * Like `AbortSignal.any`, for work that ends. Node keeps a signal of `any` that has a listener until one of its sources aborts.
 * It keeps all that the listener refers to, so a session that ended well would stay in memory.
 */
export function joinSignals(...sources: readonly (AbortSignal | undefined)[]) {
  const joined = new AbortController();
  const callOffs: (() => void)[] = [];
  for (const source of sources) {
    if (source) callOffs.push(onceAborted(source, () => joined.abort(source.reason)));
  }
  return {
    signal: joined.signal,
    [Symbol.dispose]() {
      for (const callOff of callOffs) callOff();
    },
  };
}

/**
 * The reason of an abort after which agents of the user's work on: a later process takes their
 * answers. After any other abort they are ended.
 */
export const WORK_ON = "work on";

/** Those who wait for a signal, which has one listener for all of them. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `run` when the signal aborts, until the answer is called. Node compares each listener that is added to a signal or removed
 * with all that are there, so that a thousand calls at once would take a million looks.
 */
export function whenAborted(signal: AbortSignal, run: () => void): () => void {
  const own = () => run();
  const all = waiting.get(signal) ?? new Set<() => void>();
  if (all.size === 0) signal.addEventListener("abort", tell);
  waiting.set(signal, all.add(own));
  return () => {
    if (all.delete(own) && all.size === 0) forget(signal);
  };
}

/** The same, and at once for a signal that has aborted already. */
export function onceAborted(signal: AbortSignal, run: () => void): () => void {
  if (!signal.aborted) return whenAborted(signal, run);
  run();
  return () => {};
}

function forget(signal: AbortSignal): void {
  waiting.delete(signal);
  signal.removeEventListener("abort", tell);
}

function tell({ target }: Event): void {
  if (!(target instanceof AbortSignal)) return;
  const all = waiting.get(target) ?? [];
  forget(target);
  for (const run of all) run();
}

/** Resolves when the signal aborts, at once if it already has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onceAborted(signal, resolve));
}

/** The result of the work, or a rejection with `reason` as soon as the signal aborts. The work itself continues. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal, reason: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const callOff = onceAborted(signal, () => reject(reason()));
  try {
    return await Promise.race([promise, work]);
  } finally {
    callOff();
  }
}

/** Timers hold no more. */
const LONGEST_MS = 2 ** 31 - 1;

/** Calls `end` once, when so many ms have passed or the signal aborts, unless the answer is disposed before. */
export function endInTime(
  ms: number,
  signal: AbortSignal | undefined,
  end: (by: "time" | "signal") => void,
): Disposable {
  let callOff = () => {};
  const timer = setTimeout(finish, Math.min(ms, LONGEST_MS), "time");

  function release(): void {
    clearTimeout(timer);
    callOff();
  }

  function finish(by: "time" | "signal"): void {
    release();
    end(by);
  }

  if (signal) callOff = onceAborted(signal, () => finish("signal"));
  return { [Symbol.dispose]: release };
}

/** True if the work had ended within the time, ms. */
export function settledWithin(
  work: Promise<unknown>,
  ms: number,
  clock: { after(ms: number, act: () => void): () => void },
): Promise<boolean> {
  return new Promise((resolve) => {
    const callOff = clock.after(ms, () => resolve(false));
    void work.finally(() => {
      callOff();
      resolve(true);
    });
  });
}

/** Resolves when the work has ended or the signal aborts, whichever comes first. */
export async function settledOrAborted(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  const over = Promise.withResolvers<void>();
  const callOff = signal ? onceAborted(signal, over.resolve) : () => {};
  await Promise.race([work, over.promise]).finally(callOff);
}

/** Waits by the clock; an abort ends the wait. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const callOff = clock.after(ms, () => {
      awake();
      resolve();
    });
    const awake = whenAborted(signal, () => {
      callOff();
      resolve();
    });
  });
}
