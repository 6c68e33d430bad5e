import { type Shift, shifting } from "./labels.ts";
import { inReadingOrder, isFromRight, isRightToLeft, type Token } from "./page-directions.ts";
import { type Line, textOfLines } from "./page-tables.ts";

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
interface Word extends Token {
  said: string;
  readonly x: number;
  readonly y: number;
  readonly end: number;
  readonly size: number;
  /** The direction in which they are written, in steps of 5 degrees. */
  readonly turn: number;
  /** True if a space was written before them. */
  isApart: boolean;
  shift: Shift;
}

/** Words on one baseline, in the order of the file. */
interface Row {
  readonly words: Word[];
  /** The distance from the row before, in sizes of the font. */
  readonly down: number;
}

// Distances are in sizes of the font; they were chosen by comparison with pdftotext.
const SPACE = 0.15;
/** The gap between cells of a row that has a {@link TAB} as well. */
const LOOSE = 0.75;
const TAB = 1.5;
const BACK = 2;
const NEW_LINE = 0.5;
const LEAST_SHIFT = 0.1;
/** The most that a raised or lowered font has of the one beside it. */
const SMALLER = 0.92;

/** Puts what a page shows together by its positions: words, lines, tables and columns. */
export function textOfPage(shown: readonly Shown[]): string {
  const rows = rowsOf(shown);
  const isMirrored = isFromRight(rows.flatMap(({ words }) => words));
  const text = textOfLines(rows.map((row) => lineOf(row, isMirrored)));
  // Ligatures and the forms of Arabic letters become letters: otherwise no search finds them.
  const letters = text.replace(/[\ufb00-\ufdff\ufe70-\ufefc]/g, (form) => form.normalize("NFKC"));
  // U+F0B7 is the sign of Word's items.
  return letters
    .replaceAll("\uf0b7", "•")
    .replace(/[^\P{Cc}\s]/gu, "\ufffd")
    .trimEnd();
}

function rowsOf(shown: readonly Shown[]): Row[] {
  const rows: Row[] = [];
  const isDrawnAgain = drawing();
  /** The last word, on the baseline of its row. */
  let last: Word | undefined;
  let isEnded = false;
  let isApart = false;
  let marks = "";
  for (const one of shown) {
    // Marks without a meaning would part a word.
    if (one.width === 0 ? /^[\s\p{Cc}]*$/u.test(one.str) : one.str.trim() === "") isApart ||= one.width > 0;
    // Right-to-left programs draw the mark before its letter.
    else if (one.width === 0 && isRightToLeft(one.str)) marks += one.str;
    else {
      const word = wordOf(one, isApart, marks);
      [isApart, marks] = [false, ""];
      if (isDrawnAgain(word)) continue;
      const words = rows.at(-1)?.words;
      if (!words || !last) rows.push({ words: [word], down: 0 });
      else if (isEnded || isNewLine(word, last)) rows.push({ words: [word], down: distance(word, last) });
      else putBehind(last, word, words);
      last = word.shift === "" || !last ? word : { ...last, x: word.x, end: word.end };
      isEnded = false;
    }
    isEnded ||= one.hasEOL;
  }
  const end = rows.at(-1)?.words.at(-1);
  if (end) end.said += marks;
  return rows;
}

const STEP = Math.PI / 36;

function wordOf({ str, dir, transform, width, height }: Shown, isApart: boolean, marks: string): Word {
  const [a = 0, b = 0, , , across = 0, up = 0] = transform;
  const isVertical = dir === "ttb";
  const turn = Math.round((isVertical ? -Math.PI / 2 : Math.atan2(b, a)) / STEP);
  const [cos, sin] = [Math.cos(turn * STEP), Math.sin(turn * STEP)];
  const x = across * cos + up * sin;
  return {
    said: str + marks,
    shift: "",
    x,
    y: up * cos - across * sin,
    end: x + (isVertical ? height : width),
    size: Math.hypot(a, b) || height || 1,
    turn,
    isApart,
  };
}

