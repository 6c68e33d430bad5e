/** Exit codes by signal: 128 + its number. */
const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** Calls `handle` with the exit code of each signal that asks the process to end, until disposed. */
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
export type Stop = ReturnType<typeof openStop>;

/** Runs a command that can be ended early. Gives the exit code. */
export async function untilStopped(work: (stop: Stop) => Promise<number>): Promise<number> {
  using stop = openStop();
  const code = await work(stop);
  // Writing to stdout fails after the fact, and by then nothing else is left to wait for.
  return stop.exitCode || code;
}

/** The first signal aborts what runs, so that it is ended in order and reported; the second ends the process. */
function openStop() {
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
    why.abort();
    any.abort();
  };
  const signals = onSignals((code) => ask(code, suspend));
  return {
    /** Aborts what runs, for every reason. */
    signal: any.signal,
    /** Aborts only for a signal of the system: the user may want to go on later. */
    suspend: suspend.signal,
    /** Aborts when stdout cannot be written any more. */
    cancel: cancel.signal,
    /** The exit code to end with, once something has asked for the end. */
    get exitCode() {
      return exitCode;
    },
    /** Ends the command, since nothing more can be written. */
    close: (code: number) => ask(code, cancel),
    /** Work that the process waits for if it must end in the middle. */
    leaving,
    [Symbol.dispose]: signals[Symbol.dispose],
  };
}

/** The end of a process in the middle of its work. */
export function openLeaving(exit: (exitCode: number) => void = process.exit) {
  const awaited: (() => PromiseLike<void>)[] = [];
  let isLeaving = false;
  return {
    /** Waits for this before the process ends: a commit in progress is finished. */
    after: (work: () => PromiseLike<void>) => void awaited.push(work),
    /** Ends the process; asked again, at once. */
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
