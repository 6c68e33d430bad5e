import type { LoadProgress } from "../../context/index.ts";
import type { CallNotice, CallProgress, HeldBack, ProviderWait, SessionEvent } from "../../index.ts";
import { amount, megabytes } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { heldBackText, type Wait, waitText } from "../../session/index.ts";
import { type TurnProgress, turnLine, turnOverLine, waitingLine } from "./ask.ts";
import { type CallTotals, callLine, waitsInShort } from "./calls.ts";
import { openStatusLine, type Pace, type StatusClock } from "./status-line.ts";
import type { Output, Style } from "./terminal.ts";
import { inFlags } from "./wording.ts";

/** Says on stderr what takes long, and keeps count of sub-calls. */
export interface ProgressLine {
  /** Takes the line away, so that something else can be written. The next report brings it back. */
  clear(): void;
  /** Something that may take long begins: a load of this source, or a cell. */
  begin(of?: string): void;
  /** Something happened in the session. */
  report(event: SessionEvent): void;
  /**
   * Takes the line away before other output; tells what sub-calls took since `begin`, or null if
   * there were none.
   *
   * @param isOver false: what was begun is suspended, so that its newest turn has no line yet
   */
  end(isOver?: boolean): CallTotals | null;
  /** A context was loaded: what the session has spent is nothing again. */
  reset(): void;
  /** The newest report of calls since `begin`; null: there is none. */
  newest(): CallProgress | null;
}

/** The words of a line of progress. */
interface ProgressWords {
  /** The line about calls. Default: that of cells. */
  readonly ofCalls?: (progress: CallProgress, ms: number, columns: number) => string;
  /** A line that stays for each call of a workflow that is answered. Default: there is none. */
  readonly ofAnswer?: (call: CallNotice) => string;
}

const ON_TERMINAL: Pace = { first: 1000, step: 100 };
/** A log does not fill with what has ended. */
const ELSEWHERE: Pace = { first: 3000, step: Number.POSITIVE_INFINITY };
/** The seconds continue while a model or sub-calls are waited for. */
const TICK_MS = 1000;

/**
 * On a terminal, rewrites one line, from the first second on; each turn of an ask but its last
 * keeps a line when it has ended, since the ask's own end tells the same. Elsewhere prints a first
 * line after 3 s, and a last one at the end. An ask shows at once that its model is asked;
 * elsewhere after a second.
 *
 * @param isQuiet nothing is printed, and sub-calls are counted
 */
export function openProgress(
  output: Output,
  clock: StatusClock,
  isQuiet: boolean,
  { ofCalls = callLine, ofAnswer }: ProgressWords = {},
): ProgressLine {
  const { now, every } = clock;
  const as = isQuiet ? "quiet" : "text";
  const status = openStatusLine(output, clock, { onTerminal: ON_TERMINAL, elsewhere: ELSEWHERE, as });
  let beganAt = now();
  let source = "";
  let calls: CallProgress | undefined;
  let stopTicking = () => {};
  const waitWords = openWaitWords();
  const waiting = openWaiting(output, status);
  const turns = openTurnLines();
  const counted = openCount(now);

  /** Tells each second how long the model of a turn has been waited for. */
  function wait(turn: TurnProgress): void {
    const askedAt = now();
    const tell = () => waiting.show(waitingLine(turn, now() - askedAt));
    status.hurry(output.isTerminal ? 0 : TICK_MS);
    stopTicking = every(TICK_MS, tell);
    tell();
  }

  const keepLines = (lines: readonly string[]) => output.isTerminal && sayLines(status, lines, "dim");

  return {
    clear: status.clear,
    begin(of = ""): void {
      beganAt = now();
      source = of;
      status.begin();
      counted.begin();
    },
    report(event: SessionEvent) {
      switch (event.kind) {
        case "notice":
          return status.show(event.text);
        case "load":
          if (event.texts !== undefined) status.say(diskLine(event, event.texts, source));
          return status.show(loadLine(event, source));
        case "turn":
          // The calls of the cell before have ended.
          stopTicking();
          calls = undefined;
          keepLines(turns.after(event));
          return event.phase === "asked" ? wait(event) : status.show(turnLine(event));
        case "calls": {
          counted.report(event);
          const tell = () => calls && waiting.show(ofCalls(calls, now() - beganAt, output.columns));
          if (!calls) stopTicking = every(TICK_MS, tell);
          calls = event;
          return tell();
        }
        case "call":
        case "printed":
          return sayLines(status, linesOf(event, ofAnswer));
        case "waits": {
          // The calls are the provider's: their seconds do not continue here.
          stopTicking();
          calls = undefined;
          const text = waitWords.of(event.waits);
          return text === null ? undefined : status.show(text);
        }
        case "held_back":
          return waitWords.holdBack(event.held_back);
        case "waiting":
          waiting.report(event.wait);
      }
    },
    end(isOver = true): CallTotals | null {
      stopTicking();
      calls = undefined;
      status.clear();
      if (isOver) keepLines(turns.rest());
      status.end();
      return counted.end();
    },
    reset: counted.reset,
    newest: counted.newest,
  };
}

