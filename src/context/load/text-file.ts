import { isUtf8 } from "node:buffer";
import { LIMITS } from "../../../runtime/index.ts";
import { type Refusal, type Roots, withFile } from "./roots.ts";
import { exceeds } from "./size.ts";

const HEAD_BYTES = 8 * 1024;
const BINARY: Refusal = { reason: "binary (NUL in the first 8 KB)" };
const NOT_UTF8: Refusal = { reason: "not UTF-8" };

type FileContent = { bytes: Uint8Array } | { size: number } | Refusal;

/** The bytes as P takes them, without a byte order mark, or why they are no text. */
export function textBytes(bytes: Uint8Array): { bytes: Uint8Array } | Refusal {
  if (isBinary(bytes)) return BINARY;
  return isUtf8(bytes) ? { bytes: withoutMark(bytes) } : NOT_UTF8;
}

/** `bytes` without the byte order mark that they may begin with. */
export function withoutMark(bytes: Uint8Array): Uint8Array {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/** Reads a file that a caller named. One of more than `room` bytes gives its size. */
export function readNamed(roots: Roots, path: string, room: number): FileContent {
  return withFile(roots, path, ({ size, read }) => (size > room ? { size } : textBytes(read(size))));
}

/** Reads a file of a folder. One of more than `room` bytes gives its size; only its head was looked at. */
export function readListed(roots: Roots, path: string, room: number): FileContent {
  return withFile(roots, path, ({ size, read }) => {
    const isLarge = size > LIMITS.directoryFileBytes;
    if (!isLarge && size <= room) return textBytes(read(size));
    if (isBinary(read(HEAD_BYTES))) return BINARY;
    return isLarge ? { reason: exceeds(size, LIMITS.directoryFileBytes) } : { size };
  });
}

function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, HEAD_BYTES).includes(0);
}
