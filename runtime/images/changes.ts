import { constants, zstdCompressSync } from "node:zlib";
import { type ImagePages, PAGE_BYTES, type PagesPart } from "./image.ts";

/** Gathers changed pages, which must be added in the order of their numbers. */
export interface Changes {
  /**
   * Adds a page if it differs from what it was. `wasAt` and `at` say where the page lies in `was`
   * and `now`, in words.
   */
  add(number: number, was: Int32Array, wasAt: number, now: Int32Array, at: number): void;
  /** Returns what was added since the last flush. */
  flush(): ImagePages;
  /** Bytes of the parts that were added since the last flush. */
  bytes(): number;
}

/**
 * The most pages that a part is given. It takes less than 1 MiB even if every word of them has
 * changed.
 */
const PART_PAGES = 240;

const PAGE_WORDS = PAGE_BYTES / 4;
/** A page is 32 rows of 32 words: one word has a bit for each row, or for each word of a row. */
const ROW_WORDS = 32;
const ROWS = PAGE_WORDS / ROW_WORDS;
const ALL = -1;

/** The most bytes that the changes of so many pages take. */
export function mostChangesOf(pages: number): number {
  return pages * (4 + ROWS * 4 + PAGE_BYTES);
}

/**
 * Buffers for the part that is being gathered. They take 1 MB, so all machines of a thread share
 * them.
 */
interface Scratch {
  readonly numbers: Uint32Array;
  readonly rows: Int32Array;
  readonly masks: Int32Array;
  readonly words: Int32Array;
}

const newScratch = (): Scratch => ({
  numbers: new Uint32Array(PART_PAGES),
  rows: new Int32Array(PART_PAGES),
  masks: new Int32Array(PART_PAGES * ROWS),
  words: new Int32Array(PART_PAGES * PAGE_WORDS),
});

let scratch: Scratch | undefined;

/**
 * All `Changes` of a thread share one scratch: what one of them adds must be flushed before another
 * one adds a page.
 */
export function openChanges(): Changes {
  scratch ??= newScratch();
  const { numbers, rows, masks, words } = scratch;
  let parts: PagesPart[] = [];
  let count = 0;
  let maskCount = 0;
  let wordCount = 0;
  let bytes = 0;

  /**
   * A part that others follow is packed at once: of a large image there is never more than one part
   * as it is.
   */
  function endPart(isLast: boolean): void {
    const changes = new Uint32Array(count + maskCount + wordCount);
    changes.set(rows.subarray(0, count));
    changes.set(masks.subarray(0, maskCount), count);
    changes.set(words.subarray(0, wordCount), count + maskCount);
    const own = numbers.slice(0, count);
    const part = isLast || changes.byteLength < PACKED_BYTES ? { numbers: own, changes } : packedPart(own, changes);
    parts.push(part);
    bytes += part.packed?.length ?? changes.byteLength;
    count = 0;
    maskCount = 0;
    wordCount = 0;
  }

  return {
    add(number: number, was: Int32Array, wasAt: number, now: Int32Array, at: number): void {
      if (count === PART_PAGES) endPart(false);
      let changed = 0;
      for (let row = 0; row < ROWS; row++) {
        let mask = 0;
        for (let bit = 0; bit < ROW_WORDS; bit++) {
          const word = row * ROW_WORDS + bit;
          const change = (was[wasAt + word] ?? 0) ^ (now[at + word] ?? 0);
          if (change === 0) continue;
          mask |= 1 << bit;
          words[wordCount++] = change;
        }
        if (mask === 0) continue;
        changed |= 1 << row;
        masks[maskCount++] = mask;
      }
      if (changed === 0) return;
      rows[count] = changed;
      numbers[count++] = number;
    },
    flush(): ImagePages {
      if (count > 0) endPart(true);
      const flushed = parts;
      parts = [];
      bytes = 0;
      return flushed;
    },
    bytes: () => bytes,
  };
}

/** Frees what it does not need: many parts follow each other faster than garbage is collected. */
function packedPart(numbers: Uint32Array, changes: Uint32Array<ArrayBuffer>): PagesPart {
  const raw = new Uint8Array(changes.buffer);
  // All of the output comes in one buffer.
  const output = pack(raw, raw.length + PACKED_BYTES);
  const packed = new Uint8Array(output);
  freeBytes(changes);
  freeBytes(output);
  return { numbers, changes: new Uint32Array(), packed };
}

