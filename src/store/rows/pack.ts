import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { isPacked, MIN_PIECE, PACKING } from "../../../runtime/index.ts";
import { isWithin, USUAL_BOUNDS } from "./bounds.ts";
import type { Row } from "./seal.ts";

/** Below this a text is kept as it is: it would lie on one page of the database anyhow. */
const PACKED_TEXT_UNITS = 4096;
/** If less than this comes out for a byte, it comes in one piece. */
const USUAL_RATIO = 16;

/** Bytes of one row of a context before compression. What zstd cannot compress stays below 4 MiB too. */
export const CHUNK_BYTES = 4_096_000;

/** The bytes that `pack` was given; null if they are damaged or more than `most`: no more than that is unpacked. */
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

/** The column's JSON text; null if it is damaged, or not within the bounds. */
export function unpackText(row: Row, column: string, bounds = USUAL_BOUNDS): string | null {
  const found = row[column];
  // A server keeps short texts as their bytes.
  const content = found instanceof Uint8Array ? unpack(found, bounds.bytes)?.toString() : found;
  if (typeof content !== "string" || content.length > bounds.bytes) return null;
  return isWithin(content, bounds) ? content : null;
}
