import { openText, type Text, type TextData } from "../text/text.ts";
import { compileFind, type FindPattern, searchError } from "./pattern.ts";
import { type Match, scan, type Windows } from "./scan.ts";

/**
 * 64 KB: after the first character that is not ASCII, a search with `\b` is slow to the end of its
 * window (0.19 s for 10 MB in windows of 256 KB, 0.08 s in these), and larger windows make no
 * pattern faster, as a call costs microseconds. 12 KB: `.` with the default limit of 10,000 is
 * answered from the first one.
 */
const WINDOWS: Windows = { smallest: 12 * 1024, largest: 64 * 1024, effort: 256 * 1024 * 1024 };

/**
 * The first `limit` matches: those of one pass of Rust's regex crate over the whole text, whatever
 * the sizes of windows. They are UTF-16 offsets, ascending, never overlapping. `capped`: there is
 * at least one more.
 */
export function find(text: Text, pattern: FindPattern, limit: number, between?: () => void, windows?: Windows) {
  const matches: [start: number, end: number][] = [];
  for (const some of matchesIn(text.read(0, text.bytes), pattern, between, windows)) {
    for (const [start, end] of some) {
      if (matches.length === limit) return { matches, capped: true };
      matches.push([text.unitAt(start), text.unitAt(end)]);
    }
  }
  return { matches, capped: false };
}

/** The number of all matches. */
export function count(text: Text, pattern: FindPattern, between?: () => void): number {
  let matches = 0;
  for (const some of matchesIn(text.read(0, text.bytes), pattern, between)) for (const _match of some) matches++;
  return matches;
}

/**
 * All matches in their order, some at a time; each is found when it is taken, or not long before.
 *
 * @param between is called between two windows, and may throw to end the search
 */
export function* matchesIn(
  bytes: Uint8Array,
  pattern: FindPattern,
  between = () => {},
  windows = WINDOWS,
): Generator<Iterable<Match>> {
  try {
    yield* scan(bytes, pattern, windows, between);
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
