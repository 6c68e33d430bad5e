import { type ImagePages, PAGE_BYTES } from "./image.ts";

/** A range of memory that counts as zero, whatever lies there. */
export interface Mask {
  readonly address: number;
  readonly bytes: number;
}

/** What has changed in a guest's memory from image to image. Holds the last image; of zero blocks nothing. */
export interface Pages {
  /** Whether changes since this image are at hand. */
  has(id: string): boolean;
  /**
   * Makes the memory, a multiple of 64 KiB, the image `id`. Gives the pages that differ from `base` where that is the
   * image before or the root, else all that are not zero. A `root` image is what later ones can be based on too.
   */
  take(image: {
    readonly id: string;
    readonly base: string | null;
    readonly root: boolean;
    readonly memory: Uint8Array;
    readonly masks: readonly Mask[];
  }): { readonly base: string | null; readonly pages: ImagePages };
}

/** Memory grows by this, so it is also the grain in which the last image is kept. */
const BLOCK_BYTES = 64 * 1024;
const ZERO = Buffer.alloc(BLOCK_BYTES);

/** The root is given up when more of its pages have changed: holding them would cost as much memory as the guest. */
const MOST_CHANGES_HELD = 4096;

/** An image that later ones can be based on, whatever lies between. */
interface Root {
  readonly id: string;
  /** Pages that have changed since, by number, as they were then. */
  readonly before: Map<number, Buffer>;
}

/** @param memory of the image `id`, to which pages are compared first. It is kept: its owner must not write to it any more. */
export function openPages(id: string, memory: Uint8Array): Pages {
  let held = id;
  let root: Root | undefined = { id, before: new Map() };
  const blocks: (Buffer | undefined)[] = [];
  const whole = viewOf(memory);
  for (let at = 0; at < whole.length; at += BLOCK_BYTES) {
    const block = whole.subarray(at, at + BLOCK_BYTES);
    blocks.push(block.equals(ZERO) ? undefined : block);
  }

  /** Brings the held image up to the memory. */
  function follow(live: Buffer, masks: readonly Mask[]): Changes {
    const changes: Changes = new Map();
    for (let at = 0; at < live.length; at += BLOCK_BYTES) {
      const index = at / BLOCK_BYTES;
      const block = masked(live.subarray(at, at + BLOCK_BYTES), at, masks);
      const before = blocks[index] ?? ZERO;
      if (block.equals(before)) continue;
      for (let page = 0; page < BLOCK_BYTES; page += PAGE_BYTES) {
        if (block.compare(before, page, page + PAGE_BYTES, page, page + PAGE_BYTES) === 0) continue;
        const number = (at + page) / PAGE_BYTES;
        const was = before.subarray(page, page + PAGE_BYTES);
        if (root && !root.before.has(number)) root.before.set(number, before === ZERO ? was : Buffer.from(was));
        changes.set(number, difference(block.subarray(page, page + PAGE_BYTES), was));
      }
      if (before === ZERO) blocks[index] = Buffer.from(block);
      else block.copy(before);
    }
    return changes;
  }

  /** A page that changed and changed back is not in it. */
  function sinceRoot({ before }: Root): Changes {
    const changes: Changes = new Map();
    for (const [number, was] of before) {
      const page = (number * PAGE_BYTES) % BLOCK_BYTES;
      const now = (blocks[Math.floor((number * PAGE_BYTES) / BLOCK_BYTES)] ?? ZERO).subarray(page, page + PAGE_BYTES);
      if (!now.equals(was)) changes.set(number, difference(now, was));
    }
    return changes;
  }

  /** Every page that is not zero: what changed since nothing. */
  function everything(): Changes {
    const changes: Changes = new Map();
    blocks.forEach((block, index) => {
      for (let page = 0; block && page < BLOCK_BYTES; page += PAGE_BYTES) {
        if (block.compare(ZERO, 0, PAGE_BYTES, page, page + PAGE_BYTES) === 0) continue;
        changes.set((index * BLOCK_BYTES + page) / PAGE_BYTES, block.subarray(page, page + PAGE_BYTES));
      }
    });
    return changes;
  }

  return {
    has: (id) => id === held || id === root?.id,
    take(image) {
      const changes = follow(viewOf(image.memory), image.masks);
      const wanted = image.base === held ? changes : root && image.base === root.id ? sinceRoot(root) : undefined;
      held = image.id;
      if (image.root) root = { id: image.id, before: new Map() };
      else if (root && root.before.size > MOST_CHANGES_HELD) root = undefined;
      return { base: wanted ? image.base : null, pages: pagesOf(wanted ?? everything()) };
    },
  };
}

/** By page number, what was there before XOR what is there now. */
type Changes = Map<number, Buffer>;

function pagesOf(changes: Changes): ImagePages {
  const numbers = Uint32Array.from(changes.keys()).sort();
  const bytes = new Uint8Array(numbers.length * PAGE_BYTES);
  numbers.forEach((number, index) => {
    changes.get(number)?.copy(bytes, index * PAGE_BYTES);
  });
  return { numbers, bytes };
}

function difference(now: Buffer, was: Buffer): Buffer {
  const change = Buffer.from(now);
  const to = wordsOf(change);
  const from = wordsOf(was);
  for (let word = 0; word < to.length; word++) to[word] = (to[word] ?? 0) ^ (from[word] ?? 0);
  return change;
}

const wordsOf = ({ buffer, byteOffset, length }: Buffer) => new Int32Array(buffer, byteOffset, length / 4);

function viewOf(memory: Uint8Array): Buffer {
  return Buffer.from(memory.buffer, memory.byteOffset, memory.length);
}

/** The block at `at` with zeros where masks lie: itself where none does. */
function masked(block: Buffer, at: number, masks: readonly Mask[]): Buffer {
  let copy: Buffer | undefined;
  for (const { address, bytes } of masks) {
    const start = Math.max(address - at, 0);
    const end = Math.min(address + bytes - at, BLOCK_BYTES);
    if (start >= end) continue;
    if (start === 0 && end === BLOCK_BYTES) return ZERO;
    copy ??= Buffer.from(block);
    copy.fill(0, start, end);
  }
  return copy ?? block;
}
