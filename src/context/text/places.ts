import type { Place } from "../../documents/growing.ts";
import { binarySearch } from "../../platform/binary-search.ts";
import type { Document, Documents } from "../document.ts";
import type { Text } from "./text.ts";

const LINE_UNITS = 200;
/** Units shown before the offset if a line is cut at its beginning. */
const LEAD_UNITS = 60;

/** Finds the places of offsets. @param documents by `start`, not overlapping */
export function openPlaces(text: Text, documents: Documents) {
  const { lines } = text;
  const newlinesBefore = (offset: number) => lines.at(text.byteAt(offset)).newlines;

  return {
    /**
     * Counts the lines of P, unless that is done: about 0.3 s for 100 MB. Other methods do so when
     * they are called first.
     */
    prepare: lines.prepare,
    /** The first document that does not end before the offset. */
    documentFrom: (offset: number) => documentAt(documents, offset),
    /**
     * The place of an offset of P: its document, with the document's range in P, and the line and
     * column there, from 1. Columns are UTF-16 units. `place` is the part of a document that was
     * converted: `p.12`, `Sales!17`. Between two documents it gives the beginning of the one that
     * follows, behind the last one null.
     */
    at(offset: number) {
      const document = documentAt(documents, offset);
      if (!document) return null;
      const { id, start, end } = document;
      const within = Math.max(offset, start);
      const line = lines.at(text.byteAt(within));
      const lineNumber = line.newlines - newlinesBefore(start) + 1;
      const column = within - Math.max(text.unitAt(line.start), start) + 1;
      const place = labelAt(
        document.places ?? [],
        within - start,
        (unit) => line.newlines - newlinesBefore(start + unit),
      );
      return { id, start, end, line: lineNumber, column, place };
    },
    /**
     * The line that holds an offset, without its end; of a long one about 200 units around the
     * offset.
     */
    lineText(offset: number): string {
      const lineStart = text.unitAt(lines.at(text.byteAt(offset)).start);
      const from = offset - lineStart <= LINE_UNITS - LEAD_UNITS ? lineStart : offset - LEAD_UNITS;
      const ahead = text.slice(from, from + LINE_UNITS + 1);
      const lineEnd = ahead.search(/\r?\n/);
      const shown = lineEnd >= 0 ? ahead.slice(0, lineEnd) : ahead.slice(0, LINE_UNITS);
      const isCut = lineEnd < 0 && ahead.length > LINE_UNITS;
      return `${from > lineStart ? "…" : ""}${shown.toWellFormed()}${isCut ? "…" : ""}`;
    },
  };
}

/** The first document that does not end before the offset. */
function documentAt(documents: Documents, offset: number): Document | undefined {
  if (offset < 0) return undefined;
  return documents.at(binarySearch(documents.length, (at) => (documents.at(at)?.end ?? 0) >= offset));
}

/**
 * The label of the part of a document in which a unit lies; null before the first part, and in one
 * without a label. A part begins with its heading; where the lines behind that are rows, the label
 * has the row. Row 0 of a table has the names of its columns.
 * @param linesSince the lines from a unit of the document to the one that is asked for
 */
function labelAt(places: readonly Place[], unit: number, linesSince: (unit: number) => number): string | null {
  const [begin, label, firstRow] = places[placesBefore(places, unit + 1) - 1] ?? [0, ""];
  const row = firstRow === undefined ? 0 : firstRow + linesSince(begin) - 1;
  const isRow = row >= Math.max(1, firstRow ?? 0);
  return label === "" ? null : isRow ? `${label}!${row}` : label;
}

/**
 * The ranges of P that documents and their parts take, so that a passage of one of them has one
 * place.
 */
export function* partsOf(documents: Documents): Generator<Pick<Document, "start" | "end">> {
  for (const { start, end, places = [] } of documents) {
    const begins = [start, ...places.map(([unit]) => start + unit)];
    for (const [at, begin] of begins.entries()) yield { start: begin, end: begins[at + 1] ?? end };
  }
}

/** The number of places that begin before a unit. */
export function placesBefore(places: readonly Place[], unit: number): number {
  return binarySearch(places.length, (at) => (places[at]?.[0] ?? 0) >= unit);
}
