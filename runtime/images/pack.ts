import { constants, zstdCompressSync } from "node:zlib";

/** Parameters of zstd: its fastest usual level. */
export const PACKING = { [constants.ZSTD_c_compressionLevel]: 1 };
/**
 * Node gathers output in pieces of this size; one for all spares a copy, many small rows want less.
 */
export const MIN_PIECE = 16 * 1024;
/** Below this zstd would take more time than it saves in writing. */
const PACKED_BYTES = 16 * 1024;

/**
 * Compresses bytes unless they are few. Few bytes that begin like a zstd frame are compressed too.
 * @param piece bytes in which output is gathered
 */
export function pack(bytes: Uint8Array, piece = Math.max(bytes.byteLength >> 1, MIN_PIECE)): Uint8Array {
  if (bytes.byteLength < PACKED_BYTES && !isPacked(bytes)) return bytes;
  return zstdCompressSync(bytes, { params: PACKING, chunkSize: piece });
}

/** True if it begins as every frame of zstd does. */
export function isPacked(bytes: Uint8Array): boolean {
  return FRAME.every((byte, index) => bytes[index] === byte);
}

const FRAME = [0x28, 0xb5, 0x2f, 0xfd];
