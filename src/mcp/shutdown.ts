import { WORK_ON } from "../platform/signals.ts";

/** The end of the server. What runs stops where it is, and a later process finishes it. */
export interface Shutdown {
  /** Aborted first of all when the client goes away or the system asks the process to end. */
  readonly suspend: AbortSignal;
  /** Ends the process: waits a little for what is written, then exits with code 0. */
  leave(): void;
  /** Registers a part that is closed before the process ends. */
  after(close: () => Promise<void>): undefined;
}

/** Parts that a test replaces. */
interface ShutdownParts {
  exit(code: number): void;
  on(signal: NodeJS.Signals, handle: () => void): void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * A client kills what is not gone by then. All that counts is in the store, so that nothing is
 * lost.
 */
const LEAVE_MS = 300;

/**
 * Listens for signals from now on: before the client's end is told to requests, `suspend` must have
 * been aborted.
 */
export function openShutdown(parts: ShutdownParts): Shutdown {
  const suspend = new AbortController();
  const closing: (() => Promise<void>)[] = [];
  /** Ends the process: waits a little for what is written, then exits with code 0. */
  function leave(): void {
    if (suspend.signal.aborted) return;
    suspend.abort(WORK_ON);
    const exit = () => parts.exit(0);
    setTimeout(exit, LEAVE_MS);
    void Promise.allSettled(closing.map((close) => close())).then(exit);
  }
  for (const signal of SIGNALS) parts.on(signal, leave);
  return {
    suspend: suspend.signal,
    leave,
    after: (close) => void closing.push(close),
  };
}
