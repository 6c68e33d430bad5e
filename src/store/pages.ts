import { hash } from "node:crypto";
import { type ImagePages, PAGE_BYTES } from "../../runtime/image.ts";
import type { Database } from "./database.ts";
import { misuse } from "./failure.ts";
import { CHUNK_BYTES, pack, unpack } from "./pack.ts";
import { PLACES } from "./schema.ts";

/** Pages ready to be written. */
export interface PackedPages {
  readonly parts: readonly { readonly numbers: Uint8Array; readonly bytes: Uint8Array }[];
  /** SHA-256 of each part's numbers, then of its bytes as they are stored. */
  readonly seals: Uint8Array;
  readonly count: number;
  /** What they take on disk. */
  readonly bytes: number;
}

/** @throws RlmError `store_failed` for numbers that do not ascend or do not fit the bytes or the memory */
export function packPages({ numbers, bytes }: ImagePages, linearBytes: number): PackedPages {
  check(numbers, bytes, linearBytes);
  const parts: { numbers: Uint8Array; bytes: Uint8Array }[] = [];
  const seals: Buffer[] = [];
  for (let at = 0; at < numbers.length; at += PART_PAGES) {
    const some = bytesOf(numbers.subarray(at, at + PART_PAGES));
    const packed = pack(bytes.subarray(at * PAGE_BYTES, (at + PART_PAGES) * PAGE_BYTES));
    parts.push({ numbers: some, bytes: packed });
    seals.push(sealOf(some), sealOf(packed));
  }
  const stored = parts.reduce((sum, part) => sum + part.numbers.byteLength + part.bytes.byteLength, 0);
  return { parts, seals: Buffer.concat(seals), count: numbers.length, bytes: stored };
}

export function insertPages(database: Database, checkpoint: number, pages: PackedPages): void {
  pages.parts.forEach(({ numbers, bytes }, part) => {
    database.run(
      "INSERT INTO pages (place, numbers, bytes) VALUES (?, ?, ?)",
      ...[checkpoint * PLACES + part, numbers, bytes],
    );
  });
}

export function deletePages(database: Database, checkpoint: number): void {
  database.run("DELETE FROM pages WHERE place >= ? AND place < ?", checkpoint * PLACES, (checkpoint + 1) * PLACES);
}

/** Numbers of the pages that a part holds; null where they are missing or damaged. */
export function readNumbers(database: Database, checkpoint: Sealed, part: number): Uint32Array | null {
  const row = database.get("SELECT numbers FROM pages WHERE place = ?", checkpoint.n * PLACES + part);
  const found = row?.numbers;
  if (!(found instanceof Uint8Array) || !isWhole(found, checkpoint, 2 * part)) return null;
  return new Uint32Array(Uint8Array.from(found).buffer);
}

/** Bytes of the pages of a part; null where they are missing or damaged. */
export function readPages(database: Database, checkpoint: Sealed, part: number, count: number): Uint8Array | null {
  const row = database.get("SELECT bytes FROM pages WHERE place = ?", checkpoint.n * PLACES + part);
  const packed = row?.bytes;
  if (!(packed instanceof Uint8Array) || !isWhole(packed, checkpoint, 2 * part + 1)) return null;
  return unpack(packed, count * PAGE_BYTES);
}

/** What says what the pages of a checkpoint must be. */
interface Sealed {
  readonly n: number;
  readonly parts: Uint8Array;
}

/** How many parts the pages are in. */
export function partsOf({ parts }: Pick<Sealed, "parts">): number {
  return parts.byteLength / (2 * SEAL_BYTES);
}

const SEAL_BYTES = 32;
const PART_PAGES = CHUNK_BYTES / PAGE_BYTES;

function sealOf(bytes: Uint8Array): Buffer {
  return Buffer.from(hash("sha256", bytes), "hex");
}

function isWhole(bytes: Uint8Array, { parts }: Sealed, index: number): boolean {
  return sealOf(bytes).equals(parts.subarray(index * SEAL_BYTES, (index + 1) * SEAL_BYTES));
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

function check(numbers: Uint32Array, bytes: Uint8Array, linearBytes: number): void {
  if (bytes.byteLength !== numbers.length * PAGE_BYTES) {
    throw misuse(`${numbers.length} pages have ${bytes.byteLength} bytes`);
  }
  let before = -1;
  for (const page of numbers) {
    if (page <= before) throw misuse(`page ${page} comes after page ${before}`);
    before = page;
  }
  if ((before + 1) * PAGE_BYTES > linearBytes)
    throw misuse(`page ${before} lies beyond ${linearBytes} bytes of memory`);
}
