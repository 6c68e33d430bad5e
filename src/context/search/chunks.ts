import { isAscii } from "node:buffer";
import type { Text } from "../text/text.ts";

/** A half-open range of P, UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A range of P that is ranked as one, also in bytes of P's UTF-8. */
export interface Chunk extends Span {
  readonly from: number;
  readonly to: number;
}

/** Most UTF-16 units in a chunk: about one screen of code, small enough that a hit can be read whole. */
export const CHUNK_UNITS = 1500;

/**
 * Cuts documents (sorted, not overlapping) into chunks of whole lines, as many as fit in `CHUNK_UNITS`. A longer
 * line is cut at that length, never inside a surrogate pair. Chunks of a document tile it; none crosses its ends.
 */
export function* chunksOf({ data, byteAt }: Text, documents: readonly Span[]): Generator<Chunk> {
  const bytes = Buffer.from(data.bytes.buffer, data.bytes.byteOffset, data.bytes.length);
  for (const document of documents) {
    const last = byteAt(document.end);
    let from = byteAt(document.start);
    for (let start = document.start; from < last; ) {
      const { to, units } = reach(bytes, from, last);
      yield { start, end: start + units, from, to };
      start += units;
      from = to;
    }
  }
}

/** The end of the chunk that begins at `from`, in a document that ends at `last`, and its UTF-16 units. */
function reach(bytes: Buffer, from: number, last: number): { to: number; units: number } {
  const most = advance(bytes, from, last);
  if (most.to === last) return most;
  const to = from + (bytes.subarray(from, most.to).lastIndexOf(LINE_FEED) + 1 || most.to - from);
  return most.units === most.to - from ? { to, units: to - from } : advance(bytes, from, to);
}

const LINE_FEED = 10;

/** Goes over whole characters, at most `CHUNK_UNITS` UTF-16 units of them, up to `last`. */
function advance(bytes: Buffer, from: number, last: number): { to: number; units: number } {
  const most = Math.min(from + CHUNK_UNITS, last);
  if (isAscii(bytes.subarray(from, most))) return { to: most, units: most - from };
  let units = 0;
  let to = from;
  while (to < last) {
    const byte = bytes[to] ?? 0;
    const wide = byte >= 0xf0 ? 2 : 1;
    if (units + wide > CHUNK_UNITS) break;
    units += wide;
    to += byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  }
  return { to, units };
}
