import { type ErrorEnd, foundEnd, limitLowered, outOfMemory } from "./ends.ts";
import type { Engine } from "./engine.ts";
import type { RlmError } from "./errors.ts";

/** The limit of the guest's heap. The library's texts come on top of the guest's own limit. */
export interface Heap {
  readonly limitBytes: number;
  /**
   * Takes note of the bytes that the last image takes. Linear memory may grow by so much less, but
   * always to the limit.
   */
  holdsCopy(bytes: number): void;
  /** Bytes that linear memory, without texts, and what images hold of it may take together. */
  readonly copiesBytes: number;
  /** Bytes that the guest may hold beyond its own limit: the size of the texts that it has. */
  granted(): number;
  grant(bytes: number): void;
  /**
   * Runs host work without a limit. The limit belongs to the machine: images of equal guests are
   * equal whatever it is.
   */
  withoutLimit<T>(work: () => T): T;
  /**
   * Runs host work in the guest with room beyond the limit: a full guest can be served and saved
   * too.
   */
  withSpareBytes<T>(work: () => T): T;
  /** Runs work with so many bytes less than the guest may otherwise hold. */
  withholding<T>(bytes: number, work: () => T): T;
  /**
   * Returns an error if the guest holds more than its limit, which happens only if the limit was
   * lowered; else null.
   */
  overLimit(): RlmError | null;
  isFull(): boolean;
  /**
   * True if the guest's own part of linear memory, used or not, is so large that it is better
   * dropped than kept.
   */
  hasGrown(): boolean;
  /** The end of a cell that ran out of memory. */
  fullEnd(): ErrorEnd;
}

interface HeapOptions {
  /** The guest's own limit, bytes. */
  readonly limitBytes: number;
  /** Bytes that the image's guest was granted; 0 for a fresh guest. */
  readonly granted: number;
  /**
   * The guest posts while the engine is being opened, so the engine is asked for when it is needed.
   */
  engine(): Pick<Engine, "setMemoryLimit" | "heapBytes" | "linearBytes">;
}

export function openHeap({ limitBytes, engine, ...options }: HeapOptions): Heap {
  let { granted } = options;
  let withheld = 0;
  let copied = 0;

  const setLimit = (spare = 0) => {
    const more = granted + spare;
    const linear = Math.max(limitBytes * LINEAR_SHARE - copied, limitBytes) + FRESH_BYTES;
    engine().setMemoryLimit(limitBytes + more - withheld, linear + more);
  };

  function thenLimited<T>(work: () => T): T {
    try {
      return work();
    } finally {
      setLimit();
    }
  }

  /**
   * Returns an error if the guest holds more than its limit, which happens only if the limit was
   * lowered; else null.
   */
  function overLimit(): RlmError | null {
    const held = engine().heapBytes() - granted;
    return held > limitBytes ? limitLowered(held, limitBytes) : null;
  }

  return {
    limitBytes,
    holdsCopy(bytes: number): void {
      copied = bytes;
      setLimit();
    },
    copiesBytes: limitBytes * COPIES_SHARE,
    granted: () => granted,
    grant(bytes: number): void {
      granted = bytes;
      setLimit();
    },
    withoutLimit<T>(work: () => T): T {
      engine().setMemoryLimit();
      return thenLimited(work);
    },
    withSpareBytes<T>(work: () => T): T {
      setLimit(SPARE_BYTES);
      return thenLimited(work);
    },
    withholding<T>(bytes: number, work: () => T): T {
      withheld = bytes;
      setLimit();
      return thenLimited(() => {
        try {
          return work();
        } finally {
          withheld = 0;
        }
      });
    },
    overLimit,
    isFull: () => engine().heapBytes() > (limitBytes + granted) * FULL_SHARE,
    hasGrown: () => engine().linearBytes() - granted > limitBytes / 2,
    fullEnd(): ErrorEnd {
      const lowered = overLimit();
      return lowered ? foundEnd(lowered) : outOfMemory(limitBytes);
    },
  };
}

/**
 * Linear memory for each byte of the limit: a list that grows is copied to a block half as large
 * again, so both take 5/3 of the larger one.
 */
const LINEAR_SHARE = 5 / 3;
/** It is less than what linear memory may have: the image is handed to the store beside it. */
const COPIES_SHARE = 1.6;
/** Linear memory of a fresh guest: 1.3 MB. */
const FRESH_BYTES = 2 * 2 ** 20;
const SPARE_BYTES = 16 * 2 ** 20;
/**
 * An engine that runs out of memory may throw nothing that says so: from this share on the heap
 * counts as full.
 */
const FULL_SHARE = 0.9;
