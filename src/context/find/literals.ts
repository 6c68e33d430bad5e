import { isPlain, type Literal, type Required } from "./hir.ts";
import type { Match, Part, Position } from "./match.ts";

/** The place of the first literal at or after a byte; the end of the haystack if there is none. */
export type NextLiteral = (from: number) => number;

/** A literal that was found: its place, and the bytes that it has there. */
interface FoundLiteral {
  readonly at: number;
  readonly bytes: number;
}

/** Finds the first literal at or after a byte. */
type Finder = (from: number) => FoundLiteral | undefined;

/** The most bytes of a literal that are looked for: of a longer one its beginning. */
export const MOST_LITERAL_BYTES = 128;
/** More than characters in several cases have, of which each has at most 4 bytes. */
const MOST_CASES_LENGTH = MOST_LITERAL_BYTES / 4;
/** Node finds so many bytes in a fifth of the time of more. */
const QUICK_BYTES = 7;
const WINDOW_BYTES = 64 * 1024;
/** Bytes that tell which ones are rare. */
const SAMPLE_BYTES = 2048;
/** Matches that are given at once. */
const SOME = 1000;

/** Opens the search for literals. @param between is called now and then, and may throw to end it */
export function openLiterals(haystack: Buffer, required: Required | undefined, between: () => void): NextLiteral {
  const next = openFinder(haystack, required?.literals ?? [], between);
  let last = { from: -1, at: -1 };
  return (from) => {
    if (from < last.from || from > last.at) last = { from, at: next(from)?.at ?? haystack.length };
    return last.at;
  };
}

/** The choice whose literals are the fewest in the beginning of a text; of equal ones the first. */
export function rarestIn(haystack: Buffer, [first, ...others]: readonly Required[]): Required | undefined {
  if (others.length === 0) return first;
  const sample = haystack.subarray(0, Math.min(haystack.length / 8, WINDOW_BYTES));
  let rarest = first;
  let fewest = first ? countLiterals(sample, first.literals) : 0;
  for (const required of others) {
    const count = countLiterals(sample, required.literals);
    if (count < fewest) rarest = required;
    fewest = Math.min(count, fewest);
  }
  return rarest;
}

/** The number of all matches of a pattern that is nothing but literals. */
export function countLiterals(haystack: Buffer, literals: readonly Literal[], between = () => {}): number {
  const next = openFinder(haystack, literals, between);
  let matches = 0;
  for (let found = next(0); found; found = next(found.at + found.bytes)) {
    matches += 1;
    if (matches % SOME === 0) between();
  }
  return matches;
}

/** True if literals are found whole. */
export function areFoundWhole(literals: readonly Literal[]): boolean {
  if (!literals.every(isPlain)) return literals.every(({ length }) => length <= MOST_CASES_LENGTH);
  return literals.every((literal) => Buffer.byteLength(literal.join("")) <= MOST_LITERAL_BYTES);
}

/**
 * All matches of a pattern that is nothing but literals, as `scan` gives them. Where several match
 * in the same place, the first one counts.
 *
 * @param longest bytes of the longest match
 */
export function* scanLiterals(
  haystack: Buffer,
  literals: readonly Literal[],
  longest: number,
  between: () => void,
  { begin, isOpen }: Part,
): Generator<readonly Match[], Position | undefined> {
  const next = openFinder(haystack, literals, between);
  // A match that begins later may be a longer one with the text that follows.
  const end = isOpen ? haystack.length - longest : haystack.length;
  let { from, lastEnd } = begin;
  for (let isLast = false; !isLast; ) {
    between();
    const matches: Match[] = [];
    while (matches.length < SOME && !isLast) {
      const found = next(from);
      isLast = found === undefined || found.at > end;
      if (found === undefined || isLast) break;
      from = found.at + found.bytes;
      lastEnd = from;
      matches.push([found.at, from]);
    }
    yield matches;
  }
  return isOpen ? { from: Math.max(from, end + 1), lastEnd } : undefined;
}

