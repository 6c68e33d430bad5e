import { type Changes, freeBytes, openChanges } from "./changes.ts";
import { type GuestImage, PAGE_BYTES } from "./image.ts";

/** A range of memory that counts as zero, whatever lies there. */
export interface Mask {
  readonly address: number;
  readonly bytes: number;
}

interface Captured {
  readonly id: string;
  readonly base: string | null;
  /** True if it becomes the anchor. */
  readonly anchor: boolean;
  /** A multiple of 64 KiB. */
  readonly memory: Uint8Array;
  readonly masks: readonly Mask[];
  readonly mostHeld?: number;
}

/** Memory grows by this, so it is also the grain in which the last image is kept. */
const BLOCK_BYTES = 64 * 1024;
const BLOCK_PAGES = BLOCK_BYTES / PAGE_BYTES;
const PAGE_WORDS = PAGE_BYTES / 4;

/** A block, as bytes and as words. */
interface Block {
  readonly bytes: Buffer;
  readonly words: Int32Array;
}

const ZERO = blockOf(Buffer.alloc(BLOCK_BYTES));
const ZERO_PAGE = new Int32Array(PAGE_WORDS);

/**
 * Bytes of a capture that are held even if there is no room for them: to open a guest anew takes
 * longer than to copy them.
 */
const ALWAYS_HELD = 2 * 2 ** 20;

/**
 * Bytes that one of a capture takes until it is on disk: it is gathered, handed over and written.
 */
const CHANGE_COPIES = 4;

/**
 * The anchor is given up when more of its pages have changed: holding them would cost as much
 * memory as the guest.
 */
const MOST_CHANGES_HELD = 4096;

/** An image that later ones can be based on, whatever lies between. */
interface Anchor {
  readonly id: string;
  /** Earlier content of pages that have changed since, by number. */
  readonly before: Map<number, Int32Array>;
}

/**
 * Finds what has changed in a guest's memory from image to image. It holds the last image, without
 * blocks of zeros.
 *
 * @param memory of the image `id`, with which pages are compared first. It is kept and written to,
 * so the caller must not use it any more. Memory that threads share is not written to.
 * @param first the first anchor. It is only read. Default: the image `id`
 */
export function openPages(id: string, memory: Uint8Array, first?: Pick<GuestImage, "id" | "memory">) {
  const changes = openChanges();
  const slabs = openSlabs();
  let held: string | undefined = id;
  let blocks = blocksIn(viewOf(memory));
  let anchor: Anchor | undefined = first ? anchorBefore(first, blocks) : { id, before: new Map() };
  let heldBytes = blocks.filter((block) => block).length * BLOCK_BYTES;
  /** True if the block may be written to. */
  const isOwn = blocks.map(() => !(memory.buffer instanceof SharedArrayBuffer));

  /** Returns the block as it was, in a form that may be written to. */
  function ownBlock(index: number, was: Block): Block {
    const own = was !== ZERO && isOwn[index] ? was : blockOf(slabs.copy(was.bytes));
    if (was === ZERO) heldBytes += BLOCK_BYTES;
    blocks[index] = own;
    isOwn[index] = true;
    return own;
  }

  /**
   * Makes the held image equal to the memory, unless that takes too many bytes: it is then dropped.
   * Returns true if it is equal.
   */
  function follow(
    memory: Uint8Array,
    masks: readonly Mask[],
    { gathers, before, mostHeld }: { gathers: Gathered; before: Anchor["before"] | undefined; mostHeld: number },
  ): boolean {
    const live = blockOf(viewOf(memory));
    const heldBefore = heldBytes;
    let isKept = true;
    for (let start = 0; start < live.bytes.length; start += BLOCK_BYTES) {
      const [now, offset] = masked(live, start, masks);
      const index = start / BLOCK_BYTES;
      const was = blocks[index] ?? ZERO;
      if (gathers === "all") gatherBlock(changes, start, now, offset);
      if (now === was) continue;
      if (now.bytes.compare(was.bytes, 0, BLOCK_BYTES, offset, offset + BLOCK_BYTES) === 0) continue;
      const own = isKept ? ownBlock(index, was) : undefined;
      for (let page = 0; page < BLOCK_BYTES; page += PAGE_BYTES) {
        const at = offset + page;
        if (now.bytes.compare(was.bytes, page, page + PAGE_BYTES, at, at + PAGE_BYTES) === 0) continue;
        const number = (start + page) / PAGE_BYTES;
        if (own && before?.has(number) === false) before.set(number, pageOf(was, page));
        if (gathers === "changes") changes.add(number, was.words, page / 4, now.words, at / 4);
        if (own) now.bytes.copy(own.bytes, page, at, at + PAGE_BYTES);
      }
      const more = heldBytes - heldBefore + changes.bytes();
      isKept &&= more <= ALWAYS_HELD || heldBytes + CHANGE_COPIES * changes.bytes() <= mostHeld;
    }
    return isKept;
  }

  return {
    /** Bytes that the last image takes, as it is held. */
    heldBytes: () => heldBytes,
    /** True if changes since this image are at hand. */
    has: (id: string) => id === held || id === anchor?.id,
    /**
     * If `base` is the previous image or the anchor, the pages that differ from it are returned;
     * otherwise all pages that are not zero. If the image would take more than `mostHeld` bytes,
     * with its pages, nothing is held any more, and `isKept` is false.
     */
    capture({ id, base, memory, masks, mostHeld = Number.POSITIVE_INFINITY, ...image }: Captured) {
      const isNext = base === held;
      const since = !isNext && base === anchor?.id ? anchor : undefined;
      const gathers = isNext ? "changes" : since ? "none" : "all";
      const isKept = follow(memory, masks, {
        gathers,
        // The anchor before another one is only needed for what is based on it.
        before: image.anchor ? since?.before : anchor?.before,
        mostHeld: since ? Number.POSITIVE_INFINITY : mostHeld,
      });
      if (since) gatherSince(changes, since, blocks);
      if (isKept) {
        held = id;
        if (image.anchor) anchor = { id, before: new Map() };
        else if (anchor && anchor.before.size > MOST_CHANGES_HELD) anchor = undefined;
      } else {
        held = undefined;
        anchor = undefined;
        blocks = [];
        slabs.free();
        heldBytes = 0;
      }
      return { base: isNext || since ? base : null, pages: changes.flush(), isKept };
    },
  };
}

