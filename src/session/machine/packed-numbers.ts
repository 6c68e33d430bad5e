/**
 * Whole numbers below 2^31 as base64 of their differences: few bytes for those that are close to each other, in whatever order.
 * A difference takes 7 bits a byte, the lowest first; its sign is its lowest bit.
 */
export function packNumbers(numbers: readonly number[]): string {
  const bytes = Buffer.alloc(numbers.length * MOST_BYTES);
  let at = 0;
  let before = 0;
  for (const number of numbers) {
    const difference = number - before;
    before = number;
    let rest = difference < 0 ? -2 * difference - 1 : 2 * difference;
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 128;
    bytes[at++] = rest;
  }
  return bytes.toString("base64", 0, at);
}

const MOST_BYTES = 5;

/** The numbers that were packed. Other text gives other numbers. */
export function* unpackNumbers(base64: string): Iterable<number> {
  let number = 0;
  let rest = 0;
  let unit = 1;
  for (const byte of Buffer.from(base64, "base64")) {
    rest += (byte % 128) * unit;
    unit *= 128;
    if (byte > 127) continue;
    number += rest % 2 === 0 ? rest / 2 : -(rest + 1) / 2;
    [rest, unit] = [0, 1];
    yield number;
  }
}
