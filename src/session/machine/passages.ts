import type { Context } from "../../context/index.ts";
import type { Range } from "./ranges.ts";

/** P has a place every so many UTF-16 units. A passage is known by one of them: by as many units that begin there. */
export const PLACE_UNITS = 64;
/** If more places would be known, only every second one is, every fourth one and so on. */
const MOST_PLACES = 65_536;
/** Units that are compared at once. */
const PIECE_UNITS = 4096;
/** Units that a passage grows to its left at the most. */
const MOST_BEFORE = 65_536;

/**
 * Finds passages of P in prompts: those of 127 characters or more that lie in what cells were given, wherever they were cut.
 * Which ones it finds depends on all that was given, and not on the order in which it was.
 */
export function openPassages(text: PassageText) {
  const places = Math.floor(text.length / PLACE_UNITS);
  const given = openBits(places);
  /** Every so many places are known: so many of them were given. */
  let every = 1;
  let count = 0;
  // A cell that asks no model pays for no hash.
  let fresh: number[] = [];
  /** By the hash of the text there; of equal texts the first. */
  const known = new Map<number, number>();
  let mayBeKnown = openBits(FILTER_BITS);

  /** A cell was given this range of P. */
  function note(start: number, end: number): void {
    const last = Math.min(places, Math.ceil(end / PLACE_UNITS));
    for (let place = Math.ceil(Math.max(0, start) / PLACE_UNITS); place < last; place++) {
      if (given.add(place) && place % every === 0 && count++ < MOST_PLACES) fresh.push(place);
    }
  }

  function learn(): void {
    if (count > MOST_PLACES) {
      known.clear();
      mayBeKnown = openBits(FILTER_BITS);
    }
    while (count > MOST_PLACES) {
      every *= 2;
      count = 0;
      fresh = [];
      for (let place = 0; place < places && count <= MOST_PLACES; place += every) {
        if (given.has(place)) count = fresh.push(place);
      }
    }
    for (const place of fresh) know(place * PLACE_UNITS);
    fresh = [];
  }

  function know(start: number): void {
    const hash = hashOf(text.slice(start, start + PLACE_UNITS), 0);
    if ((known.get(hash) ?? start) < start) return;
    known.set(hash, start);
    mayBeKnown.add(filterBit(hash));
  }

  /** The known place whose text stands at this place of the prompt. */
  function placeAt(prompt: string, at: number, hash: number): number | undefined {
    const start = mayBeKnown.has(filterBit(hash)) ? known.get(hash) : undefined;
    if (start === undefined) return undefined;
    return prompt.startsWith(text.slice(start, start + PLACE_UNITS), at) ? start : undefined;
  }

  return {
    note,
    /** The passages of a prompt, as ranges of P: each continues to both sides while prompt and P are the same. */
    *in(prompt: string): Iterable<Range> {
      if (prompt.length < PLACE_UNITS) return;
      learn();
      if (known.size === 0) return;
      let at = 0;
      let before = 0;
      let hash = hashOf(prompt, at);
      while (at + PLACE_UNITS <= prompt.length) {
        const start = placeAt(prompt, at, hash);
        if (start === undefined) {
          hash = rolled(hash, prompt, at);
          at++;
          continue;
        }
        const units = sameFor(text, prompt, at, start);
        yield [start - sameBefore(text, prompt, at, start, at - before), start + units];
        before = at;
        // If P repeats itself, the text that was given may be another one, which continues beyond this end.
        at += Math.max(units - PLACE_UNITS + 1, PLACE_UNITS / 2);
        hash = hashOf(prompt, at);
      }
    },
  };
}

type PassageText = Pick<Context["text"], "slice" | "length">;

/** The length for which prompt and P are the same from here on. */
function sameFor(text: PassageText, prompt: string, at: number, start: number): number {
  for (let same = 0; ; same += PIECE_UNITS) {
    const piece = text.slice(start + same, start + same + PIECE_UNITS);
    if (piece.length === PIECE_UNITS && prompt.startsWith(piece, at + same)) continue;
    let units = 0;
    while (units < piece.length && piece.charCodeAt(units) === prompt.charCodeAt(at + same + units)) units++;
    return same + units;
  }
}

/** The length for which they are the same before here. @param most the units of the prompt since the place that was found before this one */
function sameBefore(text: PassageText, prompt: string, at: number, start: number, most: number): number {
  const units = Math.min(most, start, MOST_BEFORE);
  const piece = text.slice(start - units, start);
  let same = 0;
  while (same < units && piece.charCodeAt(units - 1 - same) === prompt.charCodeAt(at - 1 - same)) same++;
  return same;
}

/** Opens a set of whole numbers below a count: a bit for each, made when the first is added. */
function openBits(count: number) {
  let bits: Uint8Array | undefined;
  const has = (at: number) => ((bits?.[at >> 3] ?? 0) & (1 << (at & 7))) !== 0;
  return {
    has,
    /** Returns false if it is there already. */
    add(at: number): boolean {
      if (has(at)) return false;
      bits ??= new Uint8Array(Math.ceil(count / 8));
      bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
      return true;
    },
  };
}

const FACTOR = 0x01000193;
/** FACTOR to the power of PLACE_UNITS: what the unit that leaves the window has been multiplied with. */
const LEAVING = Array.from({ length: PLACE_UNITS }).reduce<number>((power) => Math.imul(power, FACTOR), 1);

/** A hash of the PLACE_UNITS units from here, which can be rolled on. */
function hashOf(text: string, at: number): number {
  let hash = 0;
  for (let i = at; i < at + PLACE_UNITS; i++) hash = (Math.imul(hash, FACTOR) + text.charCodeAt(i)) | 0;
  return hash;
}

/** The hash one unit further. */
function rolled(hash: number, text: string, at: number): number {
  const entering = text.charCodeAt(at + PLACE_UNITS);
  return (Math.imul(hash, FACTOR) + entering - Math.imul(LEAVING, text.charCodeAt(at))) | 0;
}

/** The bits of a filter, 32 KB, which says of most hashes at once that they are not known. */
const FILTER_BITS = 2 ** 18;
const filterBit = (hash: number) => Math.imul(hash, 0x9e3779b1) >>> 14;

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
