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
export interface Stop extends Disposable {
  /** Aborts what runs. */
  readonly signal: AbortSignal;
  /** With what exit code to end, once it was asked for. */
  readonly exitCode: number | undefined;
  ask(exitCode: number): void;
}

/** Runs a command that can be ended early. Gives the exit code. */
export async function untilStopped(work: (stop: Stop) => Promise<number>): Promise<number> {
  using stop = openStop();
  const code = await work(stop);
  // Writing to stdout fails after the fact, and by then nothing else is left to wait for.
  return stop.exitCode || code;
}

/** The first signal aborts what runs, so that it is cancelled and reported; the second ends the process. */
function openStop(): Stop {
  const controller = new AbortController();
  let exitCode: number | undefined;
  const ask = (code: number) => {
    if (exitCode !== undefined) process.exit(code);
    exitCode = code;
    controller.abort();
  };
  const signals = onSignals(ask);
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    ask,
    [Symbol.dispose]: () => signals[Symbol.dispose](),
  };
}
