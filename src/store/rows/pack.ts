import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Row } from "./seal.ts";
import { text } from "./seal.ts";

/** Bytes of one row of a context before compression. What zstd cannot compress stays below 4 MiB too. */
export const CHUNK_BYTES = 4_096_000;

const LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 };
/** Below this a text is kept as it is: it would lie on one page of the database anyhow. */
const PACKED_TEXT_UNITS = 4096;
/** Node gathers output in pieces of this size; one for all spares a copy, many small rows want less. */
const MIN_PIECE = 16 * 1024;
/** If less than this comes out for a byte, it comes in one piece. */
const USUAL_RATIO = 16;

/** Below this zstd would take more time than it saves in writing. */
const PACKED_BYTES = 16 * 1024;

/** Compresses bytes unless they are few. Few bytes that begin like a zstd frame are compressed too. */
export function pack(bytes: Uint8Array): Uint8Array {
  if (bytes.byteLength < PACKED_BYTES && !isPacked(bytes)) return bytes;
  return zstdCompressSync(bytes, { params: LEVEL, chunkSize: Math.max(bytes.byteLength >> 1, MIN_PIECE) });
}

/** The bytes that `pack` was given; null if they are damaged or more than `most`. */
export function unpack(packed: Uint8Array, most: number): Uint8Array | null {
  if (!isPacked(packed)) return packed.byteLength <= most ? packed : null;
  const piece = Math.min(most + 1, packed.byteLength * USUAL_RATIO);
  try {
    return zstdDecompressSync(packed, { chunkSize: Math.max(piece, MIN_PIECE), maxOutputLength: most });
  } catch {
    return null;
  }
}

/** Whether it begins as every frame of zstd does. */
function isPacked(bytes: Uint8Array): boolean {
  return FRAME.every((byte, index) => bytes[index] === byte);
}

const FRAME = [0x28, 0xb5, 0x2f, 0xfd];

/** Compresses long texts. */
export function packText(content: string): string | Uint8Array {
  return content.length < PACKED_TEXT_UNITS ? content : zstdCompressSync(content, { params: LEVEL });
}

/** The column's text; null if it is damaged. */
export function unpackText(row: Row, column: string): string | null {
  const found = row[column];
  if (!(found instanceof Uint8Array)) return typeof found === "string" ? text(row, column) : null;
  // A server keeps short texts as their bytes.
  if (!isPacked(found)) return Buffer.from(found).toString();
  try {
    return zstdDecompressSync(found, { maxOutputLength: MAX_TEXT_BYTES }).toString();
  } catch {
    return null;
  }
}

/** More than any record or state can hold, less than what a damaged frame could claim. */
const MAX_TEXT_BYTES = 256 * 1024 * 1024;
