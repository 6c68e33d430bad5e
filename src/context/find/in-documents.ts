import { openText, type Text, type TextData } from "../text/text.ts";
import { matchesOfPart } from "./find.ts";
import { compileFind } from "./pattern.ts";
import { SIZES } from "./sizes.ts";

/** Documents of one text. Plain data, which can be sent between threads. */
interface SearchedText {
  readonly text: TextData;
  /** Ranges of the documents in it, UTF-16 units; null: all documents of a text in files. */
  readonly ranges: readonly UnitRange[] | null;
}

type UnitRange = readonly [start: number, end: number];

export interface DocumentHits {
  readonly hits: DocumentHit[];
  readonly total: number;
  readonly documents: number;
}

interface DocumentHit {
  /** Which text, and which of its documents. */
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
  sizes = SIZES,
): DocumentHits {
  const compiled = compileFind(pattern, flags);
  const hits: DocumentHit[] = [];
  let total = 0;
  let documents = 0;
  for (const [text, { text: data, ranges }] of texts.entries()) {
    using opened = openText(data);
    for (const [range, [first, last]] of rangesOf(opened, ranges)) {
      const before = total;
      for (const some of matchesOfPart(opened, opened.byteAt(first), opened.byteAt(last), compiled, sizes)) {
        for (const [start, end] of some) {
          if (hits.length < limit)
            hits.push({ text, range, start: opened.unitAt(start) - first, end: opened.unitAt(end) - first });
          total += 1;
          if (total === HITS_COUNTED) return { hits, total, documents: documents + 1 };
        }
      }
      if (total > before) documents += 1;
    }
  }
  return { hits, total, documents };
}

/** The documents' ranges with their numbers. Those of a table are read one after the other. */
function* rangesOf({ large }: Text, ranges: SearchedText["ranges"]): Generator<readonly [number, UnitRange]> {
  if (ranges) yield* ranges.entries();
  const documents = ranges ? null : large?.documents();
  for (let number = 0; number < (documents?.length ?? 0); number++) {
    const document = documents?.at(number);
    if (document) yield [number, [document.start, document.end]];
  }
}
