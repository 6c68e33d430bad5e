import { argumentError } from "../../../runtime/errors.ts";
import type { Text } from "../text/text.ts";
import { type Match, moved } from "./match.ts";
import { type FindPattern, searchError } from "./pattern.ts";
import { hasShortLines } from "./pieces.ts";
import { scan } from "./scan.ts";
import { SIZES, type Sizes } from "./sizes.ts";
import { openStreamSearch, Unsearched } from "./stream-search.ts";
import { countByThreads, matchesByThreads } from "./threads.ts";
import { boundary, CHARACTER_BYTES } from "./window.ts";

/** The first matches of a text. */
interface Found {
  /** Starts and ends, UTF-16 units. */
  readonly matches: [start: number, end: number][];
  /** True if there is at least one more. */
  readonly capped: boolean;
}

/**
 * The first `limit` matches: those of one pass of Rust's regex crate over the whole text, whatever
 * the sizes. They are ascending, and never overlap.
 *
 * @param between is called again and again, and may throw to end the search
 */
export function find(
  text: Text,
  pattern: FindPattern,
  limit: number,
  between = () => {},
  sizes: Partial<Sizes> = {},
): Found {
  const matches: [start: number, end: number][] = [];
  for (const some of matchesOf({ text, pattern, sizes: { ...SIZES, ...sizes }, between }, limit + 1)) {
    for (const [start, end] of some) {
      if (matches.length === limit) return { matches, capped: true };
      matches.push([text.unitAt(start), text.unitAt(end)]);
    }
  }
  return { matches, capped: false };
}

/** The number of all matches. @param between as `find` has it */
export function count(text: Text, pattern: FindPattern, between = () => {}, sizes: Partial<Sizes> = {}): number {
  const search = { text, pattern, sizes: { ...SIZES, ...sizes }, between };
  let matches = 0;
  try {
    if (isSearchedInPieces(search)) return countByThreads(search);
    for (const some of matchesInTurn(search)) for (const _match of some) matches++;
  } catch (error) {
    throw guestError(error, search);
  }
  return matches;
}

/** A search of a text. */
interface Search {
  readonly text: Text;
  readonly pattern: FindPattern;
  readonly sizes: Sizes;
  readonly between: () => void;
}

/** All matches of a text in their order, bytes of it, some at a time. @param wanted more are not taken */
function* matchesOf(search: Search, wanted: number): Generator<Iterable<Match>> {
  try {
    yield* isSearchedInPieces(search) ? matchesByThreads(search, wanted) : matchesInTurn(search);
  } catch (error) {
    throw guestError(error, search);
  }
}

/**
 * All matches of a part of a text, as if there were no more of it: bytes of the text, some at a time,
 * each found when it is taken, or not long before.
 */
export function* matchesOfPart(
  text: Text,
  from: number,
  to: number,
  pattern: FindPattern,
  sizes = SIZES,
): Generator<Iterable<Match>> {
  const search = { text, pattern, sizes, between: () => {} };
  if (from === 0 && to === text.bytes) return yield* matchesOf(search, Number.POSITIVE_INFINITY);
  try {
    yield* matchesInTurn(search, from, to);
  } catch (error) {
    throw guestError(error, search);
  }
}

/** True for a text in files whose lines can be searched as if there were no others. */
function isSearchedInPieces({ text, pattern, sizes, between }: Search): boolean {
  return text.large !== undefined && pattern.lineLocal && hasShortLines(text, sizes, between);
}

/** All matches of a part of a text, which this thread searches from its begin to its end. */
function* matchesInTurn(search: Search, from = 0, to = search.text.bytes): Generator<Iterable<Match>> {
  const { text, pattern, sizes, between } = search;
  if (text.large === undefined) {
    for (const some of scan(text.read(from, to), pattern, sizes.windows, between)) yield moved(some, from);
    return;
  }
  const stream = openStreamSearch(pattern, sizes, between);
  let known = from;
  for (let at = from, isLast = false; !isLast; ) {
    between();
    const read = text.read(at, Math.min(at + sizes.piece + CHARACTER_BYTES, to));
    isLast = at + read.length === to;
    const chunk = isLast ? read : read.subarray(0, boundary(read, read.length - 1));
    at += chunk.length;
    for (const { bytes, matches } of stream.take(chunk, isLast)) {
      for (const some of matches) yield moved(some, known);
      known += bytes.length;
    }
  }
}

/** The error of a search, as the guest gets it. */
function guestError(error: unknown, { sizes }: Search): unknown {
  if (!(error instanceof Unsearched)) return searchError(error);
  return argumentError(
    "RangeError",
    `find: a match of this pattern may be longer than ${Math.floor(sizes.largestWindow / 2 ** 20)} MB`,
    "Bound its repetitions across lines, for example [\\s\\S]{0,2000}? instead of [\\s\\S]*.",
  );
}
