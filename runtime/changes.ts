import { type ImagePages, PAGE_BYTES, type PagesPart } from "./image.ts";

/** Gathers changed pages, given in the order of their numbers. */
export interface Changes {
  /** Adds a page where it differs from what it was. `at`: where it lies, in words. */
  add(number: number, was: Int32Array, wasAt: number, now: Int32Array, at: number): void;
  /** What was added since it was last taken. */
  take(): ImagePages;
}

/** Most pages of a part. It takes less than 4 MiB even where every word of them has changed. */
export const PART_PAGES = 960;

const PAGE_WORDS = PAGE_BYTES / 4;
const MASK_WORDS = PAGE_WORDS / 32;
const ALL = -1;

/** Most bytes of the changes of so many pages. */
export function mostChangesOf(pages: number): number {
  return pages * (MASK_WORDS * 4 + PAGE_BYTES);
}

export function openChanges(): Changes {
  const numbers = new Uint32Array(PART_PAGES);
  const masks = new Int32Array(PART_PAGES * MASK_WORDS);
  const words = new Int32Array(PART_PAGES * PAGE_WORDS);
  let parts: PagesPart[] = [];
  let count = 0;
  let used = 0;

  function endPart(): void {
    const changes = new Uint32Array(count * MASK_WORDS + used);
    changes.set(masks.subarray(0, count * MASK_WORDS));
    changes.set(words.subarray(0, used), count * MASK_WORDS);
    parts.push({ numbers: numbers.slice(0, count), changes });
    count = 0;
    used = 0;
  }

  return {
    add(number, was, wasAt, now, at) {
      if (count === PART_PAGES) endPart();
      let to = used;
      for (let mask = 0; mask < MASK_WORDS; mask++) {
        let bits = 0;
        for (let bit = 0; bit < 32; bit++) {
          const word = mask * 32 + bit;
          const change = (was[wasAt + word] ?? 0) ^ (now[at + word] ?? 0);
          if (change === 0) continue;
          bits |= 1 << bit;
          words[to++] = change;
        }
        masks[count * MASK_WORDS + mask] = bits;
      }
      if (to === used) return;
      used = to;
      numbers[count++] = number;
    },
    take() {
      if (count > 0) endPart();
      const taken = parts;
      parts = [];
      return taken;
    },
  };
}

/** Puts a part, in which `problemOf` finds nothing, onto the memory of the image that it is changes of, in place. */
export function applyPart(memory: Uint8Array, { numbers, changes }: PagesPart): void {
  const target = new Int32Array(memory.buffer, memory.byteOffset, memory.byteLength / 4);
  const change = new Int32Array(changes.buffer, changes.byteOffset, changes.length);
  let from = numbers.length * MASK_WORDS;
  let mask = 0;
  for (const number of numbers) {
    const end = (number + 1) * PAGE_WORDS;
    for (let to = number * PAGE_WORDS; to < end; to += 32) {
      let bits = change[mask++] ?? 0;
      if (bits === ALL) {
        for (let word = to; word < to + 32; word++) target[word] = (target[word] ?? 0) ^ (change[from++] ?? 0);
        continue;
      }
      for (; bits !== 0; bits &= bits - 1) {
        const word = to + 31 - Math.clz32(bits & -bits);
        target[word] = (target[word] ?? 0) ^ (change[from++] ?? 0);
      }
    }
  }
}

/**
 * Why a part cannot be changes of a memory, as a sentence without its full stop; null where it can.
 * @param after number of the last page of the part before, -1 where there is none
 */
export function problemOf({ numbers, changes }: PagesPart, after: number, linearBytes: number): string | null {
  if (numbers.length > PART_PAGES) return `a part has ${numbers.length} pages`;
  let last = after;
  for (const page of numbers) {
    if (page <= last) return `page ${page} comes after page ${last}`;
    last = page;
  }
  if ((last + 1) * PAGE_BYTES > linearBytes) return `page ${last} lies beyond ${linearBytes} bytes of memory`;
  const masks = changes.subarray(0, numbers.length * MASK_WORDS);
  let words = numbers.length * MASK_WORDS;
  for (const mask of masks) words += bitsIn(mask);
  return words === changes.length ? null : `${numbers.length} pages have ${changes.length} words, not ${words}`;
}

export function countPages(pages: ImagePages): number {
  return pages.reduce((sum, { numbers }) => sum + numbers.length, 0);
}

/** How many of 32 bits are set, by adding neighbours. */
function bitsIn(mask: number): number {
  const pairs = mask - ((mask >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