function openFinder(haystack: Buffer, literals: readonly Literal[], between: () => void): Finder {
  if (!literals.every(isPlain)) return casesFinder(haystack, literals, between);
  const counts = countsOf(haystack.subarray(0, SAMPLE_BYTES));
  const finders = literals.map((literal) => plainFinder(haystack, literal, counts));
  const [only] = finders;
  return finders.length === 1 && only ? only : firstOf(finders);
}

/** Finds what the first of several finders finds; of those with the same place the earliest one counts. */
function firstOf(finders: readonly Finder[]): Finder {
  const known = finders.map((): { from: number; found: FoundLiteral | undefined } => ({
    from: -1,
    found: { at: -1, bytes: 0 },
  }));
  return (from) => {
    let first: FoundLiteral | undefined;
    for (const [n, find] of finders.entries()) {
      const last = known[n];
      if (!last) continue;
      if (from < last.from || (last.found && last.found.at < from)) {
        last.from = from;
        last.found = find(from);
      }
      if (last.found && (!first || last.found.at < first.at)) first = last.found;
    }
    return first;
  };
}

/** The number of times that each byte occurs. */
function countsOf(bytes: Uint8Array): Uint32Array {
  const counts = new Uint32Array(256);
  for (const byte of bytes) counts[byte] = (counts[byte] ?? 0) + 1;
  return counts;
}

/** Node looks for the first byte of a short needle, so the needle begins with the literal's rarest one. */
function plainFinder(haystack: Buffer, literal: Literal, counts: Uint32Array): Finder {
  const bytes = Buffer.from(literal.join("")).subarray(0, MOST_LITERAL_BYTES);
  const countAt = (at: number) => counts[bytes[at] ?? 0] ?? 0;
  let rarest = 0;
  for (let at = 1; at < bytes.length; at++) if (countAt(at) < countAt(rarest)) rarest = at;
  const needle = bytes.subarray(rarest, rarest + QUICK_BYTES);

  function isAt(start: number): boolean {
    for (let n = 0; n < bytes.length; n++) if (haystack[start + n] !== bytes[n]) return false;
    return true;
  }

  return (from) => {
    for (let at = haystack.indexOf(needle, from + rarest); at !== -1; at = haystack.indexOf(needle, at + 1)) {
      if (needle.length === bytes.length || isAt(at - rarest)) return { at: at - rarest, bytes: bytes.length };
    }
    return undefined;
  };
}

/** Native RegExp reads 1 GB in a second, and takes bytes as the characters of Latin-1. */
function casesFinder(haystack: Buffer, literals: readonly Literal[], between: () => void): Finder {
  const regex = new RegExp(literals.map(patternOf).join("|"), "g");
  let start = 0;
  let window = "";
  return (from) => {
    for (let at = from; ; at = start + window.length - MOST_LITERAL_BYTES) {
      if (at < start || at + MOST_LITERAL_BYTES >= start + window.length) {
        between();
        start = at;
        window = haystack.toString("latin1", start, start + WINDOW_BYTES);
      }
      regex.lastIndex = at - start;
      const match = regex.exec(window);
      if (match !== null) return { at: start + match.index, bytes: match[0].length };
      if (start + window.length >= haystack.length) return undefined;
    }
  };
}

function patternOf(literal: Literal): string {
  return literal.slice(0, MOST_CASES_LENGTH).map(casesOf).join("");
}

/** A character in any of its cases, by the bytes that they have. */
function casesOf(cases: string): string {
  const all = Array.from(cases, (character) => Array.from(Buffer.from(character), spelled));
  return all.every(({ length }) => length === 1)
    ? `[${all.join("")}]`
    : `(?:${all.map((one) => one.join("")).join("|")})`;
}

const spelled = (byte: number) => `\\x${byte.toString(16).padStart(2, "0")}`;
