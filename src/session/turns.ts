import { setImmediate } from "node:timers";
import { RlmError } from "../../runtime/index.ts";

/** The work of one session: one piece at a time, in the order in which it was asked for. */
export interface Turns {
  /** Begins when all earlier work is done. Rejects with RlmError `session_closed` after `close`. */
  take<T>(work: () => Promise<T>): Promise<T>;
  /** Takes no more work and waits for what was taken. @returns true for the first call */
  close(): Promise<boolean>;
}

/** @param onIdle called whenever the last piece that was asked for is done */
export function openTurns(onIdle: () => void): Turns {
  let queue: Promise<unknown> = Promise.resolve();
  let queued = 0;
  let closed = false;
  return {
    take(work) {
      if (closed) {
        const suggestion = "Open another session with openSession().";
        return Promise.reject(new RlmError("session_closed", "the session is closed", { suggestion }));
      }
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

/** The number of pieces of work that begin in one turn of the event loop: some ms of it. */
const PER_TURN = 16;

const waiting: (() => void)[] = [];
let left = PER_TURN;
let isCounting = false;

/**
 * Resolves when a piece of work may begin: at once, or in a later turn of the event loop if many ask together. Whatever
 * number of sessions begins something at the same time, other work of the process gets its turn in between.
 */
export async function pace(): Promise<void> {
  count();
  if (left > 0) left--;
  else await new Promise<void>((resolve) => waiting.push(resolve));
}

function count(): void {
  if (isCounting) return;
  isCounting = true;
  setImmediate(nextTurn);
}

function nextTurn(): void {
  isCounting = false;
  const due = waiting.splice(0, PER_TURN);
  left = PER_TURN - due.length;
  for (const begin of due) begin();
  if (due.length > 0) count();
}
