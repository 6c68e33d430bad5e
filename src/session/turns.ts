import { RlmError } from "../../runtime/index.ts";
import { pace } from "./pace.ts";

/** The work of one session: one piece at a time, in the order in which it was asked for. */
export interface Turns {
  /** Begins when all earlier work is done. Rejects with RlmError `session_closed` after `close`. */
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Takes no more work and waits for what was taken. Answers whether this was the first call. */
  close(): Promise<boolean>;
}

/** @param onIdle called whenever the last piece that was asked for is done */
export function openTurns(onIdle: () => void): Turns {
  let queue: Promise<unknown> = Promise.resolve();
  let queued = 0;
  let closed = false;
  return {
    take(work) {
      if (closed) return Promise.reject(sessionClosed());
      queued++;
      const turn = queue
        .then(pace)
        .then(work)
        .finally(() => {
          if (--queued === 0) onIdle();
        });
      queue = turn.catch(() => {});
      return turn;
    },
    async close() {
      const isFirst = !closed;
      closed = true;
      await queue;
      return isFirst;
    },
  };
}

function sessionClosed(): RlmError {
  return new RlmError("session_closed", "the session is closed", {
    suggestion: "Open another session with openSession().",
  });
}
