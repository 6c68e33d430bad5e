import { setImmediate } from "node:timers";

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
