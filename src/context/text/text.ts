import { isAscii } from "node:buffer";
import { binarySearch } from "../../platform/binary-search.ts";
import { openFileText } from "./file-text.ts";
import { openLines } from "./lines.ts";
import type { MemoryText, Text, TextData } from "./port.ts";
import { unitsOf } from "./tally.ts";

export type { MemoryText, Text, TextData } from "./port.ts";

const BLOCK = 2048;

/**
 * Makes a text of valid UTF-8 parts, one after the other. Each ends on a character boundary. At
 * 100 MB the work takes about 0.2 s, so `pause` is awaited between slices of it.
 */
export async function textFromParts(
  parts: readonly Uint8Array[],
  pause: (bytes: number) => Promise<void>,
): Promise<Text<MemoryText>> {
  const work = assemble(parts);
  for (;;) {
    const step = work.next();
    if (step.done) return openMemoryText(step.value);
    await pause(step.value);
  }
}

/** The text of a JavaScript string; lone surrogates become U+FFFD. */
export function textFromString(text: string): Text<MemoryText> {
  const work = assemble([Buffer.from(text, "utf8")]);
  for (;;) {
    const step = work.next();
    if (step.done) return openMemoryText(step.value);
  }
}

/** Opens data that came from another thread; nothing is copied. */
export function openText(data: MemoryText): Text<MemoryText>;
export function openText(data: TextData): Text;
export function openText(data: TextData): Text {
  return "bytes" in data ? openMemoryText(data) : openFileText(data);
}

function openMemoryText(data: MemoryText): Text<MemoryText> {
  const { bytes, length } = data;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const whole = {
    data,
    length,
    bytes: bytes.length,
    read: (from: number, to: number) => view.subarray(Math.max(from, 0), Math.max(to, 0)),
    lines: openLines(bytes),
    [Symbol.dispose]() {},
  };
  if (bytes.length === length) {
    const clamp = (offset: number): number => Math.min(Math.max(offset, 0), length);
    return {
      ...whole,
      slice: (start, end) => view.toString("latin1", clamp(start), clamp(end)),
      unitAt: clamp,
      byteAt: clamp,
    };
  }
  return {
    ...whole,
    slice: (start, end) => sliceUnits(data, view, start, Math.min(end, length)),
    unitAt: unitReader(data),
    byteAt: (unit) => locate(data, unit).byte,
  };
}

/** Memory that crosses threads without a copy. */
export function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length));
}

/**
 * Copies and indexes; yields the bytes that each step has worked on. One part in shared memory
 * stays where it is.
 */
function* assemble(parts: readonly Uint8Array[]): Generator<number, MemoryText> {
  const [first] = parts;
  if (parts.length === 1 && first?.buffer instanceof SharedArrayBuffer) return yield* index(first);
  const bytes = sharedBytes(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    for (let start = 0; start < part.length; start += STEP) {
      const slice = part.subarray(start, start + STEP);
      bytes.set(slice, at);
      at += slice.length;
      yield slice.length;
    }
  }
  return yield* index(bytes);
}

/** Bytes of one step, a whole number of blocks. */
const STEP = 512 * BLOCK;

function* index(bytes: Uint8Array): Generator<number, MemoryText> {
  if (isAscii(bytes)) return { bytes, anchors: new Uint32Array(new SharedArrayBuffer(0)), length: bytes.length };
  const blocks = Math.ceil(bytes.length / BLOCK);
  const anchors = new Uint32Array(new SharedArrayBuffer(blocks * Uint32Array.BYTES_PER_ELEMENT));
  let units = 0;
  for (let block = 0; block < blocks; block++) {
    anchors[block] = units;
    const end = Math.min((block + 1) * BLOCK, bytes.length);
    units += unitsIn(bytes, block * BLOCK, end);
    if ((block + 1) * BLOCK === end && end % STEP === 0) yield STEP;
  }
  return { bytes, anchors, length: units };
}

/** UTF-16 units of the characters that begin in `start..end`. */
export function unitsIn(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > 100 && isAscii(bytes.subarray(start, end))) return end - start;
  let units = 0;
  for (let at = start; at < end; at++) units += unitsOf(bytes[at] ?? 0);
  return units;
}

/**
 * Matches arrive in ascending order, so counting continues from the last answer while it lies in
 * the same block.
 */
function unitReader({ bytes, anchors, length }: MemoryText): (byte: number) => number {
  let lastByte = 0;
  let lastUnit = 0;
  let blockEnd = 0;
  return (byte) => {
    if (byte >= bytes.length) return length;
    if (byte < lastByte || byte >= blockEnd) {
      const block = Math.floor(Math.max(byte, 0) / BLOCK);
      if (byte < lastByte || lastByte < block * BLOCK) {
        lastByte = block * BLOCK;
        lastUnit = anchors[block] ?? 0;
      }
      blockEnd = (block + 1) * BLOCK;
    }
    if (byte > lastByte) {
      lastUnit += unitsIn(bytes, lastByte, byte);
      lastByte = byte;
    }
    return lastUnit;
  };
}

/** The character that contains `unit`: its first byte and its first unit. Past the end: the end. */
function locate({ bytes, anchors, length }: MemoryText, unit: number): { byte: number; unit: number } {
  if (unit >= length) return { byte: bytes.length, unit: length };
  const block = Math.max(0, binarySearch(anchors.length, (at) => (anchors[at] ?? 0) > unit) - 1);
  let byte = block * BLOCK;
  let at = anchors[block] ?? 0;
  const guess = byte + unit - at;
  if (guess >= byte && guess < bytes.length && isAscii(bytes.subarray(byte, guess + 1))) return { byte: guess, unit };
  for (;;) {
    const units = unitsOf(bytes[byte] ?? 0);
    if (units > 0 && at + units > unit) return { byte, unit: at };
    at += units;
    byte += 1;
  }
}

function sliceUnits(data: MemoryText, view: Buffer, start: number, end: number): string {
  const from = Math.max(start, 0);
  if (end <= from) return "";
  const first = locate(data, from);
  const last = locate(data, end);
  // An end inside a surrogate pair: the four bytes of the character are decoded, the second unit is
  // cut off.
  const endByte = last.unit < end ? last.byte + 4 : last.byte;
  const decoded = view.toString("utf8", first.byte, endByte);
  return first.unit === from && last.unit === end ? decoded : decoded.slice(from - first.unit, end - first.unit);
}
