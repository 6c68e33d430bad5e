/**
 * The form of a number: `1`, `01`, `a` (behind z comes aa, ab), `aa` (behind z comes aa, bb), or
 * `i` for Roman numbers. Those of HTML and OpenDocument have these names.
 */
export type NumberFormat = "1" | "01" | "a" | "A" | "aa" | "AA" | "i" | "I";

/**
 * A number as a list prints it. One that has no such form is decimal, as in browsers and offices.
 */
export function numeral(number: number, format: NumberFormat): string {
  const decimal = String(number);
  if (format === "1") return decimal;
  if (format === "01") return decimal.padStart(2, "0");
  const isUpper = format === format.toUpperCase();
  const letters = format.toLowerCase() === "i" ? roman(number) : lettersOf(number, format.length === 2);
  return (isUpper ? letters.toUpperCase() : letters) || decimal;
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz";
/** The last number for which Word repeats a letter. */
const MOST_REPEATED = 780;

function lettersOf(number: number, isRepeated: boolean): string {
  if (number < 1) return "";
  const last = LETTERS.charAt((number - 1) % LETTERS.length);
  const before = Math.floor((number - 1) / LETTERS.length);
  if (!isRepeated) return lettersOf(before, false) + last;
  return number > MOST_REPEATED ? "" : last.repeat(before + 1);
}

const ROMAN = [
  ["m", 1000],
  ["cm", 900],
  ["d", 500],
  ["cd", 400],
  ["c", 100],
  ["xc", 90],
  ["l", 50],
  ["xl", 40],
  ["x", 10],
  ["ix", 9],
  ["v", 5],
  ["iv", 4],
  ["i", 1],
] as const;

function roman(number: number): string {
  if (number < 1 || number > 3999) return "";
  let remaining = number;
  let letters = "";
  for (const [sign, value] of ROMAN) {
    letters += sign.repeat(Math.floor(remaining / value));
    remaining %= value;
  }
  return letters;
}

/**
 * The whole number that a file gives for a count, a level or a start; not below 0 and not above
 * `most`.
 */
export function boundedNumber(given: string | undefined, otherwise: number, most = 1_000_000): number {
  const number = Math.trunc(Number(given ?? otherwise));
  return Number.isNaN(number) ? otherwise : Math.min(Math.max(number, 0), most);
}

/** A level of a list: what stands before its items. */
export interface Level {
  readonly format: NumberFormat | "bullet" | "none";
  /** Words, and between them the levels whose numbers they part: `[0, ".", 1]` is `1.2`. */
  readonly label: readonly (string | number)[];
  readonly start: number;
  /** Letters and Roman numbers of the label become decimal. */
  readonly isLegal?: boolean;
  /** The number of first levels that make this one begin again; if absent, all above it do. */
  readonly restartedBy?: number;
}

/** The label of an item that has a sign and no number. */
export const BULLET = "-";

const MOST_LEVELS = 16;

/** The levels of a list. */
type LevelAt = (level: number) => Level | undefined;

/** A count of items. */
export interface Counting {
  /**
   * The label of the next item; empty if it has none.
   *
   * @param levels those of its list: lists that count on from each other may differ in them
   * @param start the number of this item, if it does not count on
   */
  next(level: number, levels: LevelAt, start?: number): string;
  /** Begins a level and those below it anew. */
  forget(level: number): void;
}

/** Counts the items of a list, level by level. The first level is 0. */
export function counting(): Counting {
  const counts: (number | undefined)[] = [];
  return {
    next(level, levels, start) {
      const at = Math.min(level, MOST_LEVELS);
      const own = levels(at);
      if (!own) return "";
      const last = counts[at];
      counts[at] = start ?? (last === undefined ? own.start : last + 1);
      for (let above = 0; above < at; above++) counts[above] ??= levels(above)?.start ?? 1;
      for (let below = at + 1; below < counts.length; below++) {
        if (at < (levels(below)?.restartedBy ?? below)) counts[below] = undefined;
      }
      return own.format === "bullet" ? BULLET : labelOf(own, counts, levels);
    },
    forget(level) {
      counts.length = Math.min(counts.length, level);
    },
  };
}

function labelOf({ label, isLegal = false }: Level, counts: readonly (number | undefined)[], levels: LevelAt): string {
  const pieces = label.map((piece) => {
    if (typeof piece === "string") return piece;
    const { format = "none", start = 1 } = levels(piece) ?? {};
    if (format === "none" || format === "bullet") return "";
    const legal = format === "01" ? "01" : "1";
    return numeral(counts[piece] ?? start, isLegal ? legal : format);
  });
  return pieces.join("").trim();
}

/** The place of words: raised, lowered, or on the line. */
export type Shift = "^" | "_" | "";

/** The places that `vertAlign` of Word and of sheets names. */
export const VERTICAL: ReadonlyMap<string, Shift> = new Map([
  ["superscript", "^"],
  ["subscript", "_"],
]);

/** Writes words of a paragraph, with what stands before them. */
export type Shifting = (before: string, words: string, shift: Shift) => string;

/**
 * Writes words so that what is raised or lowered does not become a part of the number or word
 * before it: `10^6`, `1st`. The function takes all words of a paragraph, one after the other.
 */
export function shifting(): Shifting {
  let last: Shift = "";
  return (before, words, shift) => {
    if (words.trim() === "") return words;
    const goesOn = shift === last;
    last = shift;
    return goesOn || shift === "" || isPlain(before, words.trimStart(), shift)
      ? words
      : words.replace(/\S/, (first) => `${shift}${first}`);
  };
}

/** True if words can be read without a sign: `1st`, `CO2`, a mark such as `[1]`. */
function isPlain(before: string, words: string, shift: Shift): boolean {
  const isBehindDigit = /\d$/.test(before);
  if (shift === "_") return !isBehindDigit || !/^\d/.test(words);
  return /^\p{L}{2}|^\[/u.test(words) || (isBehindDigit && /^\p{L}/u.test(words));
}
