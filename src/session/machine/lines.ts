import type { Context } from "../../context/index.ts";
import type { Range } from "./ranges.ts";

/** Lines are recognised in a P of at most so many UTF-16 units, and in as long texts. */
const MOST_UNITS = 2 ** 20;
/** A line is recognised by itself if it has so many units and P has it once; others beside a line that is. */
const SURE_UNITS = 12;

type LineText = Pick<Context["text"], "slice" | "length">;

interface Line {
  readonly start: number;
  /** The end of its text, and the one behind its line break. */
  readonly textEnd: number;
  readonly end: number;
  /** Without blanks around it. */
  readonly text: string;
}

/**
 * Finds lines of P in texts that a model reads: cells print them with numbers before them, as JSON or one by one, so that no long
 * passage of P stands there. A line that P has twice is found only beside one that it has once.
 */
export function openLines(text: LineText): { in(read: string): Iterable<Range> } {
  let known: KnownLines | undefined;
  return {
    *in(read) {
      if (text.length > MOST_UNITS || read.length > MOST_UNITS) return;
      known ??= linesOf(text);
      const { lines, once } = known;
      const pieces = read.replaceAll('\\"', '"').split(BREAKS);
      const isAt = (line: number, piece: number) => holds(pieces[piece], lines[line]);
      // The last piece of the run that was found last, and its line: what continues the run gives the same range.
      let found = { at: -1, number: -1 };
      for (const [at, piece] of pieces.entries()) {
        const number = once.get(withoutMarks(piece)) ?? TWICE;
        const isInRun = at <= found.at && found.at - at === found.number - number;
        if (isInRun || !isAt(number, at)) continue;
        let before = 0;
        let after = 0;
        while (isAt(number - before - 1, at - before - 1)) before++;
        while (isAt(number + after + 1, at + after + 1)) after++;
        found = { at: at + after, number: number + after };
        const last = lines[number + after];
        const isEnded = at + after < pieces.length - 1;
        yield [lines[number - before]?.start ?? 0, (isEnded ? last?.end : last?.textEnd) ?? 0];
      }
    },
  };
}

/** Ends of lines, also as JSON has them, and what stands between the texts of a list. */
const BREAKS = /\r?\n|(?:\\r)?\\n|",\s*"/;

/** True if the piece has the whole line in it. */
function holds(piece: string | undefined, line: Line | undefined): boolean {
  if (piece === undefined || !line) return false;
  return line.text === "" ? withoutMarks(piece) === "" : piece.includes(line.text);
}

/** A line without what a cell puts around it: blanks, quotes, brackets, and names and numbers such as `a.txt:12: `. */
function withoutMarks(line: string): string {
  let end = line.length;
  while (end > 0 && /["'\])},\s]/.test(line.charAt(end - 1))) end -= 1;
  return line.slice(0, end).replace(/^(?:[\s"'[({|]+|[\w./-]{1,80}"?:|\d{1,9}[.)])*/, "");
}

const TWICE = -1;

/** The lines of P, each with its end of line, and the numbers of those that it has once. */
interface KnownLines {
  readonly lines: readonly Line[];
  /** The numbers of lines that P has once, and `TWICE` for the others. */
  readonly once: ReadonlyMap<string, number>;
}

function linesOf(text: LineText): KnownLines {
  const lines: Line[] = [];
  const once = new Map<string, number>();
  let start = 0;
  for (const whole of text.slice(0, text.length).split("\n")) {
    const textEnd = start + whole.length;
    const end = Math.min(text.length, textEnd + 1);
    const bare = withoutMarks(whole);
    if (bare.length >= SURE_UNITS) once.set(bare, once.has(bare) ? TWICE : lines.length);
    lines.push({ start, textEnd, end, text: whole.trim() });
    start = end;
  }
  return { lines, once };
}
