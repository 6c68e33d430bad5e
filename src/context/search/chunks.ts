import { isAscii } from "node:buffer";

/** A half-open range of P, UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A range of P that is ranked as one, also in bytes of what was read of P. */
export interface Chunk extends Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Most UTF-16 units in a chunk: about one screen of code, small enough that a hit can be read
 * whole.
 */
export const CHUNK_UNITS = 1500;

/**
 * Cuts spans (sorted, not overlapping) into chunks of whole lines, as many as fit in
 * `CHUNK_UNITS`. A longer line is cut at that length, never inside a surrogate pair. Chunks of a
 * span tile it; none crosses its ends.
 *
 * @param bytes the UTF-8 of P from the unit `first` on, as far as the spans reach
 */
export function* chunksIn(bytes: Buffer, first: number, spans: Iterable<Span>): Generator<Chunk> {
  let unit = first;
  let from = 0;
  for (const span of spans) {
    from = advance(bytes, from, bytes.length, span.start - unit).to;
    const last = advance(bytes, from, bytes.length, span.end - span.start).to;
    for (let start = span.start; from < last; ) {
      const { to, units } = reach(bytes, from, last);
      yield { start, end: start + units, from, to };
      start += units;
      from = to;
    }
    unit = span.end;
  }
}

/** A place further on in some bytes, and the UTF-16 units up to there. */
interface Advance {
  readonly to: number;
  readonly units: number;
}

/** The end of the chunk that begins at `from`, in a span that ends at `last`. */
function reach(bytes: Buffer, from: number, last: number): Advance {
  const most = advance(bytes, from, last, CHUNK_UNITS);
  if (most.to === last) return most;
  const to = from + (bytes.subarray(from, most.to).lastIndexOf(LINE_FEED) + 1 || most.to - from);
  return most.units === most.to - from ? { to, units: to - from } : advance(bytes, from, to, CHUNK_UNITS);
}

const LINE_FEED = 10;
/** Bytes that are looked at together: most are ASCII, also in a text that is not. */
const STEP = 512;

/** Goes over whole characters, at most so many UTF-16 units of them, up to `last`. */
function advance(bytes: Buffer, from: number, last: number, most: number): Advance {
  let units = 0;
  let to = from;
  while (to < last && units < most) {
    const step = Math.min(to + Math.min(most - units, STEP), last);
    if (isAscii(bytes.subarray(to, step))) {
      units += step - to;
      to = step;
      continue;
    }
    while (to < step) {
      const byte = bytes[to] ?? 0;
      const wide = byte >= 0xf0 ? 2 : 1;
      if (units + wide > most) return { to, units };
      units += wide;
      to += byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    }
  }
  return { to, units };
}