/**
 * An earlier image as the anchor of one that has these blocks. undefined if it is too different.
 */
function anchorBefore({ id, memory }: Pick<GuestImage, "id" | "memory">, blocks: readonly (Block | undefined)[]) {
  const before: Anchor["before"] = new Map();
  const old = blocksIn(viewOf(memory));
  if (old.length > blocks.length) return undefined;
  for (const [index, now = ZERO] of blocks.entries()) {
    const was = old[index] ?? ZERO;
    for (let page = 0; page < BLOCK_BYTES; page += PAGE_BYTES) {
      if (now.bytes.compare(was.bytes, page, page + PAGE_BYTES, page, page + PAGE_BYTES) === 0) continue;
      before.set((index * BLOCK_BYTES + page) / PAGE_BYTES, pageOf(was, page));
    }
    if (before.size > MOST_CHANGES_HELD) return undefined;
  }
  return { id, before };
}

/** The blocks that are not zero, in their places. */
function blocksIn(memory: Buffer): (Block | undefined)[] {
  return Array.from({ length: memory.length / BLOCK_BYTES }, (_, index) => {
    const block = memory.subarray(index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES);
    return block.equals(ZERO.bytes) ? undefined : blockOf(block);
  });
}

/**
 * Room for copies of blocks. The C library keeps what was freed in small pieces, but gives a large
 * one back at once.
 */
function openSlabs() {
  const slabs: Uint8Array[] = [];
  let copied = 0;
  return {
    copy(bytes: Buffer): Buffer {
      const at = copied - SMALL_BYTES;
      copied += BLOCK_BYTES;
      if (at < 0) return Buffer.from(bytes);
      if (at % SLAB_BYTES === 0) slabs.push(new Uint8Array(SLAB_BYTES));
      const own = slabs.at(-1)?.subarray(at % SLAB_BYTES, (at % SLAB_BYTES) + BLOCK_BYTES);
      if (!own) throw new Error("there is no slab");
      own.set(bytes);
      return viewOf(own);
    },
    free(): void {
      for (const slab of slabs.splice(0)) freeBytes(slab);
      copied = 0;
    },
  };
}

/** Copies of a small guest. */
const SMALL_BYTES = 2 * 2 ** 20;
/**
 * More than the C library ever takes from what it keeps. What is not used of it takes no memory.
 */
const SLAB_BYTES = 33 * 2 ** 20;

/** The part of the memory that is gathered while the held image is made equal to it. */
type Gathered = "changes" | "all" | "none";

/** Gathers all of a block. */
function gatherBlock(changes: Changes, start: number, now: Block, offset: number): void {
  if (now.bytes.compare(ZERO.bytes, 0, BLOCK_BYTES, offset, offset + BLOCK_BYTES) === 0) return;
  for (let page = 0; page < BLOCK_BYTES; page += PAGE_BYTES) {
    changes.add((start + page) / PAGE_BYTES, ZERO_PAGE, 0, now.words, (offset + page) / 4);
  }
}

/**
 * Gathers what has changed since the anchor. A page that changed and changed back does not differ.
 */
function gatherSince(changes: Changes, { before }: Anchor, blocks: readonly (Block | undefined)[]): void {
  for (const number of Uint32Array.from(before.keys()).sort()) {
    const block = blocks[Math.floor(number / BLOCK_PAGES)] ?? ZERO;
    changes.add(number, before.get(number) ?? ZERO_PAGE, 0, block.words, (number % BLOCK_PAGES) * PAGE_WORDS);
  }
}

function viewOf(memory: Uint8Array): Buffer {
  return Buffer.from(memory.buffer, memory.byteOffset, memory.length);
}

function blockOf(bytes: Buffer): Block {
  return { bytes, words: new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4) };
}

/** The page as it is now. @param at bytes from the block's start */
function pageOf(block: Block, at: number): Int32Array {
  return block === ZERO ? ZERO_PAGE : block.words.slice(at / 4, at / 4 + PAGE_WORDS);
}

/** Memory for one copy at a time: a new one for each capture would soon be garbage. */
let copied: Block | undefined;

/**
 * Returns the block at `start` with zeros where masks lie; it is valid until the next call. If no
 * mask lies there it is the memory itself, at this offset.
 */
function masked(live: Block, start: number, masks: readonly Mask[]): [Block, number] {
  let copy: Block | undefined;
  for (const { address, bytes } of masks) {
    const from = Math.max(address - start, 0);
    const to = Math.min(address + bytes - start, BLOCK_BYTES);
    if (from >= to) continue;
    if (from === 0 && to === BLOCK_BYTES) return [ZERO, 0];
    if (!copy) {
      copied ??= blockOf(Buffer.alloc(BLOCK_BYTES));
      copy = copied;
      live.bytes.copy(copy.bytes, 0, start, start + BLOCK_BYTES);
    }
    copy.bytes.fill(0, from, to);
  }
  return copy ? [copy, 0] : [live, start];
}
