import { RlmError } from "../index.ts";
import { showFailure } from "./show.ts";
import { onSignals } from "./stop.ts";
import type { Terminal } from "./terminal.ts";

/** What keys and signals do to a REPL, and the work that they interrupt. */
export interface Control extends Disposable {
  /** Set once something has asked the REPL to end. */
  readonly exitCode: number | undefined;
  /** Runs work that Ctrl-C cancels. An RlmError goes to stderr, and undefined is given. */
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined>;
  /** Ctrl-C: cancels what runs; a second time, ends the process. */
  interrupt(): void;
  /** Ends the REPL with this exit code; a second time, the process. */
  end(exitCode: number): void;
  /** Who reads the input says what Ctrl-C means where nothing runs, and how to stop reading. */
  attach(reader: { interrupted(): void; stop(): void }): void;
}

export function openControl(terminal: () => Terminal): Control {
  let running: AbortController | undefined;
  let exitCode: number | undefined;
  // Until there is a prompt to go back to, Ctrl-C ends the REPL.
  let reader = { interrupted: () => end(130), stop() {} };
  let isReading = false;
  const signals = onSignals((code) => (code === 130 ? interrupt() : end(code)));

  function interrupt(): void {
    if (running?.signal.aborted) process.exit(130);
    if (running && isReading) running.abort();
    else reader.interrupted();
  }

  function end(code: number): void {
    if (exitCode !== undefined) process.exit(code);
    exitCode = code;
    running?.abort();
    reader.stop();
  }

  return {
    get exitCode() {
      return exitCode;
    },
    async run(work) {
      running = new AbortController();
      try {
        return await work(running.signal);
      } catch (error) {
        if (!(error instanceof RlmError)) throw error;
        if (exitCode !== 0) showFailure(error, terminal());
        return undefined;
      } finally {
        running = undefined;
      }
    },
    interrupt,
    end,
    attach(attached) {
      reader = attached;
      isReading = true;
    },
    [Symbol.dispose]: () => signals[Symbol.dispose](),
  };
}
