import { BLOCK_BYTES, findsBlocks, PLACE_BITS, threesIn } from "./frequent.ts";
import { ANY, type Literal } from "./hir.ts";

/** A literal that was found: its place, and the bytes that it has there. */
export interface FoundLiteral {
  readonly at: number;
  readonly bytes: number;
}

/** Finds the first literal at or after a byte. */
export type Finder = (from: number) => FoundLiteral | undefined;

/** More characters of a literal in several cases are not looked for. */
export const MOST_CASES_LENGTH = 32;
/** More than so many characters in several cases have, of which each has at most 4 bytes. */
const MOST_BYTES = 4 * MOST_CASES_LENGTH;
/** Literals that a table tells apart. */
const MOST_LITERALS = 8;
/** Native RegExp reads a block in the time in which so many places of it are looked at. */
const FEW_PLACES = 1000;
/** Blocks that may have more of them before RegExp takes over. */
const PATIENCE = 8;

/**
 * Opens the search for literals in several cases. Where several are in the same place, the first one counts.
 *
 * @param counts the number of times that each byte occurs in a sample of the haystack
 * @param between is called now and then, and may throw to end the search
 */
export function openCases(
  haystack: Buffer,
  literals: readonly Literal[],
  counts: Uint32Array,
  between: () => void,
): Finder {
  const cased = literals.map((literal) => casedLiteral(literal, counts)).filter((one) => one !== undefined);
  const slow = regexFinder(haystack, literals, between);
  if (cased.length < literals.length || cased.length > MOST_LITERALS || !findsBlocks()) return slow;
  const blockFrom = openBlocks(haystack, cased);
  let patience = PATIENCE * FEW_PLACES;
  let block: CasesBlock = { from: 0, end: 0, places: 0, found: [] };
  /** The first one of the block that may be wanted next. */
  let next = 0;
  return (from) => {
    for (let start = from; start < haystack.length; start = block.end) {
      if (start < block.from || start >= block.end) {
        if (patience < 0) return slow(start);
        between();
        block = blockFrom(start);
        next = 0;
        patience = Math.min(patience + FEW_PLACES - block.places, PATIENCE * FEW_PLACES);
      }
      if (start <= (block.found[next - 1]?.at ?? -1)) next = 0;
      while ((block.found[next]?.at ?? start) < start) next += 1;
      const found = block.found[next];
      if (found) return found;
    }
    return undefined;
  };
}

/** The literals that begin in a part of a text, ascending. */
interface CasesBlock {
  readonly from: number;
  readonly end: number;
  /** Places that were looked at. */
  readonly places: number;
  readonly found: readonly FoundLiteral[];
}

/** A character of a literal: the bytes of its cases; none if any byte may stand there. */
interface Character {
  readonly cases: readonly Uint8Array[];
  readonly longest: number;
  /** True if all cases have so many bytes. */
  readonly isOneLength: boolean;
}

/** A literal, and three bytes in turn by which it is found. */
interface CasedLiteral {
  readonly characters: readonly Character[];
  /** A character, and its distance from the three bytes. */
  readonly character: number;
  readonly distance: number;
  /** The most bytes of the literal before the three. */
  readonly before: number;
  /** The values of each of the three; none if it may have any. */
  readonly three: readonly (readonly number[])[];
}

/** Undefined if no two bytes of the literal follow each other in all cases. */
function casedLiteral(literal: Literal, counts: Uint32Array): CasedLiteral | undefined {
  const characters = literal.slice(0, MOST_CASES_LENGTH).map(characterOf);
  const sum = counts.reduce((sum, count) => sum + count + 1, 0);
  let least = Number.POSITIVE_INFINITY;
  let best: CasedLiteral | undefined;
  let before = 0;
  for (const [character, { longest, isOneLength }] of characters.entries()) {
    // Three bytes may begin with the last one of several cases, and end with the first one.
    for (let offset = isOneLength ? 0 : longest - 1; offset < longest; offset++) {
      const three = threeFrom(characters, character, offset);
      if (!three) continue;
      const share = three.reduce((product, values) => product * shareOf(values, counts, sum), 1);
      if (share >= least) continue;
      least = share;
      const place = isOneLength ? { character, distance: -offset } : { character: character + 1, distance: 1 };
      best = { characters, ...place, before: before + offset, three };
    }
    before += longest;
  }
  return best;
}

function characterOf(place: string): Character {
  const cases = Array.from(place, (one) => Buffer.from(one));
  const longest = Math.max(1, ...cases.map(({ length }) => length));
  return { cases, longest, isOneLength: cases.every(({ length }) => length === longest) };
}

/** The values of three bytes from one of a character, of which the third may be open. */
function threeFrom(characters: readonly Character[], first: number, offset: number): readonly number[][] | undefined {
  const three: number[][] = [];
  let from = offset;
  for (const { cases, longest, isOneLength } of characters.slice(first)) {
    const isLastByte = three.length === 0 && !isOneLength;
    for (let at = from; at < longest && three.length < THREE; at++) {
      three.push(Array.from(new Set(cases.map((bytes) => (isLastByte ? bytes.at(-1) : bytes[at]) ?? 0))));
      if (!isOneLength) break;
    }
    if (three.length === THREE || (three.length > 1 && !isOneLength)) break;
    from = 0;
  }
  return three.length < 2 ? undefined : [...three, []].slice(0, THREE);
}

