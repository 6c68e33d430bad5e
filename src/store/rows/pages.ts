import { mostChangesOf, type PagesPart, pack, problemOf } from "../../../runtime/index.ts";
import { misuse } from "../failure.ts";
import { unpack } from "./pack.ts";
import { type Row, sha256 } from "./row.ts";

/** Pages ready to be written. */
export interface PackedPages {
  readonly parts: readonly { readonly numbers: Uint8Array; readonly bytes: Uint8Array }[];
  /** SHA-256 of each part's numbers, then of its bytes as they are stored. */
  readonly seals: Uint8Array;
  readonly count: number;
  /** Bytes on disk. */
  readonly bytes: number;
}

/** Packs pages part by part. */
interface Packing {
  /**
   * @throws RlmError `store_failed` for pages that do not ascend, fit the memory or have the words
   * that their masks say
   */
  add(part: PagesPart): void;
  packed(): PackedPages;
}

export function openPacking(linearBytes: number): Packing {
  const parts: { numbers: Uint8Array; bytes: Uint8Array }[] = [];
  const seals: Buffer[] = [];
  let last = -1;
  let count = 0;
  let stored = 0;
  return {
    add(part) {
      const problem = problemOf(part, last, linearBytes);
      if (problem !== null) throw misuse(problem);
      last = part.numbers.at(-1) ?? last;
      const numbers = bytesOf(part.numbers);
      const bytes = part.packed ?? pack(bytesOf(part.changes));
      parts.push({ numbers, bytes });
      seals.push(sha256(numbers), sha256(bytes));
      count += part.numbers.length;
      stored += numbers.byteLength + bytes.byteLength;
    },
    packed: () => ({ parts, seals: Buffer.concat(seals), count, bytes: stored }),
  };
}

/**
 * In a file, the rows of `pages` and `chunks` of one owner have the places from `owner * PLACES`
 * on, so that no index is needed.
 */
export const PLACES = 65_536;

/** null if the row is missing or damaged. */
export function wholePart(row: Row, checkpoint: SealedParts, part: number): PagesPart | null {
  const { numbers, bytes: packed } = row;
  if (!(numbers instanceof Uint8Array) || !isWhole(numbers, checkpoint, 2 * part)) return null;
  if (!(packed instanceof Uint8Array) || !isWhole(packed, checkpoint, 2 * part + 1)) return null;
  const changes = unpack(packed, mostChangesOf(numbers.byteLength / 4));
  return changes && { numbers: wordsOf(numbers), changes: wordsOf(changes) };
}

/** The seals of a checkpoint's pages. */
interface SealedParts {
  readonly parts: Uint8Array;
}

/** The number of parts that its pages have. */
export function partsOf({ parts }: SealedParts): number {
  return parts.byteLength / (2 * SEAL_BYTES);
}

const SEAL_BYTES = 32;

function isWhole(bytes: Uint8Array, { parts }: SealedParts, index: number): boolean {
  return sha256(bytes).equals(parts.subarray(index * SEAL_BYTES, (index + 1) * SEAL_BYTES));
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  return new Uint32Array(buffer, byteOffset, byteLength >> 2);
}