/**
 * Frees bytes that nobody needs any more, with all that lies in their buffer. Node keeps only small
 * ones together with others.
 */
export function freeBytes({ buffer }: Uint8Array | Uint32Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength >= FREED_BYTES) buffer.transfer(0);
}

const FREED_BYTES = 256 * 1024;
/** Changes that are fewer stay as they are. */
const PACKED_BYTES = 64 * 1024;

/**
 * Applies a part to the memory of its base, in place. `problemOf` must have found nothing wrong
 * with the part.
 */
export function applyPart(memory: Uint8Array, { numbers, changes }: PagesPart): void {
  const target = new Int32Array(memory.buffer, memory.byteOffset, memory.byteLength / 4);
  const change = new Int32Array(changes.buffer, changes.byteOffset, changes.length);
  let masksAt = numbers.length;
  let from = masksAt + bitsInAll(changes.subarray(0, masksAt));
  numbers.forEach((number, index) => {
    const first = number * PAGE_WORDS;
    // Memory that was never used costs a second fault if it is read before it is written. Pages may
    // lie across two of the computer's.
    for (const word of [first, first + PAGE_WORDS - 1]) Atomics.compareExchange(target, word, 0, 0);
    for (let rows = change[index] ?? 0; rows !== 0; rows &= rows - 1) {
      const to = first + lowestBit(rows) * ROW_WORDS;
      let mask = change[masksAt++] ?? 0;
      if (mask === ALL) {
        for (let word = to; word < to + ROW_WORDS; word++) target[word] = (target[word] ?? 0) ^ (change[from++] ?? 0);
        continue;
      }
      for (; mask !== 0; mask &= mask - 1) {
        const word = to + lowestBit(mask);
        target[word] = (target[word] ?? 0) ^ (change[from++] ?? 0);
      }
    }
  });
}

/**
 * Returns why a part cannot be applied to a memory, as a sentence without its full stop, or null if
 * it can. Of packed changes it says nothing: they are looked at when they are read.
 * @param after number of the last page of the part before, -1 if there is none
 */
export function problemOf({ numbers, changes, packed }: PagesPart, after: number, linearBytes: number): string | null {
  if (numbers.length > PART_PAGES) return `a part has ${numbers.length} pages`;
  let last = after;
  for (const page of numbers) {
    if (page <= last) return `page ${page} comes after page ${last}`;
    last = page;
  }
  if ((last + 1) * PAGE_BYTES > linearBytes) return `page ${last} lies beyond ${linearBytes} bytes of memory`;
  if (packed) return null;
  const masksAt = numbers.length;
  const wordsAt = masksAt + bitsInAll(changes.subarray(0, masksAt));
  const words = wordsAt + bitsInAll(changes.subarray(masksAt, wordsAt));
  return words === changes.length ? null : `${numbers.length} pages have ${changes.length} words, not ${words}`;
}

export function countPages(pages: ImagePages): number {
  return pages.reduce((sum, { numbers }) => sum + numbers.length, 0);
}

/** Counts the bits that are set, by adding neighbours. */
function bitsInAll(words: Uint32Array): number {
  let sum = 0;
  for (const word of words) {
    const pairs = word - ((word >>> 1) & 0x55555555);
    const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
    sum += Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return sum;
}

const lowestBit = (bits: number) => 31 - Math.clz32(bits & -bits);

/** Parameters of zstd: its fastest usual level. */
export const PACKING = { [constants.ZSTD_c_compressionLevel]: 1 };
/**
 * Node gathers output in pieces of this size; one for all spares a copy, many small rows want less.
 */
export const MIN_PIECE = 16 * 1024;
/** Below this zstd would take more time than it saves in writing. */
const LEAST_PACKED = 16 * 1024;

/**
 * Compresses bytes unless they are few. Few bytes that begin like a zstd frame are compressed too.
 * @param piece bytes in which output is gathered
 */
export function pack(bytes: Uint8Array, piece = Math.max(bytes.byteLength >> 1, MIN_PIECE)): Uint8Array {
  if (bytes.byteLength < LEAST_PACKED && !isPacked(bytes)) return bytes;
  return zstdCompressSync(bytes, { params: PACKING, chunkSize: piece });
}

/** True if it begins as every frame of zstd does. */
export function isPacked(bytes: Uint8Array): boolean {
  return FRAME.every((byte, index) => bytes[index] === byte);
}

const FRAME = [0x28, 0xb5, 0x2f, 0xfd];
