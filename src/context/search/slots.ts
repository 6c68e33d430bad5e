/**
 * A hash table of the numbers 0, 1, 2 … of things that are kept elsewhere. Those with the hash of a
 * thing are looked at one by one; if none of them is it, it is added as the next number.
 */
export interface Slots {
  count(): number;
  /** The first number with this hash; -1: there is none. */
  first(hash: number): number;
  /** The next number with the hash of `first`; -1: there is none. */
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

/** Opens a table without numbers. */
export function openSlots(): Slots {
  /** Pairs: a hash, and the number plus 1; in an empty slot 0. */
  let pairs = new Uint32Array(4 * ROOM);
  let hashes = new Uint32Array(ROOM);
  let count = 0;
  let sought = 0;
  let slot = 0;

  function seek(): number {
    const last = pairs.length - 2;
    for (let number = pairs[slot + 1] ?? 0; number !== 0; number = pairs[slot + 1] ?? 0) {
      if (pairs[slot] === sought) return number - 1;
      slot = (slot + 2) & last;
    }
    return -1;
  }

  function begin(hash: number): void {
    sought = hash;
    slot = (2 * hash) & (pairs.length - 2);
  }

  /** Puts the number that is sought into the slot, which is empty. */
  function put(number: number): void {
    pairs[slot] = sought;
    pairs[slot + 1] = number + 1;
  }

  function spread(): void {
    pairs = new Uint32Array(2 * pairs.length);
    for (let number = 0; number < count; number++) {
      begin(hashes[number] ?? 0);
      while (pairs[slot + 1] !== 0) slot = (slot + 2) & (pairs.length - 2);
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
      slot = (slot + 2) & (pairs.length - 2);
      return seek();
    },
    add() {
      if (count === hashes.length) hashes = larger(hashes);
      hashes[count] = sought;
      put(count);
      count += 1;
      if (4 * count > pairs.length) spread();
      return count - 1;
    },
    hash: (number) => hashes[number] ?? 0,
    clear() {
      pairs.fill(0);
      count = 0;
    },
  };
}

/** The same numbers in twice the room. */
export function larger(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  return new Uint32Array(numbers.buffer.transfer(2 * numbers.byteLength));
}
