import type { Text } from "../text/text.ts";
import { CHUNK_UNITS, chunksIn, type Span } from "./chunks.ts";

/** The parts of an index. Plain data, which threads share. */
export interface Plan {
  /** Starts and ends of the ranges of P that are searched, UTF-16 units. */
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  /** The number of the first range of each part, and then the number of all ranges. */
  readonly firsts: Uint32Array;
}

/** UTF-16 units of P in a part: a thread works on one for about 50 ms, and takes 30 MB. */
const PART_UNITS = 2 * 1024 * 1024;
/** A part with less room than this is full. A part of a large P ends with a line, if one ends there. */
const LEAST_ROOM = 64 * 1024;
const LINE_FEED = 10;

/**
 * Divides the ranges of P that are searched into parts. A range that two parts share is cut.
 *
 * @param documents sorted, not overlapping
 * @param between is called for each range, and may throw to end the work
 */
export function planOf(text: Text, documents: Iterable<Span>, between = () => {}): Plan {
  const cut = text.large ? lineEndBefore : chunkEndAfter;
  const starts = openNumbers();
  const ends = openNumbers();
  const firsts: number[] = [];
  let room = 0;
  for (const { start, end } of documents) {
    between();
    for (let at = start; at < end; ) {
      if (room < LEAST_ROOM) {
        firsts.push(starts.count());
        room = PART_UNITS;
      }
      const to = at + room < end ? cut(text, { start: at, end }, at + room) : end;
      starts.push(at);
      ends.push(to);
      room = to < end ? 0 : room - (to - at);
      at = to;
    }
  }
  firsts.push(starts.count());
  return { starts: starts.all(), ends: ends.all(), firsts: Uint32Array.from(firsts) };
}

/** The number of parts. */
export const partsIn = ({ firsts }: Plan) => firsts.length - 1;

/** The ranges of P in a part. */
export function spansOf({ starts, ends, firsts }: Plan, part: number): Span[] {
  const first = firsts[part] ?? 0;
  const length = (firsts[part + 1] ?? first) - first;
  return Array.from({ length }, (_, n) => ({ start: starts[first + n] ?? 0, end: ends[first + n] ?? 0 }));
}

/**
 * The end of the chunk of a range that holds a unit: chunks do not depend on parts. The units
 * before it are looked through.
 */
function chunkEndAfter(text: Text, { start, end }: Span, unit: number): number {
  const last = Math.min(end, unit + 2 * CHUNK_UNITS);
  const bytes = text.read(text.byteAt(start), text.byteAt(last));
  for (const chunk of chunksIn(bytes, start, [{ start, end: last }])) if (chunk.end >= unit) return chunk.end;
  return end;
}

/** The last line end before a unit; if none is near, the beginning of the character there. */
function lineEndBefore(text: Text, { start }: Span, unit: number): number {
  const byte = text.byteAt(unit);
  const from = Math.max(text.byteAt(start), byte - LEAST_ROOM);
  const line = text.read(from, byte).lastIndexOf(LINE_FEED);
  return text.unitAt(line < 0 ? byte : from + line + 1);
}

/** Numbers that are added one by one, in memory that threads share. */
interface Numbers {
  count(): number;
  push(number: number): void;
  all(): Float64Array;
}

function openNumbers(): Numbers {
  let numbers = new Float64Array(1024);
  let count = 0;
  return {
    count: () => count,
    push(number) {
      if (count === numbers.length) numbers = new Float64Array(numbers.buffer.transfer(2 * numbers.byteLength));
      numbers[count++] = number;
    },
    all() {
      const shared = new Float64Array(new SharedArrayBuffer(count * Float64Array.BYTES_PER_ELEMENT));
      shared.set(numbers.subarray(0, count));
      return shared;
    },
  };
}
