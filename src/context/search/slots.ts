import { larger } from "./numbers.ts";

/**
 * A hash table of the numbers 0, 1, 2 … of things that are kept elsewhere. Those with the hash of a
 * thing, and a few others, are looked at one by one; if none of them is it, it is added as the next
 * number.
 */
export interface Slots {
  count(): number;
  /** The first number that may have this hash; -1: there is none. */
  first(hash: number): number;
  /** The next number that may have the hash of `first`; -1: there is none. */
  next(): number;
  /** Adds a number with the hash of `first`, when there was no next one. */
  add(): number;
  hash(number: number): number;
  /** Forgets all, and keeps the memory. */
  clear(): void;
}

const ROOM = 1 << 14;
const FACTOR = 0x01000193;

/** The hash of some bytes and of one more. The first one begins with a seed. */
export const hashWith = (hash: number, byte: number) => (Math.imul(hash ^ byte, FACTOR) + (hash >>> 15)) | 0;

/** The end of a hash, 32 bits. */
export const mixed = (hash: number) => (hash ^ (hash >>> 16)) >>> 0;

/**
 * A hash of bytes. The seed is a part of P's hash, so that no P can make its words collide.
 */
export function hashOf(bytes: Uint8Array, from: number, to: number, seed: number): number {
  let hash = seed;
  for (let at = from; at < to; at++) hash = hashWith(hash, bytes[at] ?? 0);
  return mixed(hash);
}

/** @param hash sha256 of P, hex */
export function seedOf(hash: string): number {
  return Number.parseInt(hash.slice(0, 8), 16) | 0;
}

/** Bits of a slot for the number plus 1; the others have the lowest bits of the hash. */
const NUMBER_BITS = 24;
const NUMBERS = 2 ** NUMBER_BITS - 1;

/** Opens a table without numbers. */
export function openSlots(): Slots {
  /** Empty ones are 0. The highest bits of a hash say in which one a number is, or behind which. */
  let slots = new Uint32Array(2 * ROOM);
  let shift = Math.clz32(slots.length - 1);
  let hashes = new Uint32Array(ROOM);
  let count = 0;
  let sought = 0;
  let slot = 0;

  function begin(hash: number): void {
    sought = hash;
    slot = hash >>> shift;
  }

  /** The number with the hash that is sought, from this slot on. */
  function seek(): number {
    const last = slots.length - 1;
    const tag = sought << NUMBER_BITS;
    for (let value = slots[slot] ?? 0; value !== 0; value = slots[slot] ?? 0) {
      if ((value ^ tag) >>> NUMBER_BITS === 0) return (value & NUMBERS) - 1;
      slot = (slot + 1) & last;
    }
    return -1;
  }

  function put(number: number): void {
    slots[slot] = (sought << NUMBER_BITS) | (number + 1);
  }

  function spread(): void {
    slots = new Uint32Array(2 * slots.length);
    shift -= 1;
    for (let number = 0; number < count; number++) {
      begin(hashes[number] ?? 0);
      while (slots[slot] !== 0) slot = (slot + 1) & (slots.length - 1);
      put(number);
    }
  }

  return {
    count: () => count,
    first(hash) {
      begin(hash);
      return seek();
    },
    next() {
      slot = (slot + 1) & (slots.length - 1);
      return seek();
    },
    add() {
      if (count === NUMBERS) throw new RangeError(`a part of the search index has more than ${NUMBERS} words`);
      if (count === hashes.length) hashes = larger(hashes);
      hashes[count] = sought;
      put(count);
      count += 1;
      if (2 * count > slots.length) spread();
      return count - 1;
    },
    hash: (number) => hashes[number] ?? 0,
    clear() {
      slots.fill(0);
      count = 0;
    },
  };
}
