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
  const perUnit = STRETCHES / Math.max(1, length);
  return {
    add(start, end) {
      const last = Math.min(STRETCHES, Math.ceil(Math.min(end, length) * perUnit));
      for (let at = Math.floor(Math.max(0, start) * perUnit); at < last; at++) {
        bits[at >> 3] = (bits[at >> 3] ?? 0) | (1 << (at & 7));
      }
    },
    toString: () => (bits.some((byte) => byte !== 0) ? Buffer.from(bits).toString("base64") : ""),
  };
}