/** The likely share of bytes that have one of some values. */
function shareOf(values: readonly number[], counts: Uint32Array, all: number): number {
  return values.length === 0 ? 1 : values.reduce((sum, byte) => sum + (counts[byte] ?? 0) + 1, 0) / all;
}

/** Finds the literals that begin in a part of the text. */
function openBlocks(haystack: Buffer, literals: readonly CasedLiteral[]): (from: number) => CasesBlock {
  const tables = tablesOf(literals);
  const behind = Math.max(...literals.map(({ before }) => before)) + THREE - 1;
  return (from) => {
    const end = Math.min(from + BLOCK_BYTES, haystack.length);
    const threes = threesIn(haystack.subarray(from, end + behind), tables);
    const found: (FoundLiteral & { readonly order: number })[] = [];
    for (const three of threes) {
      for (let bits = three >>> PLACE_BITS; bits !== 0; bits &= bits - 1) {
        const order = 31 - Math.clz32(bits & -bits);
        const literal = literals[order];
        if (!literal) continue;
        const place = from + (three & PLACE_MASK) + literal.distance;
        const at = beginOf(haystack, place, literal);
        if (!(at >= from && at < end)) continue;
        const bytes = endOf(haystack, place, literal) - at;
        if (bytes > 0) found.push({ at, bytes, order });
      }
    }
    // Their three bytes are in different places of them.
    if (literals.length > 1) found.sort((one, other) => one.at - other.at || one.order - other.order);
    return { from, end, places: threes.length, found };
  };
}

/** The beginning of a literal whose `character` begins at a place; NaN if it is not there. */
function beginOf(haystack: Buffer, place: number, { characters, character }: CasedLiteral): number {
  let at = place;
  for (let n = character - 1; n >= 0; n--) at -= lengthAt(haystack, at, characters[n], true);
  return at;
}

/** The end of a literal whose `character` begins at a place; NaN if it is not there. */
function endOf(haystack: Buffer, place: number, { characters, character }: CasedLiteral): number {
  let at = place;
  for (let n = character; n < characters.length; n++) at += lengthAt(haystack, at, characters[n], false);
  return at;
}

/** The bytes of the case of a character that begins at a place, or ends there; NaN if none does. */
function lengthAt(haystack: Buffer, at: number, character: Character | undefined, isEnd: boolean): number {
  const { cases = [], longest = 1 } = character ?? {};
  if (cases.length === 0) return 1;
  if (longest === 1) {
    const byte = haystack[isEnd ? at - 1 : at];
    for (const bytes of cases) if (bytes[0] === byte) return 1;
    return Number.NaN;
  }
  for (const bytes of cases) {
    const from = isEnd ? at - bytes.length : at;
    let n = 0;
    while (n < bytes.length && haystack[from + n] === bytes[n]) n += 1;
    if (n === bytes.length) return n;
  }
  return Number.NaN;
}

/** The tables of `threesIn`: of each byte those by its lower and by its upper half. */
function tablesOf(literals: readonly CasedLiteral[]): Uint8Array {
  const tables = new Uint8Array(2 * HALVES * THREE);
  function allow(table: number, half: number, n: number): void {
    const at = table * HALVES + half;
    tables[at] = (tables[at] ?? 0) | (1 << n);
  }
  for (const [n, { three }] of literals.entries()) {
    for (const [byte, values] of three.entries()) {
      for (const value of values.length > 0 ? values : ANY_BYTE) {
        allow(2 * byte, value & 15, n);
        allow(2 * byte + 1, value >> 4, n);
      }
    }
  }
  return tables;
}

const THREE = 3;
const HALVES = 16;
const PLACE_MASK = 2 ** PLACE_BITS - 1;
const ANY_BYTE = Array.from({ length: 256 }, (_, byte) => byte);

/** Native RegExp reads 1 GB in a second, and takes bytes as the characters of Latin-1. */
function regexFinder(haystack: Buffer, literals: readonly Literal[], between: () => void): Finder {
  const regex = new RegExp(literals.map(patternOf).join("|"), "g");
  let start = 0;
  let window = "";
  return (from) => {
    for (let at = from; ; ) {
      if (at < start || at + MOST_BYTES >= start + window.length) {
        between();
        start = at;
        window = haystack.toString("latin1", start, start + BLOCK_BYTES);
      }
      regex.lastIndex = at - start;
      const match = regex.exec(window);
      const isLast = start + window.length >= haystack.length;
      const next = match?.index ?? window.length - MOST_BYTES;
      // The window may end within a longer literal that counts before the one that was found.
      const isWhole = isLast || next + MOST_BYTES <= window.length;
      if (match !== null && isWhole) return { at: start + match.index, bytes: match[0].length };
      if (isLast) return undefined;
      at = start + next;
    }
  };
}

function patternOf(literal: Literal): string {
  return literal.slice(0, MOST_CASES_LENGTH).map(casesOf).join("");
}

/** A character in any of its cases, by the bytes that they have. */
function casesOf(cases: string): string {
  if (cases === ANY) return "[^]";
  const all = Array.from(cases, (character) => Array.from(Buffer.from(character), spelled));
  return all.every(({ length }) => length === 1)
    ? `[${all.join("")}]`
    : `(?:${all.map((one) => one.join("")).join("|")})`;
}

const spelled = (byte: number) => `\\x${byte.toString(16).padStart(2, "0")}`;