/** Puts a word behind the last one of its row. */
function putBehind(last: Word, word: Word, words: Word[]): void {
  const [first] = words;
  if (first && words.length === 1 && shiftOf(first, word) === "^") {
    first.shift = "^";
    word.isApart = true;
  }
  word.shift = shiftOf(word, last);
  words.push(word);
}

/** The shift of a word beside another one, of which it may be an exponent or the mark of a footnote. */
function shiftOf(word: Word, other: Word): Shift {
  const up = (word.y - other.y) / other.size;
  const gap = Math.max(word.x - other.end, other.x - word.end);
  if (word.size > SMALLER * other.size || gap > TAB * word.size || Math.abs(up) < LEAST_SHIFT) return "";
  return up > 0 ? "^" : "_";
}

/** The distance of a word from the baseline of another, in sizes of the larger font. */
function distance(word: Word, last: Word): number {
  return word.turn === last.turn
    ? Math.abs(word.y - last.y) / Math.max(word.size, last.size)
    : Number.POSITIVE_INFINITY;
}

const isFarBack = (word: Word, last: Word) => word.x < last.x - BACK * word.size;

function isNewLine(word: Word, last: Word): boolean {
  const down = distance(word, last);
  return down > NEW_LINE || (down > LEAST_SHIFT && isFarBack(word, last) && !isRightToLeft(word.said));
}

/** Tells words that are drawn again at their place, as some programs do for bold letters and shadows. */
function drawing(): (word: Word) => boolean {
  const places = new Set<string>();
  return ({ said, x, y, size }) => {
    const near = size * (said.length > 1 ? 0.2 : 0.1);
    const place = (moved: number, up: number) => `${Math.round(x / near + moved)} ${Math.round(y / near + up)} ${said}`;
    const isDrawnAgain = places.has(place(0, 0));
    // Words that are nearer to each other than half of that share one of these.
    for (const up of [-0.5, 0.5]) places.add(place(-0.5, up)).add(place(0.5, up));
    return isDrawnAgain;
  };
}

/** The pieces of a line, which gaps part. On a mirrored page they begin at the right. */
function lineOf({ words, down }: Row, isMirrored: boolean): Line {
  const isTurned = words.some((word, at) => isRightToLeft(word.said) || isFarBack(word, words[at - 1] ?? word));
  const isSorted = isTurned || isMirrored;
  const placed = isMirrored ? words.map((word) => ({ ...word, x: -word.end, end: -word.x })) : words;
  const pieces: { readonly tokens: Token[]; readonly x: number; end: number; readonly isWide: boolean }[] = [];
  let size = 0;
  for (const word of isSorted ? placed.toSorted((one, other) => one.x - other.x) : placed) {
    const piece = pieces.at(-1);
    const { x, end } = word;
    const gap = piece ? x - piece.end : Number.POSITIVE_INFINITY;
    size = Math.max(size, word.size);
    if (!piece || gap > LOOSE * size) pieces.push({ tokens: [word], x, end, isWide: gap > TAB * size });
    else {
      // The order of sorted words says nothing of the spaces between them.
      const isApart = (word.isApart && !isSorted) || gap > SPACE * word.size;
      if (isApart && !/^\s/.test(word.said)) piece.tokens.push({ said: " ", shift: "" });
      piece.tokens.push(word);
      piece.end = Math.max(piece.end, end);
    }
    size = word.size;
  }
  return {
    down,
    y: words[0]?.y ?? 0,
    size,
    pieces: pieces.map(({ tokens, ...place }) => {
      const ordered = isMirrored ? tokens.toReversed() : tokens;
      return { ...place, said: saidBy(isTurned ? inReadingOrder(ordered, isMirrored) : ordered) };
    }),
  };
}

function saidBy(tokens: readonly Token[]): string {
  const shifted = shifting();
  let said = "";
  let last = " ";
  for (const token of tokens) {
    const isDouble = /\s$/.test(last) && token.said === " ";
    last = shifted(last, token.said, token.shift);
    if (!isDouble) said += last;
  }
  return said.trimEnd();
}
