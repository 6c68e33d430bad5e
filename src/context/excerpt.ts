import type { Converted, Place } from "../documents/growing.ts";
import type { Context, Document, PiecedBytes } from "./context.ts";
import { separatorOf } from "./load/file-content.ts";
import { openPlaces, placesBefore } from "./text/places.ts";

/** UTF-16 units of a P. */
export type Range = readonly [start: number, end: number];

/**
 * The parts of documents that lie in the ranges, as files to load: nothing becomes a JavaScript
 * string. What stands between documents is left out. A range that ends inside a character (a
 * surrogate pair) takes all of it. Parts of a converted document keep their places.
 *
 * @param ranges sorted, and apart from each other
 */
export function excerptOf(context: Pick<Context, "text" | "documents">, ranges: readonly Range[]) {
  const parts = partsOf(context, ranges.map(wholeCharacters(context.text)));
  let at = 0;
  const placed = parts.map((part) => {
    const separator = separatorOf(part.id);
    const start = at + separator.length;
    at = start + part.end - part.start;
    return { ...part, separator, at: start };
  });
  const { byteAt } = context.text;
  const { at: placeAt } = openPlaces(context.text, context.documents);
  const lineAt = (offset: number) => placeAt(offset)?.line ?? 1;
  return {
    /**
     * In their order in P: `ID` if all of the document is there, else `ID:start-end`, with offsets
     * in the document.
     */
    files: placed.map((part) => ({
      relative: part.id,
      path: "-",
      bytes: rangeOf(context.text, byteAt(part.start), byteAt(part.end)),
      ...conversionOf(part, lineAt),
    })),
    /**
     * The places of an excerpt's range in the context that it is of: a range for each part that it
     * touches.
     */
    toParent: ([start, end]: Range) =>
      placed.flatMap((part) => {
        const shift = part.start - part.at;
        const own = [Math.max(start + shift, part.start), Math.min(end + shift, part.end)] as const;
        return own[0] < own[1] ? [own] : [];
      }),
  };
}

/** Bytes of a text in files that are read at once. */
const PIECE_BYTES = 2 ** 20;

/** A range of bytes. That of a text in files is read when it is put into another context. */
function rangeOf({ large, read }: Context["text"], from: number, to: number): Uint8Array | PiecedBytes {
  if (!large) return read(from, to);
  return {
    length: to - from,
    *pieces() {
      for (let at = from; at < to; at += PIECE_BYTES) yield read(at, Math.min(at + PIECE_BYTES, to));
    },
  };
}

/** True if the ranges leave nothing of P out. */
export function isAll({ length }: Context["text"], ranges: readonly Range[]): boolean {
  const [first] = ranges;
  return ranges.length === 1 && first?.[0] === 0 && first[1] === length;
}

/** A part of a document: all of it, or what lies in a range. */
interface Part extends Pick<Document, "id" | "start" | "end"> {
  readonly of: Document;
}

/**
 * A part of a converted document as one: with what was lost, if it is all of it.
 *
 * @param lineAt the line of an offset of P
 */
function conversionOf({ of, start, end }: Part, lineAt: (offset: number) => number): Partial<Converted> {
  const { original, places = [], lost = [] } = of;
  if (!original) return {};
  if (start === of.start && end === of.end) return { original, places, lost };
  const from = start - of.start;
  const to = end - of.start;
  const first = placesBefore(places, from);
  const cut = places[first - 1];
  const inside = places.slice(first, placesBefore(places, to)).map((place) => moved(place, place[0] - from));
  if (!cut || inside[0]?.[0] === 0) return { original, places: inside };
  const [unit, label, firstRow] = cut;
  // The line that a part begins with is taken for its heading, so that the rows behind it have
  // their numbers.
  const row = firstRow === undefined ? undefined : firstRow + lineAt(start) - lineAt(of.start + unit);
  return { original, places: [moved([unit, label, row], 0), ...inside] };
}

const moved = ([, label, firstRow]: readonly [number, string, (number | undefined)?], unit: number): Place =>
  firstRow === undefined ? [unit, label] : [unit, label, firstRow];

function partsOf({ documents }: Pick<Context, "documents">, ranges: readonly Range[]): readonly Part[] {
  let next = 0;
  return [...documents].flatMap((of) => {
    const { id, start, end } = of;
    while ((ranges[next]?.[1] ?? end) < start) next++;
    const parts: Part[] = [];
    for (let i = next; i < ranges.length && (ranges[i]?.[0] ?? end) <= end; i++) {
      const [from, to] = ranges[i] ?? [end, end];
      const part = { start: Math.max(from, start), end: Math.min(to, end) };
      const isWhole = part.start === start && part.end === end;
      if (isWhole) parts.push({ id, ...part, of });
      else if (part.start < part.end)
        parts.push({ id: `${id}:${part.start - start}-${part.end - start}`, ...part, of });
    }
    return parts;
  });
}

function wholeCharacters({ byteAt, unitAt }: Context["text"]): (range: Range) => Range {
  return ([start, end]) => {
    const last = byteAt(end);
    // The first byte of a character of two units, which always has four bytes.
    return [unitAt(byteAt(start)), unitAt(last) < end ? unitAt(last + 4) : end];
  };
}
