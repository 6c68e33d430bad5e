/** A set of the stretches that a text is divided into, all of one length. */
export interface Stretches {
  /** Adds those that a range touches, UTF-16 units. */
  add(start: number, end: number): void;
  /** Base64 of the bits: stretch n is bit n % 8, from the lowest, of byte n / 8. Empty if no bit is set. */
  toString(): string;
}

/** How many stretches a context has. */
export const STRETCHES = 2048;

/** @param length of the text, UTF-16 units. @param kept base64 of the bits that are set */
export function openStretches(length: number, kept = ""): Stretches {
  const bits = new Uint8Array(STRETCHES / 8);
  bits.set(Buffer.from(kept, "base64").subarray(0, bits.length));
  return {
    add(start, end) {
      const [from, to] = [Math.max(0, start), Math.min(end, length)];
      if (from >= to) return;
      // Multiplied first: the quotient of two whole numbers is never rounded up to the next one.
      const last = Math.ceil((to * STRETCHES) / length);
      for (let at = Math.floor((from * STRETCHES) / length); at < last; at++) {
        bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
      }
    },
    toString: () => (bits.some((byte) => byte !== 0) ? Buffer.from(bits).toString("base64") : ""),
  };
}
