import type { Clock } from "../../runtime/index.ts";
import { amount, elapsed, priced, size } from "../platform/figures.ts";
import { inLine } from "../platform/visible.ts";
import type { SessionEvent } from "../session/index.ts";

/** The state of a running call. */
export interface Tally {
  /** The tool. */
  readonly name: string;
  /** Wall time, ms. */
  readonly elapsed_ms: number;
  /** The turn of an ask. */
  readonly turn: Extract<SessionEvent, { kind: "turn" }> | null;
  /** Sub-calls of the cell that runs. */
  readonly calls: Extract<SessionEvent, { kind: "calls" }> | null;
  readonly load: Extract<SessionEvent, { kind: "load" }> | null;
  readonly notice: string | null;
}

/** `turn 3 of 20 · 7 of 9 sub-calls · 18,412 tokens · $0.03`, at most 200 characters. */
export function progressMessage({ name, elapsed_ms, turn, calls: counted, load, notice }: Tally): string {
  const calls = counted && counted.done + counted.running > 0 ? counted : null;
  const spent = turn ?? calls;
  const parts = [
    ...(turn ? [`turn ${turn.turn} of ${turn.of}`] : []),
    ...(calls ? [`${calls.done} of ${amount(calls.done + calls.running, "sub-call")}`] : []),
    ...(spent ? [amount(spent.tokens, "token"), ...priced(spent.cost_usd)] : []),
    ...(load && !calls ? [`${amount(load.files, "file")}`, size(load.bytes)] : []),
    ...(notice === null ? [] : [inLine(notice)]),
  ];
  const line = parts.length > 0 ? parts.join(" · ") : `${name} runs, ${elapsed(elapsed_ms)}`;
  return Array.from(line).slice(0, MESSAGE_CHARACTERS).join("");
}

const MESSAGE_CHARACTERS = 200;

/**
 * Notifications of one call: at most one a second, and one at least every ten seconds.
 *
 * @param send gets the number of the notification, from 1
 */
export function openProgressNotes(clock: Clock, send: (progress: number) => void) {
  let sentAt = clock.monotonic();
  let count = 0;
  let isSoon = false;
  let callOff = clock.after(LONGEST_MS, note);
  function note(): void {
    sentAt = clock.monotonic();
    isSoon = false;
    callOff = clock.after(LONGEST_MS, note);
    send(++count);
  }
  return {
    /** Something has happened. */
    tell(): void {
      if (isSoon) return;
      isSoon = true;
      callOff();
      callOff = clock.after(Math.max(0, sentAt + SHORTEST_MS - clock.monotonic()), note);
    },
    [Symbol.dispose]: () => callOff(),
  };
}

const SHORTEST_MS = 1_000;
const LONGEST_MS = 10_000;
