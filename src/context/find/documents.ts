import { openText, type TextData } from "../text/text.ts";
import { compileFind, matchesIn } from "./find.ts";

/** Documents of one text: their ranges in it, UTF-16 units. Plain data, which can be sent between threads. */
export interface SearchedText {
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
 * Finds a pattern in each document by itself: no match goes beyond one. The result has the first hits in order, the number of
 * matches, counted up to 10,000, and the number of documents with a match.
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
    const { unitAt, byteAt } = openText(data);
    for (const [range, [first, last]] of ranges.entries()) {
      const from = byteAt(first);
      const bytes = data.bytes.subarray(from, byteAt(last));
      const before = total;
      for (const some of matchesIn({ bytes }, compiled)) {
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
