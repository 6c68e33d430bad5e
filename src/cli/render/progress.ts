import type { CallProgress, Progress } from "../../index.ts";
import { amount, megabytes } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { turnLine } from "./ask.ts";
import { type CallsTaken, callLine } from "./calls.ts";
import type { Output } from "./terminal.ts";
import { openTurnLines } from "./turn-lines.ts";

/** Says on stderr what takes long, and keeps count of sub-calls. */
export interface ProgressLine {
  /** Something that may take long begins: a load of this source, or a cell. */
  begin(source?: string): void;
  report(progress: Progress): void;
  /** Takes the line away, so that something else can be written. The next report brings it back. */
  clear(): void;
  /**
   * Takes the line away before other output; tells what sub-calls took since `begin`, or null if there were none.
   *
   * @param isOver false: what was begun is suspended, so that its newest turn has no line yet. Default: true
   */
  end(isOver?: boolean): CallsTaken | null;
  /** A context was loaded: what the session has spent is nothing again. */
  reset(): void;
}

/** Time as progress needs it. */
export interface ProgressClock {
  /** ms, monotonic. */
  now(): number;
  /** Calls again and again, that many ms apart, until what it gives is called; does not keep the process alive. */
  every(ms: number, work: () => void): () => void;
}

export const processClock: ProgressClock = {
  now: () => performance.now(),
  every(ms, work) {
    const timer = setInterval(work, ms).unref();
    return () => clearInterval(timer);
  },
};

/** When the first word is said, and how far apart the others are, ms. */
const ON_TERMINAL = { first: 1000, step: 100 };
const ELSEWHERE = { first: 3000, step: Number.POSITIVE_INFINITY };
/** The seconds go on while all sub-calls are waited for. */
const TICK_MS = 1000;

/**
 * Speaks on a terminal after a second, in one line that is rewritten; of an ask each turn that is over keeps a line. Elsewhere what takes three seconds has a first line
 * then, and a last one when it ends: a log does not fill with what is over.
 */
export function openProgress(output: Output, { now, every }: ProgressClock): ProgressLine {
  let beganAt = now();
  let saidAt = Number.NEGATIVE_INFINITY;
  let source = "";
  let onLine = false;
  /** Not said yet, and the last word if nothing follows. */
  let unsaid: string | null = null;
  let calls: CallProgress | undefined;
  let stopTicking = () => {};
  const turns = openTurnLines();
  const counted = openCount(now);

  function say(text: string): void {
    const at = now();
    const { first, step } = output.isTerminal ? ON_TERMINAL : ELSEWHERE;
    unsaid = text;
    if (at - beganAt < first || at - saidAt < step) return;
    saidAt = at;
    unsaid = null;
    if (!output.isTerminal) {
      output.write(`${inLine(text)}\n`);
      return;
    }
    output.writeRaw("\r\x1b[K");
    output.write(inLine(text).slice(0, output.columns - 1), "dim");
    onLine = true;
  }

  function clear(): void {
    if (onLine) output.writeRaw("\r\x1b[K");
    onLine = false;
  }

  function keepLines(lines: readonly string[]): void {
    if (lines.length === 0 || !output.isTerminal) return;
    clear();
    for (const line of lines) output.write(`${line}\n`, "dim");
  }

  return {
    clear,
    begin(of = "") {
      beganAt = now();
      saidAt = Number.NEGATIVE_INFINITY;
      unsaid = null;
      source = of;
      counted.begin();
    },
    report(progress) {
      if (progress.kind === "notice") return say(progress.text);
      if (progress.kind === "load") {
        return say(`loading ${source}: ${amount(progress.files, "file")}, ${megabytes(progress.bytes)}`);
      }
      if (progress.kind === "turn") {
        // The calls of the cell before are over.
        stopTicking();
        calls = undefined;
        keepLines(turns.after(progress));
        return say(turnLine(progress));
      }
      counted.report(progress);
      const tell = () => calls && say(callLine(calls, now() - beganAt));
      if (!calls) stopTicking = every(TICK_MS, tell);
      calls = progress;
      tell();
    },
    end(isOver = true) {
      stopTicking();
      calls = undefined;
      clear();
      if (isOver) keepLines(turns.rest());
      if (!output.isTerminal && unsaid !== null && saidAt > beganAt) output.write(`${inLine(unsaid)}\n`);
      unsaid = null;
      return counted.end();
    },
    reset: counted.reset,
  };
}

/** For --quiet: nothing is said, sub-calls are counted. */
export function quietProgress({ now }: ProgressClock): ProgressLine {
  const { report, ...count } = openCount(now);
  return { ...count, clear() {}, report: (progress) => progress.kind === "calls" && report(progress) };
}

/** Takes the difference between what the session had spent before and has spent now. */
function openCount(now: () => number) {
  let spent = NOTHING;
  let beganAt = now();
  let latest: CallProgress | undefined;
  return {
    begin() {
      beganAt = now();
    },
    report(progress: CallProgress) {
      // The first call of a cell shows what earlier processes of the session had spent.
      if (!latest && progress.done === 0) spent = { tokens: progress.tokens, cost_usd: progress.cost_usd };
      latest = progress;
    },
    end(): CallsTaken | null {
      if (!latest) return null;
      const { done, running, tokens, cost_usd } = latest;
      const taken = { tokens: tokens - spent.tokens, cost_usd: cost_usd - spent.cost_usd };
      spent = { tokens, cost_usd };
      latest = undefined;
      return { done, unfinished: running, ...taken, elapsed: now() - beganAt };
    },
    reset() {
      spent = NOTHING;
    },
  };
}

const NOTHING = { tokens: 0, cost_usd: 0 };
