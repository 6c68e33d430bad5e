import { RlmError } from "../../index.ts";
import { showFailure } from "../render/failure.ts";
import type { Terminal } from "../render/terminal.ts";
import { type Leaving, onSignals, openLeaving } from "../stop.ts";

/** Keys and signals of a REPL, and the work that they interrupt. */
export interface Control {
  /** Set once something has asked the REPL to end. */
  readonly exitCode: number | undefined;
  /** Runs work that Ctrl-C cancels. An RlmError goes to stderr, and undefined is given. */
  run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined>;
  /** Ctrl-C: cancels what runs; a second time, ends the process. */
  interrupt(): void;
  /** Ends the REPL with this exit code; a second time, the process. */
  end(code: number): void;
  /** Work that the process waits for if it must end in the middle. */
  readonly leaving: Leaving;
  /** The reader of the input says what Ctrl-C does while nothing runs, and how to stop reading. */
  attach(attached: Reader): void;
  [Symbol.dispose](): void;
}

/** The reader of the input, as keys and signals steer it. */
interface Reader {
  /** Ctrl-C while nothing runs. */
  interrupted(): void;
  /** Reads no further. */
  stop(): void;
}

export function openControl(terminal: () => Terminal): Control {
  let running: AbortController | undefined;
  let exitCode: number | undefined;
  const leaving = openLeaving();
  // Until there is a prompt to go back to, Ctrl-C ends the REPL.
  let reader: Reader = { interrupted: () => end(130), stop() {} };
  let isReading = false;
  const signals = onSignals((code) => (code === 130 ? interrupt() : end(code)));

  /** Ctrl-C: cancels what runs; a second time, ends the process. */
  function interrupt(): void {
    if (running?.signal.aborted) leaving.leave(130);
    else if (running && isReading) running.abort();
    else reader.interrupted();
  }

  /** Ends the REPL with this exit code; a second time, the process. */
  function end(code: number): void {
    if (exitCode !== undefined) {
      leaving.leave(code);
      return;
    }
    exitCode = code;
    running?.abort();
    reader.stop();
  }

  return {
    get exitCode() {
      return exitCode;
    },
    async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
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
    leaving,
    attach(attached: Reader): void {
      reader = attached;
      isReading = true;
    },
    [Symbol.dispose]: signals[Symbol.dispose],
  };
}
