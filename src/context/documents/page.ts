import { type Shift, shifting } from "./labels.ts";
import { inReadingOrder, isFromRight, isRightToLeft, type Token } from "./page-directions.ts";
import { type Line, type Piece, textOfLines } from "./page-tables.ts";

/** A text of a page at one place, as pdf.js gives it. `transform` has its size, its direction and its place. */
export interface Shown {
  readonly str: string;
  readonly dir: string;
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
  readonly hasEOL: boolean;
}

/** Words at a place: on the baseline `y`, from `x` to `end`, as if the page were turned until they are upright. */
interface Word {
  readonly said: string;
  readonly x: number;
  readonly y: number;
  readonly end: number;
  readonly size: number;
  /** The direction in which they are written, in steps of 5 degrees. */
  readonly turn: number;
  /** True if a space was written before them. */
  readonly isApart: boolean;
  shift: Shift;
}

// Distances are in sizes of the font; they were chosen by comparison with pdftotext.
const TAB = 1.5;
const SPACE = 0.15;
const NEW_LINE = 0.5;
const BACK = 2;
/** The most that a raised or lowered font has of the one beside it. */
const SMALLER = 0.92;
const LEAST_SHIFT = 0.1;

/** Puts what a page shows together by its positions: words, lines, tables and columns. */
export function textOfPage(shown: readonly Shown[]): string {
  const lines = linesOf(shown);
  const isMirrored = isFromRight(lines.flat());
  const text = textOfLines(lines.map((words, at) => lineOf(words, lines[at - 1], isMirrored)));
  // Ligatures and the forms of Arabic letters become letters: otherwise no search finds them.
  return text.replace(/[\ufb00-\ufdff\ufe70-\ufefc]/g, (form) => form.normalize("NFKC"));
}

function linesOf(shown: readonly Shown[]): Word[][] {
  const lines: Word[][] = [];
  const isDrawnAgain = drawing();
  /** The last word of the line. What is raised or lowered keeps the baseline. */
  let last: Word | null = null;
  let isApart = false;
  let marks = "";
  for (const one of shown) {
    if (one.str.trim() === "") isApart ||= one.width > 0;
    // Right-to-left programs draw the mark before its letter.
    else if (one.width === 0 && isRightToLeft(one.str)) marks += one.str;
    else {
      const word = wordOf(one, isApart, marks);
      [isApart, marks] = [false, ""];
      if (!isDrawnAgain(word)) last = placed(word, last, lines);
    }
    if (one.hasEOL) last = null;
  }
  return lines;
}

function wordOf({ str, dir, transform, width, height }: Shown, isApart: boolean, marks: string): Word {
  const [a = 0, b = 0, , , across = 0, up = 0] = transform;
  const size = Math.hypot(a, b) || height || 1;
  const isVertical = dir === "ttb";
  const angle = isVertical ? -Math.PI / 2 : Math.atan2(b, a);
  const turn = Math.round(angle / STEP);
  const [cos, sin] = [Math.cos(turn * STEP), Math.sin(turn * STEP)];
  const [x, y] = turn === 0 ? [across, up] : [across * cos + up * sin, up * cos - across * sin];
  return { said: str + marks, x, y, end: x + (isVertical ? height : width), size, turn, isApart, shift: "" };
}

const STEP = Math.PI / 36;

/** Puts a word into the last line or a new one. Returns the word from which the next one is measured. */
function placed(word: Word, last: Word | null, lines: Word[][]): Word {
  const line = lines.at(-1);
  const [first] = line ?? [];
  if (!line || !first || !last || isNewLine(last, word)) {
    lines.push([word]);
    return word;
  }
  if (line.length === 1 && shiftOf(first, word) === "^") first.shift = "^";
  word.shift = shiftOf(word, last);
  line.push(word);
  return word.shift === "" ? word : { ...last, x: word.x, end: word.end };
}

