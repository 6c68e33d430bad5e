import { monotonicMs } from "../../../runtime/index.ts";
import { inLine } from "../../platform/visible.ts";
import type { Output, Style } from "./terminal.ts";

/** Time as a status line needs it. */
export type StatusClock = typeof processClock;

export const processClock = {
  /** ms, monotonic. */
  now: monotonicMs,
  /**
   * Calls again and again, that many ms apart, until the function that it returns is called; does
   * not keep the process alive.
   */
  every(ms: number, work: () => void) {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  },
};

/** The time until the first line, and the least time between two lines, ms. */
export interface Pace {
  readonly first: number;
  readonly step: number;
}

const AT_ONCE: Pace = { first: 0, step: 0 };

interface StatusOptions {
  /** `json`: each line is an object, and none is rewritten. */
  readonly as: "text" | "json" | "quiet";
  readonly onTerminal?: Pace;
  readonly elsewhere?: Pace;
  /**
   * True if a text that comes too early is printed later: a log does not end with what is no longer
   * true.
   */
  readonly isKept?: boolean;
}

/**
 * A line on stderr that shows how work stands. A terminal has one line that is rewritten; elsewhere
 * a line is printed now and then.
 */
export function openStatusLine(output: Output, clock: StatusClock, asked: StatusOptions) {
  const { as, isKept = false } = asked;
  const isRewritten = output.isTerminal && as === "text";
  const { first, step } = (isRewritten ? asked.onTerminal : asked.elsewhere) ?? AT_ONCE;
  let dueAt = clock.now() + first;
  let onLine = false;
  let hasPrinted = false;
  let newest = "";
  let unprinted: { readonly text: string; readonly json: object } | null = null;
  let callOff = () => {};

  /** Takes the line away, so that something else can be written. The next `show` brings it back. */
  function clear(): void {
    if (onLine) output.writeRaw(CLEAR_LINE);
    onLine = false;
  }

  function print(): void {
    if (!unprinted) return;
    const { text, json } = unprinted;
    forget();
    dueAt = clock.now() + step;
    // A log does not say the same twice.
    if (hasPrinted && !isRewritten && as === "text" && text === newest) return;
    hasPrinted = true;
    newest = text;
    if (as === "json") output.json(json);
    else if (isRewritten) {
      output.writeRaw(CLEAR_LINE);
      output.write(inLine(text).slice(0, output.columns - 1), "dim");
      onLine = true;
    } else output.line(text);
  }

  function forget(): void {
    unprinted = null;
    callOff();
    callOff = () => {};
  }

  return {
    clear,
    /** Begins something new: the time until its first line runs from now. */
    begin(): void {
      forget();
      dueAt = clock.now() + first;
      hasPrinted = false;
    },
    /** The first line of what has begun comes within so many ms. */
    hurry(ms: number): void {
      if (!hasPrinted) dueAt = Math.min(dueAt, clock.now() + ms);
    },
    /** @param json the same for programs */
    show(text: string, json: object = {}): void {
      if (as === "quiet") return;
      const isFirst = unprinted === null;
      unprinted = { text, json };
      const wait = dueAt - clock.now();
      if (isRewritten || !isKept) {
        if (wait <= 0) print();
      } else if (isFirst) callOff = clock.every(Math.max(0, wait), print);
    },
    /** Prints a sentence that stays. */
    say(text: string, style?: Style): void {
      if (as === "quiet") return;
      clear();
      if (as === "json") output.json({ kind: "said", text });
      else output.line(text, style);
    },
    /**
     * Takes the line away. Elsewhere it prints the last text, if that was left out and another one
     * was printed.
     */
    end(): void {
      clear();
      if (!isRewritten && hasPrinted) print();
      forget();
    },
  };
}

const CLEAR_LINE = "\r\x1b[K";
