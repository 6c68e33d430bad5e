import { isAscii } from "node:buffer";

/** A half-open range of P, UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A range of P that is ranked as one, also in bytes of what was read of P. */
interface Chunk extends Span {
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
    from = advance(bytes, from, span.start - unit).to;
    for (let start = span.start; start < span.end; ) {
      const reached = advance(bytes, from, Math.min(span.end - start, CHUNK_UNITS));
      const isLast = start + reached.units === span.end;
      const { to, units } = isLast || reached.line.units === 0 ? reached : reached.line;
      if (units === 0) return;
      yield { start, end: start + units, from, to };
      start += units;
      from = to;
    }
    unit = span.end;
  }
}

/** A place further on in some bytes, and the UTF-16 units up to there. */
interface Place {
  readonly to: number;
  readonly units: number;
}

/** A place, and the last end of a line up to it; `units` of that is 0 if there is none. */
interface Reached extends Place {
  readonly line: Place;
}

const LINE_FEED = 10;

/** Goes over whole characters, at most so many UTF-16 units of them. */
function advance(bytes: Buffer, from: number, most: number): Reached {
  const ascii = bytes.subarray(from, from + most);
  if (isAscii(ascii)) {
    const line = ascii.lastIndexOf(LINE_FEED) + 1;
    return { to: from + ascii.length, units: ascii.length, line: { to: from + line, units: line } };
  }
  let units = 0;
  let to = from;
  let lineUnits = 0;
  let lineTo = from;
  while (to < bytes.length) {
    const byte = bytes[to] ?? 0;
    const wide = byte >= 0xf0 ? 2 : 1;
    if (units + wide > most) break;
    units += wide;
    to += byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    if (byte !== LINE_FEED) continue;
    lineUnits = units;
    lineTo = to;
  }
  return { to, units, line: { to: lineTo, units: lineUnits } };
}