function isNewLine(last: Word, word: Word): boolean {
  const down = Math.abs(word.y - last.y);
  const isBack = isFarBack(word, last) && !isRightToLeft(word.said);
  return (
    word.turn !== last.turn ||
    down > NEW_LINE * Math.max(word.size, last.size) ||
    (isBack && down > LEAST_SHIFT * word.size)
  );
}

/** The shift of a word beside another one, of which it may be an exponent or the mark of a footnote. */
function shiftOf(word: Word, other: Word): Shift {
  const up = (word.y - other.y) / other.size;
  const gap = Math.max(word.x - other.end, other.x - word.end);
  if (word.size > SMALLER * other.size || gap > TAB * word.size || Math.abs(up) < LEAST_SHIFT) return "";
  return up > 0 ? "^" : "_";
}

/** Tells words that are drawn again at their place, as some programs do for bold letters and shadows. */
function drawing(): (word: Word) => boolean {
  const places = new Set<string>();
  return ({ said, x, y, size }) => {
    const near = size * (said.length > 1 ? 0.2 : 0.1);
    const place = (across: number, up: number) => `${across} ${up} ${said}`;
    const [across, up] = [x / near, y / near];
    if (places.has(place(Math.round(across), Math.round(up)))) return true;
    for (const nearUp of [Math.floor(up), Math.ceil(up)]) {
      places.add(place(Math.floor(across), nearUp));
      places.add(place(Math.ceil(across), nearUp));
    }
    return false;
  };
}

/** A line with its pieces, which wide gaps part. Those of a mirrored page are placed from the right. */
function lineOf(words: readonly Word[], before: readonly Word[] | undefined, isMirrored: boolean): Line {
  const isSorted = words.some((word, at) => isRightToLeft(word.said) || isFarBack(word, words[at - 1] ?? word));
  const ordered = isSorted ? words.toSorted((one, other) => one.x - other.x) : words;
  const pieces = partedByGaps(ordered).map((parted): Piece => {
    const x = parted[0]?.x ?? 0;
    const end = parted.reduce((most, word) => Math.max(most, word.end), x);
    const said = saidBy(parted, isSorted, isMirrored);
    return isMirrored ? { said, x: -end, end: -x } : { said, x, end };
  });
  return { pieces: isMirrored ? pieces.toReversed() : pieces, down: distance(baselineOf(words), baselineOf(before)) };
}

const isFarBack = (word: Word, last: Word) => word.x < last.x - BACK * word.size;

/** The word that stands on the baseline of a line. */
const baselineOf = (words: readonly Word[] | undefined) => words?.find(({ shift }) => shift === "");

function distance(word: Word | undefined, above: Word | undefined): number {
  if (!word || !above) return 0;
  return Math.abs(word.y - above.y) / Math.max(word.size, above.size);
}

function partedByGaps(words: readonly Word[]): Word[][] {
  const pieces: Word[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  let size = 0;
  for (const word of words) {
    const isWide = word.x - end > TAB * Math.max(word.size, size);
    if (isWide) pieces.push([word]);
    else pieces.at(-1)?.push(word);
    end = Math.max(end, word.end);
    size = word.size;
  }
  return pieces;
}

/** The text of a piece of a line. Spaces of sorted words follow from gaps alone. */
function saidBy(words: readonly Word[], isSorted: boolean, isMirrored: boolean): string {
  const tokens: Token[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const word of words) {
    const isApart = (word.isApart && !isSorted) || word.x - end > SPACE * word.size;
    const last = tokens.at(-1)?.said ?? " ";
    if (isApart && !/\s$/.test(last) && !/^\s/.test(word.said)) tokens.push({ said: " ", shift: "" });
    tokens.push(word);
    end = Math.max(end, word.end);
  }
  const shifted = shifting();
  const ordered = isSorted ? inReadingOrder(tokens, isMirrored) : tokens;
  const said = ordered.map((token, at) => shifted(ordered[at - 1]?.said ?? "", token.said, token.shift));
  return said.join("").trimEnd();
}
