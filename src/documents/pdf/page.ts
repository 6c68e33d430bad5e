import { type Shift, shifting } from "../labels.ts";
import { type Line, type Piece, textOfLines } from "./tables.ts";

/**
 * A text of a page at one place, as pdf.js gives it. `transform` has its size, its direction and
 * its place.
 */
interface Shown {
  readonly str: string;
  readonly dir: string;
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
}

/**
 * Words at a place: on the baseline `y`, from `x` to `end`, as if the page were turned until they
 * are upright.
 */
interface Word {
  said: string;
  /** True if a space was written before them. */
  isApart: boolean;
  readonly x: number;
  readonly y: number;
  readonly end: number;
  readonly size: number;
  /** The direction in which they are written, in eighths of a full turn. */
  readonly turn: string;
  shift: Shift;
}

// Distances are in sizes of the font; they were chosen by comparison with pdftotext.
const SPACE = 0.15;
/** The gap between cells of a row that has wider gaps as well. */
const LOOSE = 0.75;
/** A gap that parts cells in any line. */
const TAB = 1.5;
const BACK = 2;
const NEW_LINE = 0.5;
const LEAST_SHIFT = 0.1;
/** The least by which words of one size are raised or lowered that stand close to each other. */
const LEAST_STEP = 0.25;
/** The most that a raised or lowered font has of the one beside it. */
const SMALLER = 0.92;
/** The most between words that are drawn twice, for bold letters and shadows. */
const TWICE = 0.2;

/** Puts what a page shows together by its positions: words, lines, tables and columns. */
export function textOfPage(shown: readonly Shown[]): string {
  const isMirrored = isFromRight(shown.map(({ str }) => str).join(""));
  const text = textOfLines(rowsOf(shown).map((row) => lineOf(row, isMirrored)));
  // Ligatures and the forms of Arabic letters become letters: otherwise no search finds them.
  const letters = (isRightToLeft(text) ? ["()", "[]", "«»"].reduce(withBrackets, text) : text).replace(
    /[\ufb00-\ufdff\ufe70-\ufefc]/g,
    (form) => form.normalize("NFKC"),
  );
  // U+F0B7 is the sign of Word's items.
  return letters
    .replaceAll("\uf0b7", "•")
    .replace(/[^\P{Cc}\s]/gu, "\ufffd")
    .trimEnd();
}

/** The words of each line, in the order of the file. */
function rowsOf(shown: readonly Shown[]): Word[][] {
  const rows: Word[][] = [];
  const drawn = new Map<string, Word>();
  /** The last word, on the baseline of its row. */
  let last: Word | undefined;
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
      const before = drawn.get(word.said);
      drawn.set(word.said, word);
      if (before && isDrawnAgain(word, before)) continue;
      const row = rows.at(-1);
      if (!row || !last || isNewLine(word, last)) rows.push([word]);
      else putBehind(last, word, row);
      last = word.shift === "" || !last ? word : { ...last, x: word.x, end: word.end };
    }
  }
  if (last) last.said += marks;
  return rows;
}

function wordOf({ str, dir, transform, width, height }: Shown, isApart: boolean, marks: string): Word {
  const [a = 0, b = 0, , , across = 0, up = 0] = transform;
  const isVertical = dir === "ttb";
  const size = Math.hypot(a, b) || height || 1;
  const [cos, sin] = isVertical ? [0, -1] : [Math.round(a / size), Math.round(b / size)];
  const x = across * cos + up * sin;
  return {
    said: str + marks,
    isApart,
    shift: "",
    x,
    y: up * cos - across * sin,
    end: x + (isVertical ? height : width),
    size,
    turn: `${cos} ${sin}`,
  };
}

/** Puts a word behind the last one of its row. */
function putBehind(last: Word, word: Word, row: Word[]): void {
  const [first] = row;
  if (first && row.length === 1 && isSmaller(first, word) && shiftOf(first, word) === "^") {
    first.shift = "^";
    word.isApart = true;
  }
  word.shift = shiftOf(word, last);
  row.push(word);
}

function isDrawnAgain(word: Word, { x, y }: Word): boolean {
  const near = TWICE * word.size;
  return Math.abs(word.x - x) < near && Math.abs(word.y - y) < near;
}

/**
 * The shift of a word beside another one, of which it may be an exponent or the mark of a footnote.
 */
function shiftOf(word: Word, other: Word): Shift {
  const up = (word.y - other.y) / other.size;
  const gap = Math.max(word.x - other.end, other.x - word.end);
  // Some programs raise words without making them smaller.
  const [most, least] = isSmaller(word, other) ? [TAB, LEAST_SHIFT] : [SPACE, LEAST_STEP];
  if (isSmaller(other, word) || gap > most * word.size || Math.abs(up) < least) return "";
  return up > 0 ? "^" : "_";
}

const isSmaller = (word: Word, other: Word) => word.size <= SMALLER * other.size;

const isFarBack = (word: Word, last: Word) => word.x < last.x - BACK * word.size;

function isNewLine(word: Word, last: Word): boolean {
  const down = Math.abs(word.y - last.y) / Math.max(word.size, last.size);
  const isBack = isFarBack(word, last) && !isRightToLeft(word.said);
  return word.turn !== last.turn || down > NEW_LINE || (down > LEAST_SHIFT && isBack);
}

