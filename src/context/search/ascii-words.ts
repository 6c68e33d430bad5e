import { MAX_PARTS } from "./tokens.ts";

// The words of a run of ASCII letters, digits, `_` and `-`: what `tokensOf` gives, without strings.
// Most words of a log are new ones, and to make strings of them takes ten times as long.

/** Is given a word: the bytes `from..to`, in lower case. They are valid during the call. */
type UseWord = (bytes: Buffer, from: number, to: number) => void;

const OTHER = 0;
const JOINER = 1;
const DIGIT = 2;
const LOWER = 3;
const UPPER = 4;
/** A byte of a character that is not ASCII. */
const WIDE = 5;
const UNDERSCORE = 0x5f;
const HYPHEN = 0x2d;
const TO_LOWER = 0x20;

/** The kind of each byte. */
const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (byte >= 0x80) return WIDE;
  if (byte === UNDERSCORE || byte === HYPHEN) return JOINER;
  if (/[0-9]/.test(character)) return DIGIT;
  if (/[a-z]/.test(character)) return LOWER;
  return /[A-Z]/.test(character) ? UPPER : OTHER;
});

/** True for a byte that a run may have. Bytes of characters that are not ASCII are among them. */
export const isInRun = (byte: number) => KINDS[byte] !== OTHER;

/** A run that is looked at. Its arrays are used again for the next one. */
interface Run {
  length: number;
  /** In lower case. */
  lower: Buffer;
  /** The kinds of its bytes, then `OTHER`. */
  kinds: Buffer;
  /** Room for a name without its joiners. */
  name: Buffer;
}

/** Opens what gives the words of runs to `use`. */
export function openAsciiWords(use: UseWord): (bytes: Buffer, from: number, to: number) => void {
  const run: Run = { length: 0, lower: Buffer.alloc(0), kinds: Buffer.alloc(0), name: Buffer.alloc(0) };
  return (bytes, from, to) => {
    read(run, bytes, from, to);
    useWords(run, use);
    if (!hasJoint(run)) return;
    if (run.lower.subarray(0, run.length).includes(HYPHEN)) useNames(run, use);
    else useName(run, 0, run.length, use);
  };
}

function read(run: Run, bytes: Buffer, from: number, to: number): void {
  const length = to - from;
  if (length >= run.kinds.length) {
    run.lower = Buffer.alloc(2 * length + 2);
    run.kinds = Buffer.alloc(2 * length + 2);
    run.name = Buffer.alloc(2 * length + 2);
  }
  const { lower, kinds } = run;
  for (let at = 0; at < length; at++) {
    const byte = bytes[from + at] ?? 0;
    const kind = KINDS[byte] ?? OTHER;
    lower[at] = kind === UPPER ? byte | TO_LOWER : byte;
    kinds[at] = kind;
  }
  kinds[length] = OTHER;
  run.length = length;
}

/** Gives the words that joiners set apart. */
function useWords({ length, lower, kinds }: Run, use: UseWord): void {
  let start = 0;
  for (let at = 0; at <= length; at++) {
    if ((kinds[at] ?? OTHER) > JOINER) continue;
    if (at > start) use(lower, start, at);
    start = at + 1;
  }
}

/** True if a name in the run has a joint: `eH`, `PRe`, `p2`, `2s`, `x_y`, `x-y`. */
function hasJoint({ length, kinds }: Run): boolean {
  let second = OTHER;
  let before = OTHER;
  for (let at = 0; at < length; at++) {
    const kind = kinds[at] ?? OTHER;
    if (isJoint(second, before, kind)) return true;
    second = before;
    before = kind;
  }
  return false;
}

/** True if there is a joint in front of a byte of this kind, behind bytes of these kinds. */
function isJoint(second: number, before: number, kind: number): boolean {
  if (kind <= JOINER) return false;
  if (before === JOINER) return second > JOINER;
  if (kind === DIGIT) return before > DIGIT;
  if (before === DIGIT) return true;
  return kind === UPPER ? before === LOWER : before === UPPER && second === UPPER;
}

/** Gives each name between hyphens, and all of them as one. */
function useNames(run: Run, use: UseWord): void {
  const { length, lower, name } = run;
  let words = 0;
  for (let at = 0, start = 0; at <= length; at++) {
    if (at < length && lower[at] !== HYPHEN) continue;
    words += useName(run, start, at, use);
    start = at + 1;
  }
  if (words < 2 || words > MAX_PARTS) return;
  let filled = 0;
  for (let at = 0, start = 0; at <= length; at++) {
    if (at < length && lower[at] !== HYPHEN) continue;
    if (wordsIn(run, start, at) <= MAX_PARTS) filled = join(run, start, at, filled);
    start = at + 1;
  }
  use(name, 0, filled);
}

/**
 * Gives a name without hyphens if it has several words, and its parts. Returns the number of its
 * words; 0 if it has too many.
 */
function useName(run: Run, from: number, to: number, use: UseWord): number {
  const { kinds, name } = run;
  const words = wordsIn(run, from, to);
  if (words > 1 && words <= MAX_PARTS) use(name, 0, join(run, from, to, 0));
  for (let at = from, start = from; at <= to; at++) {
    if (at < to && kinds[at] !== JOINER) continue;
    if (at > start) useParts(run, start, at, use);
    start = at + 1;
  }
  return words <= MAX_PARTS ? words : 0;
}

/** The number of words of a name without hyphens. */
function wordsIn({ kinds }: Run, from: number, to: number): number {
  let words = 0;
  for (let at = from; at < to; at++) if (kinds[at] !== JOINER && (at === from || kinds[at - 1] === JOINER)) words++;
  return words;
}

/** Adds a name without its joiners to those in `name`. Returns the end of all. */
function join({ kinds, lower, name }: Run, from: number, to: number, filled: number): number {
  let end = filled;
  for (let at = from; at < to; at++) if (kinds[at] !== JOINER) name[end++] = lower[at] ?? 0;
  return end;
}

const ENDS = new Uint32Array(MAX_PARTS);

/** Gives the parts of a word: `sha256Sum` → `sha256 sha 256 sum`. */
function useParts({ kinds, lower }: Run, from: number, to: number, use: UseWord): void {
  let count = 0;
  for (let at = from; at < to; count++) {
    if (count === MAX_PARTS) return;
    at = partEnd(kinds, at, to);
    ENDS[count] = at;
  }
  let start = from;
  for (let part = 0; part < count; part++) {
    const end = ENDS[part] ?? to;
    const isNumber = kinds[start] === DIGIT;
    if (count > 1 && (isNumber || end - start > 1)) use(lower, start, end);
    if (kinds[end - 1] === DIGIT && !isNumber) {
      let digits = start;
      while (kinds[digits] !== DIGIT) digits += 1;
      if (digits - start > 1) use(lower, start, digits);
      use(lower, digits, end);
    }
    start = end;
  }
}

/**
 * The end of the part of a word that begins at `from`: capitals and digits, or letters that may
 * begin with one capital and digits, or digits.
 */
function partEnd(kinds: Buffer, from: number, to: number): number {
  let end = from;
  while (end < to && kinds[end] === UPPER) end += 1;
  if (end > from + 1 && end < to && kinds[end] === LOWER) return end - 1;
  if (end <= from + 1) while (end < to && kinds[end] === LOWER) end += 1;
  while (end < to && kinds[end] === DIGIT) end += 1;
  return end;
}
