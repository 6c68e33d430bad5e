import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Row } from "./seal.ts";
import { text } from "./seal.ts";

/** Bytes of one row's blob before compression: a thousand pages. What zstd cannot compress stays below 4 MiB too. */
export const CHUNK_BYTES = 4_096_000;

const LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 };
/** Below this a text is kept as it is: it would lie on one page of the database anyhow. */
const PACKED_TEXT_UNITS = 4096;
/** Node gathers output in pieces of this size; one for all spares a copy, many small rows want less. */
const MIN_PIECE = 16 * 1024;

export function pack(bytes: Uint8Array): Uint8Array {
  return zstdCompressSync(bytes, { params: LEVEL, chunkSize: Math.max(bytes.byteLength >> 1, MIN_PIECE) });
}

/** What `pack` was given; null where it is damaged or not of `length` bytes. */
export function unpack(packed: Uint8Array, length: number): Uint8Array | null {
  try {
    const bytes = zstdDecompressSync(packed, { chunkSize: Math.max(length + 1, MIN_PIECE), maxOutputLength: length });
    return bytes.byteLength === length ? bytes : null;
  } catch {
    return null;
  }
}

/** Long texts compressed. */
export function packText(content: string): string | Uint8Array {
  return content.length < PACKED_TEXT_UNITS ? content : zstdCompressSync(content, { params: LEVEL });
}

/** The column's text; null where it is damaged. */
export function unpackText(row: Row, column: string): string | null {
  const found = row[column];
  if (!(found instanceof Uint8Array)) return typeof found === "string" ? text(row, column) : null;
  try {
    return zstdDecompressSync(found, { maxOutputLength: MAX_TEXT_BYTES }).toString();
  } catch {
    return null;
  }
}

/** More than any record or state can hold, less than what a damaged frame could claim. */
const MAX_TEXT_BYTES = 256 * 1024 * 1024;