/** The pieces of a line, which gaps part. On a mirrored page they begin at the right. */
function lineOf(words: readonly Word[], isMirrored: boolean): Line {
  const isBefore = (word: Word, last = word) => isFarBack(word, last) || word.end < last.x;
  const isSorted = isMirrored || words.some((word, at) => isRightToLeft(word.said) || isBefore(word, words[at - 1]));
  const placed = isMirrored ? words.map((word) => ({ ...word, x: -word.end, end: -word.x })) : words;
  const pieces: Piece[] = [];
  let shifted = shifting();
  let last: Word | undefined;
  for (const word of isSorted ? placed.toSorted((one, other) => one.x - other.x) : placed) {
    if (last?.said === word.said && isDrawnAgain(word, last)) continue;
    const piece = pieces.at(-1);
    const gap = piece ? word.x - piece.end : Number.POSITIVE_INFINITY;
    const size = Math.max(word.size, last?.size ?? 0);
    // The order of sorted words says nothing of the spaces between them.
    const isApart = gap > SPACE * word.size || (word.isApart && !isSorted);
    if (isApart) shifted = shifting();
    // As on the page.
    const said = inReadingOrder(shifted(last?.said ?? "", word.said, word.shift), isMirrored);
    if (!piece || gap > LOOSE * size) pieces.push({ said, x: word.x, end: word.end, isWide: gap > TAB * size });
    else {
      const space = isApart ? " " : "";
      piece.said = isMirrored ? said + space + piece.said : piece.said + space + said;
      piece.end = Math.max(piece.end, word.end);
    }
    last = word;
  }
  for (const piece of pieces) {
    const said = inReadingOrder(piece.said.replace(/ +/g, " "), isMirrored).trimEnd();
    // The label of an item, which has no letters.
    piece.said = isMirrored ? said.replace(/^([.)])(\p{N}{1,4})$/u, "$2$1") : said;
  }
  const { y = 0, turn = "" } = words[0] ?? {};
  return { pieces, top: y, y, size: words.reduce((most, { size }) => Math.max(most, size), 0), turn };
}

const RIGHT_TO_LEFT = /(?!\p{N})[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u;
/** A number from its end, with a percent sign that stands behind it. */
const NUMBER = /P?D+(?:\.D+)*/g;

const isRightToLeft = (said: string) => RIGHT_TO_LEFT.test(said);

/** True if more of the letters are written from the right than from the left. */
function isFromRight(said: string): boolean {
  const letters = said.match(/\p{L}/gu) ?? [];
  return letters.filter(isRightToLeft).length > letters.length / 2;
}

/**
 * Puts a line that was written from left to right, as on the page, into the order in which it is
 * read, as the bidirectional algorithm of Unicode would have placed it; and a line that is read
 * into the order on the page.
 */
function inReadingOrder(said: string, isPageFromRight: boolean): string {
  if (!isRightToLeft(said)) return said;
  const letters = said.match(/\p{L}/gu) ?? [];
  const isFirst = isRightToLeft(letters.at(0) ?? "");
  const isLast = isRightToLeft(letters.at(-1) ?? "");
  // A line that begins and ends with the same direction has it.
  const isLineFromRight = isFirst === isLast ? isFirst : isPageFromRight;
  return isLineFromRight ? turned(said) : runsOf(said, /R(?:[^L]*R)?/g, turned);
}

/** Words from the left and numbers. Words in brackets behind others belong to them. */
const FROM_LEFT = /(?:\((?=[LD][^R()]*\)[^R]*[LD]))?P?[LD](?:[^R]*[LD])?/g;

/** Turns words, except those within that go from the left, and numbers such as `1,234.50`. */
function turned(said: string): string {
  return runsOf(reversed(said), FROM_LEFT, (run) =>
    /\p{L}/u.test(run) ? reversed(run) : runsOf(run, NUMBER, reversed),
  );
}

const SIGNS = "()[]{}<>«»";

/** Words with brackets to the other side. */
const flipped = (said: string, signs = SIGNS) =>
  said.replace(/[()[\]{}<>«»]/g, (sign) => signs.charAt(signs.indexOf(sign) ^ 1) || sign);

/**
 * Turns the brackets of one kind in lines from the right if the first closes what no line before
 * has opened, and the last opens: some programs name brackets as they are read, others as they look.
 */
function withBrackets(text: string, kind: string): string {
  const [opening = "", closing = ""] = kind;
  let isOpen = false;
  const lines = text.split("\n").map((line) => {
    const brackets = Array.from(line).filter((sign) => kind.includes(sign));
    const last = brackets.at(-1);
    const isTurned = !isOpen && brackets[0] === closing && last === opening && isRightToLeft(line);
    if (last !== undefined) isOpen = last === opening && !isTurned;
    return isTurned ? flipped(line, kind) : line;
  });
  return lines.join("\n");
}

/** Letters with their marks from the last to the first. Brackets show to the other side then. */
function reversed(said: string): string {
  const letters = said.match(/.\p{M}*/gsu) ?? [];
  return flipped(letters.toReversed().join(""));
}

/** Changes the runs of characters whose classes match a pattern. */
function runsOf(said: string, pattern: RegExp, change: (run: string) => string): string {
  const classes = said.replace(/./gsu, (sign) => classOf(sign).repeat(sign.length));
  let changed = "";
  let done = 0;
  for (const { index, 0: run } of classes.matchAll(pattern)) {
    changed += said.slice(done, index) + change(said.slice(index, index + run.length));
    done = index + run.length;
  }
  return changed + said.slice(done);
}

/**
 * One letter for each character: from the right, from the left, digits, a sign in a number, a
 * bracket, or others.
 */
function classOf(sign: string): string {
  if (isRightToLeft(sign)) return "R";
  if (/\p{L}/u.test(sign)) return "L";
  if (/[\p{N}$€£¥#^_]/u.test(sign)) return "D";
  if (/[%°]/.test(sign)) return "P";
  if (/[()]/.test(sign)) return sign;
  return /[.,:/+-]/.test(sign) ? "." : " ";
}
