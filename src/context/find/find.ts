import { openText, type Text, type TextData } from "../text/text.ts";
import { matchesInWindows } from "./open-windows.ts";
import { compileFind, type FindPattern, searchError } from "./pattern.ts";
import { hasShortLines } from "./pieces.ts";
import { type Match, scan } from "./scan.ts";
import { SIZES, type Sizes } from "./sizes.ts";
import { countByThreads, matchesByThreads } from "./threads.ts";

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
  between: () => void,
  sizes: Sizes,
): Generator<Iterable<Match>> {
  try {
    if (isSearchedInPieces(text, pattern, sizes, between))
      yield* matchesByThreads({ text, pattern, sizes, between }, wanted);
    else yield* searched(text, pattern, sizes, between);
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

/**
 * Documents of one text: their ranges in it, UTF-16 units. Plain data, which can be sent between
 * threads.
 */
interface SearchedText {
  readonly text: TextData;
  readonly ranges: readonly (readonly [start: number, end: number])[];
}

export interface DocumentHits {
  readonly hits: DocumentHit[];
  readonly total: number;
  readonly documents: number;
}

interface DocumentHit {
  /** Which text, and which of its ranges. */
  readonly text: number;
  readonly range: number;
  /** UTF-16 units of the document. */
  readonly start: number;
  readonly end: number;
}

export const HITS_COUNTED = 10_000;

/**
 * Finds a pattern in each document by itself: no match goes beyond one. The result has the first
 * hits in order, the number of matches, counted up to 10,000, and the number of documents with a
 * match.
 *
 * @throws RlmError as `compileFind` does
 */
export function findInDocuments(
  texts: readonly SearchedText[],
  pattern: string,
  flags: string,
  limit: number,
): DocumentHits {
  const compiled = compileFind(pattern, flags);
  const hits: DocumentHit[] = [];
  let total = 0;
  let documents = 0;
  for (const [text, { text: data, ranges }] of texts.entries()) {
    using opened = openText(data);
    const { unitAt, byteAt } = opened;
    for (const [range, [first, last]] of ranges.entries()) {
      const from = byteAt(first);
      const bytes = opened.read(from, byteAt(last));
      const before = total;
      for (const some of matchesIn(bytes, compiled)) {
        for (const [start, end] of some) {
          if (hits.length < limit)
            hits.push({ text, range, start: unitAt(from + start) - first, end: unitAt(from + end) - first });
          total += 1;
          if (total === HITS_COUNTED) return { hits, total, documents: documents + 1 };
        }
      }
      if (total > before) documents += 1;
    }
  }
  return { hits, total, documents };
}
