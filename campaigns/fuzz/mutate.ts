/** Numbers from 0 up to 1, as `seededRandom` gives them. */
export type Random = () => number;

export const below = (random: Random, most: number) => Math.floor(random() * most);

export function pick<T>(random: Random, items: readonly T[]): T {
  const item = items[below(random, items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

/** Texts that readers have trouble with. */
const ODD = [
  ...["", "\0", "\ud800", "\u202e", "\ufeff", "__proto__", "constructor", "../../etc/passwd", "\r\n", "\\", "\u2028"],
  ...["9".repeat(400), "-0", "1e999", "[".repeat(2000), '{"a":'.repeat(500), "A".repeat(70_000), "ß€😀"],
];

/** The bytes after one to four changes: bits flipped, parts cut, doubled, moved or overwritten, and odd texts put in. */
export function mutated(random: Random, bytes: Uint8Array): Uint8Array {
  let changed = Buffer.from(bytes);
  for (let left = 1 + below(random, 4); left > 0; left -= 1) changed = change(random, changed);
  return changed;
}

function change(random: Random, bytes: Buffer): Buffer<ArrayBuffer> {
  const at = below(random, bytes.length + 1);
  const length = below(random, Math.min(bytes.length - at, 1 << below(random, 12)) + 1);
  const part = bytes.subarray(at, at + length);
  const around = (middle: readonly Uint8Array[]) =>
    Buffer.concat([bytes.subarray(0, at), ...middle, bytes.subarray(at + length)]);
  switch (below(random, 6)) {
    case 0:
      return around([]);
    case 1:
      return around([part, part]);
    case 2:
      return around([Buffer.from(part).reverse()]);
    case 3:
      return around([Buffer.from(pick(random, ODD))]);
    case 4:
      return Buffer.from(bytes.subarray(0, at));
    default: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << below(random, 8));
      return copy;
    }
  }
}

/** A value of JSON with one or more of its places replaced by a value of another kind. */
export function distorted(random: Random, value: unknown): unknown {
  if (below(random, 8) === 0) return oddValue(random);
  if (Array.isArray(value)) {
    const at = below(random, value.length);
    return value.map((item, index) => (index === at ? distorted(random, item) : item));
  }
  if (typeof value !== "object" || value === null) return below(random, 2) === 0 ? oddValue(random) : value;
  const entries = Object.entries(value);
  const at = below(random, entries.length + 1);
  if (at === entries.length) return { ...value, [pick(random, ODD).slice(0, 100)]: oddValue(random) };
  return Object.fromEntries(entries.map(([key, item], index) => [key, index === at ? distorted(random, item) : item]));
}

/** A value that few expect. */
export function oddValue(random: Random): unknown {
  const numbers = [0, -1, 0.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, Number.MIN_VALUE];
  const nested = Array.from({ length: 300 }).reduce<unknown>((inner) => [inner], 0);
  return pick<() => unknown>(random, [
    () => null,
    () => below(random, 2) === 0,
    () => pick(random, numbers),
    () => pick(random, ODD),
    () => [],
    () => ({}),
    () => nested,
    () => ({ length: 4_294_967_296, role: "x" }),
    () => Array.from({ length: 50 }, () => pick(random, numbers)),
  ])();
}
