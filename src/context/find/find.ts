import type { Text } from "../text/text.ts";
import type { Match } from "./match.ts";
import { matchesInWindows } from "./open-windows.ts";
import { type FindPattern, searchError } from "./pattern.ts";
import { hasShortLines } from "./pieces.ts";
import { scan } from "./scan.ts";
import { SIZES, type Sizes } from "./sizes.ts";
import { countByThreads, matchesByPieces, matchesByThreads } from "./threads.ts";

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
  for (const some of matchesOf(text, pattern, limit + 1, between, { ...SIZES, ...sizes })) {
    for (const [start, end] of some) {
      if (matches.length === limit) return { matches, capped: true };
      matches.push([text.unitAt(start), text.unitAt(end)]);
    }
  }
  return { matches, capped: false };
}

/** The number of all matches. @param between as `find` has it */
export function count(text: Text, pattern: FindPattern, between = () => {}, sizes: Partial<Sizes> = {}): number {
  const all = { ...SIZES, ...sizes };
  try {
    if (isSearchedInPieces(text, pattern, all, between)) return countByThreads({ text, pattern, sizes: all, between });
    let matches = 0;
    for (const some of searched(text, pattern, all, between)) for (const _match of some) matches++;
    return matches;
  } catch (error) {
    throw searchError(error);
  }
}

/** All matches of a text in their order, bytes of it, some at a time. @param wanted more are not taken */
function* matchesOf(
  text: Text,
  pattern: FindPattern,
  wanted: number,
  between = () => {},
  sizes = SIZES,
): Generator<Iterable<Match>> {
  try {
    if (isSearchedInPieces(text, pattern, sizes, between))
      yield* matchesByThreads({ text, pattern, sizes, between }, wanted);
    else yield* searched(text, pattern, sizes, between);
  } catch (error) {
    throw searchError(error);
  }
}

/**
 * All matches of a part of a text in files, as if there were no more of it: bytes of the part, some
 * at a time.
 */
export function* matchesOfPart(
  text: Text,
  from: number,
  to: number,
  pattern: FindPattern,
  sizes = SIZES,
): Generator<Iterable<Match>> {
  const between = () => {};
  const read = (start: number, end: number, room?: Buffer) =>
    text.read(from + Math.max(start, 0), Math.min(from + end, to), room);
  const part = { data: text.data, bytes: to - from, read };
  try {
    if (from === 0 && to === text.bytes) yield* matchesOf(text, pattern, Number.POSITIVE_INFINITY, between, sizes);
    else if (pattern.lineLocal && hasShortLines(part, sizes, between))
      yield* matchesByPieces({ text: part, pattern, sizes, between });
    else yield* matchesInWindows(part, pattern, sizes, between);
  } catch (error) {
    throw searchError(error);
  }
}

/** True for a text in files whose lines can be searched as if there were no others. */
function isSearchedInPieces(text: Text, pattern: FindPattern, sizes: Sizes, between: () => void): boolean {
  return text.large !== undefined && pattern.lineLocal && hasShortLines(text, sizes, between);
}

/** All matches of a text that this thread searches from its begin to its end. */
function searched(text: Text, pattern: FindPattern, sizes: Sizes, between: () => void): Iterable<Iterable<Match>> {
  if (text.large !== undefined) return matchesInWindows(text, pattern, sizes, between);
  return scan(text.read(0, text.bytes), pattern, sizes.windows, between);
}

/**
 * All matches of a text in memory in their order, bytes of it, some at a time; each is found when it
 * is taken, or not long before.
 */
export function* matchesIn(bytes: Uint8Array, pattern: FindPattern): Generator<Iterable<Match>> {
  try {
    yield* scan(bytes, pattern, SIZES.windows, () => {});
  } catch (error) {
    throw searchError(error);
  }
}
