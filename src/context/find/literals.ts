import { type Finder, type FoundLiteral, MOST_CASES_LENGTH, openCases } from "./cases.ts";
import { BLOCK_BYTES, type Block, blockOf, findsBlocks, type LiteralBytes } from "./frequent.ts";
import { ANY, isPlain, type Literal, type Required } from "./hir.ts";
import type { Match, Part, Position } from "./match.ts";

/** The place of the first literal at or after a byte; the end of the haystack if there is none. */
export type NextLiteral = (from: number) => number;

/** The most bytes of a literal that are looked for: of a longer one its beginning. */
export const MOST_LITERAL_BYTES = 128;
/** Node finds so many bytes in a fifth of the time of more. */
const QUICK_BYTES = 7;
/** In a block so many calls of Node's search take as long as all places at once. */
const FREQUENT = 16;
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
  const [only] = literals;
  if (only && literals.length === 1 && isPlain(only)) return countPlain(haystack, only, between);
  const next = openFinder(haystack, literals, between);
  let matches = 0;
  for (let found = next(0); found; found = next(found.at + found.bytes)) {
    matches += 1;
    if (matches % SOME === 0) between();
  }
  return matches;
}

/** As `countLiterals`, without an object for each match. */
function countPlain(haystack: Buffer, literal: Literal, between: () => void): number {
  const { length, blockFrom } = openPlaces(haystack, literal, countsOf(haystack.subarray(0, SAMPLE_BYTES)));
  let matches = 0;
  let reported = 0;
  let free = 0;
  for (let block = blockFrom(0); block; block = blockFrom(Math.max(free, block.end))) {
    for (const at of block.places) {
      if (at < free) continue;
      matches += 1;
      free = at + length;
    }
    if (matches < reported + SOME) continue;
    reported = matches;
    between();
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
  const counts = countsOf(haystack.subarray(0, SAMPLE_BYTES));
  if (!literals.every(isPlain)) return openCases(haystack, literals, counts, between);
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

/** Finds a literal. */
function plainFinder(haystack: Buffer, literal: Literal, counts: Uint32Array): Finder {
  const { length, blockFrom } = openPlaces(haystack, literal, counts);
  let block: Block | undefined = { from: 0, end: 0, places: [] };
  /** The first place of the block that may be wanted next. */
  let next = 0;

  /** The first place of the block at or after a byte of it. */
  function placeInBlock(places: Block["places"], from: number): number | undefined {
    if (from <= (places[next - 1] ?? -1)) next = 0;
    while ((places[next] ?? from) < from) next += 1;
    return places[next];
  }

  return (from) => {
    for (let start = from; ; ) {
      if (block && start >= block.from && start < block.end) {
        const at = placeInBlock(block.places, start);
        if (at !== undefined) return { at, bytes: length };
        start = block.end;
      }
      block = blockFrom(start);
      next = 0;
      if (!block) return undefined;
    }
  };
}

/** The places of a literal in a text. */
interface Places {
  /** Bytes of the literal. */
  readonly length: number;
  /** The places in a part of the text that begins with a byte; undefined: there are no more. */
  blockFrom(start: number): Block | undefined;
}

/** Looks for a literal with Node's search or, where it is frequent, for many places at once. */
function openPlaces(haystack: Buffer, literal: Literal, counts: Uint32Array): Places {
  const whole = bytesOf(literal, counts);
  const { bytes, mask } = whole;
  const { length } = bytes;
  const [rarest] = whole.rarest;
  // Node looks for the first byte of a short needle, so the needle begins with the literal's rarest one.
  const gap = mask.indexOf(0, rarest);
  const needle = bytes.subarray(rarest, Math.min(rarest + QUICK_BYTES, gap < 0 ? length : gap));
  /** Needles that were found since a byte. */
  let hits = { count: 0, since: 0 };

  function isAt(start: number): boolean {
    for (let n = 0; n < length; n++) {
      if (mask[n] !== 0 && haystack[start + n] !== bytes[n]) return false;
    }
    return start + length <= haystack.length;
  }

  function isFrequent(at: number): boolean {
    if (at < hits.since || at > hits.since + BLOCK_BYTES) hits = { count: 0, since: at };
    return hits.count >= FREQUENT && findsBlocks();
  }

  return {
    length,
    blockFrom(from) {
      for (let start = from; ; ) {
        if (isFrequent(start) && start + length <= haystack.length) {
          const { end, places } = blockOf(haystack, start, whole);
          hits = { count: places.length, since: end };
          return { from, end, places };
        }
        const at = haystack.indexOf(needle, start + rarest) - rarest;
        if (at < start) return undefined;
        hits.count += 1;
        if (isAt(at)) return { from, end: at + 1, places: [at] };
        start = at + 1;
      }
    },
  };
}

function bytesOf(literal: Literal, counts: Uint32Array): LiteralBytes {
  const places = literal.map((place) => (place === ANY ? [0] : Array.from(Buffer.from(place))));
  const bytes = Uint8Array.from(places.flat()).subarray(0, MOST_LITERAL_BYTES);
  const masks = literal.flatMap((place, n) => Array.from(places[n] ?? [], () => (place === ANY ? 0 : 255)));
  const mask = Uint8Array.from(masks).subarray(0, MOST_LITERAL_BYTES);
  const rarest = Array.from(bytes.keys())
    .filter((at) => mask[at] !== 0)
    .sort((one, other) => (counts[bytes[one] ?? 0] ?? 0) - (counts[bytes[other] ?? 0] ?? 0));
  const [one = 0, other = one] = rarest;
  return { bytes, mask, rarest: [one, other] };
}