function sayLines(to: { say(text: string, style?: Style): void }, lines: readonly string[], style?: Style): void {
  for (const line of lines) to.say(line, style);
}

/** Lines that stay: what a workflow prints for people, and its answers if they are wanted. */
function linesOf(
  event: Extract<SessionEvent, { readonly kind: "call" | "printed" }>,
  ofAnswer: ProgressWords["ofAnswer"],
): readonly string[] {
  if (event.kind === "call") return ofAnswer ? [ofAnswer(event)] : [];
  return event.stderr === "" ? [] : event.stderr.replace(/\n$/, "").split("\n");
}

/** A line about a load that goes on. */
export function loadLine({ converting, files, bytes }: LoadProgress, source: string): string {
  if (converting !== undefined) return `converting ${inLine(converting)} …`;
  return `loading ${source || "the context"}: ${amount(files, "file")}, ${megabytes(bytes)}`;
}

/** A line about the disk. The size of a folder is known when all of it is read. */
export function diskLine(
  { bytes, isPart = false }: Pick<LoadProgress, "bytes" | "isPart">,
  texts: string,
  source: string,
): string {
  const size = `${isPart ? "at least " : ""}${megabytes(bytes)}`;
  return `${inLine(source || "the context")}: its text takes ${size} of disk, in ${inLine(texts)}`;
}

/** The line of progress, as waits use it. */
interface WaitingLine {
  /** Prints a line of its own. */
  say(text: string): void;
  /** Shows how work stands. */
  show(text: string): void;
}

/**
 * The words for a server that is away, and for a first token that is late. A log gets them once.
 */
function openWaiting({ isTerminal }: Output, { say, show }: WaitingLine) {
  let newest: Wait | null = null;
  return {
    report(wait: Wait | null): void {
      const isNew = wait !== null && wait.of !== newest?.of;
      newest = wait;
      if (isNew && !isTerminal) say(waitText(wait));
    },
    /** Shows a line, on a terminal with these words before it. */
    show: (text: string) => show(newest && isTerminal ? `${waitText(newest)} · ${text}` : text),
  };
}

/** The words for what providers keep, and for the calls that this holds back. */
function openWaitWords() {
  let heldBack = "";
  return {
    holdBack(held: HeldBack): void {
      heldBack = ` · ${inFlags(heldBackText(held))}`;
    },
    /** null: their answers are there. */
    of(waits: readonly ProviderWait[]): string | null {
      if (waits.length > 0) return `${waitsInShort(waits, Date.now())}${heldBack}`;
      heldBack = "";
      return null;
    },
  };
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
    end(): CallTotals | null {
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
    newest: () => latest ?? null,
  };
}

const NOTHING = { tokens: 0, cost_usd: 0 };

/** The turns of an ask and of the children below it. Each has a line when it has ended. */
export function openTurnLines() {
  /** The newest turn of each session, by its path, once its model has replied. */
  const newest = new Map<string, TurnProgress>();

  function over(isOver: (path: string) => boolean): string[] {
    const done = [...newest].filter(([path]) => isOver(path)).sort(([, a], [, b]) => b.depth - a.depth);
    for (const [path] of done) newest.delete(path);
    return done.map(([, turn]) => turnOverLine(turn));
  }

  return {
    /** Lines of the turns of which this report says that they have ended. */
    after(progress: TurnProgress): string[] {
      const own = pathOf(progress);
      // While the model is asked, no cell of it runs, so no child of it is left; and its turn
      // before has ended.
      const lines = over((path) => path !== own && path.startsWith(own));
      if (progress.phase === "asked") return [...lines, ...over((path) => path === own)];
      newest.set(own, progress);
      return lines;
    },
    /** Lines of children that are left. What the ask came to is told at its end. */
    rest: () => over((path) => path !== ""),
  };
}

/** Ends each id, so that no path is the beginning of another one's id. */
const pathOf = ({ path }: TurnProgress) => path.map((id) => `${id}/`).join("");
