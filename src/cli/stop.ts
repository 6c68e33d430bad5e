import { WORK_ON } from "../platform/signals.ts";

/** Exit codes by signal: 128 + its number. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/**
 * Calls `handle` with the exit code of each signal that asks the process to end, until disposed.
 */
export function onSignals(handle: (exitCode: number) => void): Disposable {
  const handlers = Object.entries(SIGNALS).map(([signal, exitCode]) => [signal, () => handle(exitCode)] as const);
  for (const [signal, handler] of handlers) process.on(signal, handler);
  return {
    [Symbol.dispose]() {
      for (const [signal, handler] of handlers) process.off(signal, handler);
    },
  };
}

/** The one way in which a command is ended early. */
export interface Stop {
  /** Aborts what runs, for every reason. */
  readonly signal: AbortSignal;
  /** Aborts only for a signal of the system: the user may want to continue later. */
  readonly suspend: AbortSignal;
  /** Aborts when stdout cannot be written any more. */
  readonly cancel: AbortSignal;
  /** The exit code to end with, once something has asked for the end. */
  readonly exitCode: number | undefined;
  /** Ends the command, since nothing more can be written. */
  close(code: number): void;
  /** Work that the process waits for if it must end in the middle. */
  readonly leaving: Leaving;
  [Symbol.dispose](): void;
}

/** Runs a command that can be ended early. Gives the exit code. */
export async function untilStopped(work: (stop: Stop) => Promise<number>): Promise<number> {
  using stop = openStop();
  const code = await work(stop);
  // Writing to stdout fails after the fact, and by then nothing else is left to wait for.
  return stop.exitCode || code;
}

/**
 * The first signal aborts what runs, so that it is ended in order and reported; the second ends the
 * process.
 */
function openStop(): Stop {
  const any = new AbortController();
  const suspend = new AbortController();
  const cancel = new AbortController();
  const leaving = openLeaving();
  let exitCode: number | undefined;
  const ask = (code: number, why: AbortController) => {
    if (exitCode !== undefined) {
      leaving.leave(code);
      return;
    }
    exitCode = code;
    // A terminal that closes says nothing against the work.
    const reason = code === SIGNALS.SIGHUP ? WORK_ON : undefined;
    why.abort(reason);
    any.abort(reason);
  };
  const signals = onSignals((code) => ask(code, suspend));
  return {
    signal: any.signal,
    suspend: suspend.signal,
    cancel: cancel.signal,
    get exitCode() {
      return exitCode;
    },
    close: (code: number) => ask(code, cancel),
    leaving,
    [Symbol.dispose]: signals[Symbol.dispose],
  };
}

/** The end of a process in the middle of its work. */
export interface Leaving {
  /** Waits for this before the process ends: a commit in progress is finished. */
  after(work: () => PromiseLike<void>): void;
  /** Ends the process; asked again, at once. */
  leave(exitCode: number): void;
}

export function openLeaving(exit: (exitCode: number) => void = process.exit): Leaving {
  const awaited: (() => PromiseLike<void>)[] = [];
  let isLeaving = false;
  return {
    after: (work: () => PromiseLike<void>) => void awaited.push(work),
    leave(exitCode: number): void {
      if (isLeaving || awaited.length === 0) {
        exit(exitCode);
        return;
      }
      isLeaving = true;
      void Promise.allSettled(awaited.map((work) => work())).then(() => exit(exitCode));
    },
  };
}
