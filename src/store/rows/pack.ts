import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { isPacked, MIN_PIECE, PACKING } from "../../../runtime/index.ts";
import type { Row } from "./row.ts";

/** Below this a text is kept as it is: it would lie on one page of the database anyhow. */
const PACKED_TEXT_UNITS = 4096;
/** If less than this comes out for a byte, it comes in one piece. */
const USUAL_RATIO = 16;

/**
 * The bytes that `pack` was given; null if they are damaged or more than `most`: no more than that
 * is unpacked.
 */
export function unpack(packed: Uint8Array, most: number): Buffer | null {
  if (!isPacked(packed))
    return packed.byteLength <= most ? Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength) : null;
  const piece = Math.min(most + 1, packed.byteLength * USUAL_RATIO);
  try {
    return zstdDecompressSync(packed, { chunkSize: Math.max(piece, MIN_PIECE), maxOutputLength: most });
  } catch {
    return null;
  }
}

/** Compresses long texts. */
export function packText(content: string): string | Uint8Array {
  return content.length < PACKED_TEXT_UNITS ? content : zstdCompressSync(content, { params: PACKING });
}

/** A text of `packText` as a server keeps it. */
export function packedBytes(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? Buffer.from(content) : content;
}

/**
 * The column's JSON text; null if it is damaged, or not within the bounds.
 *
 * @param room that is left for it and the rows that are read with it
 */
export function unpackText(row: Row, column: string, bounds = USUAL_BOUNDS, room?: Room): string | null {
  const found = row[column];
  const most = Math.min(bounds.bytes, room?.bytes ?? bounds.bytes);
  // A server keeps short texts as their bytes.
  const content = found instanceof Uint8Array ? unpack(found, most)?.toString() : found;
  if (typeof content !== "string" || content.length > most) return null;
  if (!room) return isWithin(content, bounds) ? content : null;
  const values = valuesIn(content, { ...bounds, values: Math.min(bounds.values, room.values) });
  if (values === null) return null;
  room.bytes -= content.length;
  room.values -= values;
  return content;
}

/**
 * The most that a column of JSON can have been given. Whoever can write to a database can write
 * rows too: what a few bytes unpack to, and what that becomes in memory, is bounded before it is
 * unpacked and before it is parsed.
 */
export interface Bounds {
  /** Bytes of the text in UTF-8. */
  readonly bytes: number;
  /**
   * Commas, arrays and objects: an empty array takes 2 bytes of text and many times as many in
   * memory.
   */
  readonly values: number;
  readonly depth: number;
}

const MB = 2 ** 20;

/** More than any record or state holds. What is nested deeper could not be handed on. */
export const USUAL_BOUNDS: Bounds = { bytes: 256 * MB, values: 4 * MB, depth: 1500 };

/** Bounds of what rows that are read at once, such as records of a session, may still unpack to. */
export interface Room {
  bytes: number;
  values: number;
}

/** More than a heap can take. */
export const openRoom = (): Room => ({ bytes: 1024 * MB, values: 32 * MB });

/** Facts and settings of a session, of which lists read hundreds at once. */
export const SESSION_BOUNDS: Bounds = { bytes: MB, values: 20_000, depth: 64 };

/**
 * A line of inputs has 1 MB; numbers and control characters may be longer in JSON. It is nested 200
 * levels at the most.
 */
export const INPUT_BOUNDS: Bounds = { bytes: 16 * MB, values: MB, depth: 300 };

/** Fields of their own, of which the output is the longest: 1 MB before it is JSON. */
export const TOLD_BOUNDS: Bounds = { bytes: 8 * MB, values: 1000, depth: 10 };

/** The list of a context's parts, of 64 characters each: one for each time that it was appended to. */
export const PARTS_BYTES = 16 * MB;

/** It is handed on as it is: what reads it says how. */
export const RESULT_BOUNDS: Bounds = {
  bytes: 101 * MB,
  values: Number.POSITIVE_INFINITY,
  depth: Number.POSITIVE_INFINITY,
};

/** A request by batch. It is read before it is sent, so it is not handed on as it is. */
export const BODY_BOUNDS: Bounds = { bytes: RESULT_BOUNDS.bytes, values: MB, depth: 500 };

/** A script of 256 KB, before it is JSON, and its settings. */
export const SPEC_BOUNDS: Bounds = { bytes: 4 * MB, values: 2000, depth: 10 };

/** A column without what is larger than it can have been: that is not even fetched. */
export function capped(column: string, bytes: number): string {
  return `CASE WHEN octet_length(${column}) <= ${bytes} THEN ${column} END AS ${column}`;
}

/** True if a JSON text has no more values and levels than these bounds. */
export function isWithin(json: string, bounds: Bounds): boolean {
  return json.length <= Math.min(bounds.values, bounds.depth) || valuesIn(json, bounds) !== null;
}

/** The number of values of a JSON text; null if it has more values or levels than these bounds. */
function valuesIn(json: string, { values, depth }: Bounds): number | null {
  let found = 0;
  let level = 0;
  for (let at = 0; at < json.length; at++) {
    const unit = json.charCodeAt(at);
    if (unit === QUOTE) at = endOfString(json, at);
    else if (unit === COMMA) found++;
    else if (unit === OPEN[0] || unit === OPEN[1]) {
      found++;
      level++;
    } else if (unit === CLOSE[0] || unit === CLOSE[1]) level--;
    if (found > values || level > depth) return null;
  }
  return found;
}

/** The end of the string that begins here. */
function endOfString(json: string, begin: number): number {
  for (let at = json.indexOf('"', begin + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let before = at - 1;
    while (json.charCodeAt(before) === BACKSLASH) before--;
    if ((at - before) % 2 === 1) return at;
  }
  return json.length;
}

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
/** `[` and `{`, `]` and `}`. */
const OPEN = [91, 123];
const CLOSE = [93, 125];
