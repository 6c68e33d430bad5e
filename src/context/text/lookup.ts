import { randomInt } from "node:crypto";

/** Numbers of things by a text of each, which is not kept: some 16 bytes for each of them. */
export interface Lookup {
  /** The number that was put last for this text. */
  find(text: string): number | undefined;
  /** Puts a whole number, for which `textOf` gives the text. */
  put(text: string, n: number): void;
}

/** Slots at first, a power of two. */
const LEAST_SLOTS = 1024;

/** Begins an empty lookup. @param textOf the text of a number that was put */
export function openLookup(textOf: (n: number) => string): Lookup {
  // Nobody can choose names that all fall on one slot.
  const factor = randomInt(2 ** 31) * 2 + 1;
  // A slot has a hash, and a number plus 1; 0: it is free.
  let hashes = new Uint32Array(LEAST_SLOTS);
  let numbers = new Uint32Array(LEAST_SLOTS);
  let count = 0;

  function hashOf(text: string): number {
    let hash = text.length;
    for (let at = 0; at < text.length; at++) {
      hash = Math.imul(hash ^ text.charCodeAt(at), factor);
      hash ^= hash >>> 15;
    }
    return hash >>> 0;
  }

  /** The slot of a text, or the free one in which it belongs. */
  function slotOf(text: string, hash: number): number {
    for (let slot = hash % numbers.length; ; slot = (slot + 1) % numbers.length) {
      const number = numbers[slot] ?? 0;
      if (number === 0 || (hashes[slot] === hash && textOf(number - 1) === text)) return slot;
    }
  }

  function grow(): void {
    const known = { hashes, numbers };
    hashes = new Uint32Array(2 * known.hashes.length);
    numbers = new Uint32Array(2 * known.numbers.length);
    for (const [at, number] of known.numbers.entries()) {
      if (number === 0) continue;
      const hash = known.hashes[at] ?? 0;
      let slot = hash % numbers.length;
      while (numbers[slot] !== 0) slot = (slot + 1) % numbers.length;
      hashes[slot] = hash;
      numbers[slot] = number;
    }
  }

  return {
    find(text) {
      const number = numbers[slotOf(text, hashOf(text))] ?? 0;
      return number === 0 ? undefined : number - 1;
    },
    put(text, n) {
      if (2 * count >= numbers.length) grow();
      const hash = hashOf(text);
      const slot = slotOf(text, hash);
      if (numbers[slot] === 0) count += 1;
      hashes[slot] = hash;
      numbers[slot] = n + 1;
    },
  };
}
