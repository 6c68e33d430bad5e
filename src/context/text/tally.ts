import { isAscii } from "node:buffer";
import { PAGE_BYTES } from "../../platform/checked-file.ts";

/** Numbers of `before` for each page. */
export const PAGE_NUMBERS = 3;

/** The UTF-16 units and the newlines of a text, and those before each page of 64 KB of it. */
export interface Tallied {
  readonly bytes: number;
  readonly units: number;
  readonly newlines: number;
  /**
   * For each page: the units before it, the newlines before it, and 1 if all of its own bytes are
   * ASCII.
   */
  readonly before: Float64Array;
}

/** Counts a text as it grows. */
export interface Tally {
  /** UTF-16 units so far. */
  units(): number;
  add(bytes: Uint8Array): void;
  told(): Tallied;
}

/** Begins a count. @param begun the count of the text that is there already */
export function openTally(begun?: Tallied): Tally {
  let before = new Float64Array(Math.max(1024, 2 * (begun?.before.length ?? 0)));
  before.set(begun?.before ?? []);
  let filled = begun?.before.length ?? 0;
  let bytes = begun?.bytes ?? 0;
  let units = begun?.units ?? 0;
  let newlines = begun?.newlines ?? 0;

  function beginPage(): void {
    if (filled + PAGE_NUMBERS > before.length) {
      const larger = new Float64Array(2 * before.length);
      larger.set(before);
      before = larger;
    }
    before.set([units, newlines, 1], filled);
    filled += PAGE_NUMBERS;
  }

  return {
    units: () => units,
    add(added) {
      for (let at = 0; at < added.length; ) {
        const inPage = bytes % PAGE_BYTES;
        if (inPage === 0) beginPage();
        const some = added.subarray(at, at + PAGE_BYTES - inPage);
        const counted = countIn(some);
        // The number of units is no proof: of a character that crosses into the next page both
        // units count in this one.
        if (!isAscii(some)) before[filled - 1] = 0;
        bytes += some.length;
        units += counted.units;
        newlines += counted.newlines;
        at += some.length;
      }
    },
    told: () => ({ bytes, units, newlines, before: before.slice(0, filled) }),
  };
}

/** Units and newlines of some bytes. */
interface Counted {
  /** UTF-16 units of the characters that begin in them. */
  readonly units: number;
  readonly newlines: number;
}

const HIGH = 0x80808080;
const LOW = 0x7f7f7f7f;
const NEWLINES = 0x0a0a0a0a;
const NEWLINE = 0x0a;

/** Counts units and newlines, four bytes at a time. */
export function countIn(bytes: Uint8Array): Counted {
  const head = -bytes.byteOffset & 3;
  if (bytes.length < head + 4) return countOneByOne(bytes, 0, bytes.length);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + head, (bytes.length - head) >> 2);
  let units = 4 * words.length;
  let newlines = 0;
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? 0;
    const same = word ^ NEWLINES;
    // The highest bit of each byte that is a newline.
    const found = ~(((same & LOW) + LOW) | same | LOW);
    if (found !== 0) newlines += bytesIn(found);
    const high = word & HIGH;
    if (high === 0) continue;
    // A byte that continues a character has no unit, and one that begins four bytes has two.
    units -= bytesIn(high & ~(word << 1));
    const four = high & (word << 1) & (word << 2) & (word << 3);
    if (four !== 0) units += bytesIn(four);
  }
  const first = countOneByOne(bytes, 0, head);
  const last = countOneByOne(bytes, head + 4 * words.length, bytes.length);
  return { units: first.units + units + last.units, newlines: first.newlines + newlines + last.newlines };
}

function countOneByOne(bytes: Uint8Array, from: number, to: number): Counted {
  let units = 0;
  let newlines = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === NEWLINE) newlines += 1;
    units += unitsOf(byte);
  }
  return { units, newlines };
}

/** The UTF-16 units of a byte: 0 if it continues a character, 2 if it begins four bytes, else 1. */
export function unitsOf(byte: number): number {
  return byte < 0x80 ? 1 : byte < 0xc0 ? 0 : byte < 0xf0 ? 1 : 2;
}

/** The number of bytes of a word whose highest bit is set. The word has no other bits. */
const bytesIn = (word: number) => ((word >>> 7) & 1) + ((word >>> 15) & 1) + ((word >>> 23) & 1) + (word >>> 31);
