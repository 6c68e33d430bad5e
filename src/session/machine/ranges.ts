/** A range of a text, UTF-16 units. */
export type Range = readonly [start: number, end: number];

/** With more ranges in a set, the smallest gaps between them are joined. */
export const MOST_RANGES = 8192;

/** Ranges of a text that grow. */
export interface RangeSet {
  add(start: number, end: number): void;
  /** Returns the ranges so far. */
  tell(): ToldRanges;
}

interface ToldRanges {
  /** In their order. */
  readonly ranges: readonly Range[];
  readonly packed: string;
  /** At the most so many characters are in them only because gaps were joined. */
  readonly joined: number;
}

/**
 * Opens a set of places of a text, as ranges that neither touch nor overlap.
 *
 * @param length of the text, UTF-16 units. @param kept the text that `packed` was. @param joinedBefore the number that `joined` was
 */
export function openRanges(length: number, kept = "", joinedBefore = 0): RangeSet {
  let latest: ToldRanges = { ranges: [], packed: "", joined: joinedBefore };
  let fresh = rangesIn(kept, length);

  function tell(): ToldRanges {
    if (fresh.length === 0) return latest;
    const all = merged([...latest.ranges, ...fresh]);
    const gaps = smallestGaps(all, all.length - MOST_RANGES);
    const ranges = gaps.length === 0 ? all : merged([...all, ...gaps]);
    latest = {
      ranges,
      packed: packRanges(ranges),
      joined: gaps.reduce((units, gap) => units + unitsIn(gap), latest.joined),
    };
    fresh = [];
    return latest;
  }

  function add(start: number, end: number): void {
    const from = Math.max(0, start);
    const to = Math.min(end, length);
    if (!(from < to)) return;
    const last = fresh.at(-1);
    if (last && from >= last[0] && from <= last[1]) fresh[fresh.length - 1] = [last[0], Math.max(last[1], to)];
    else if (fresh.push([from, to]) > 8 * MOST_RANGES) tell();
  }

  // The kept ranges are told already: later ones are joined as if these had never been kept.
  tell();
  return { add, tell };
}

/** Ranges of which none touches or overlaps another, in their order. */
export function merged(all: readonly Range[]): Range[] {
  const out: [number, number][] = [];
  for (const [from, to] of all.toSorted(([one], [other]) => one - other)) {
    const last = out.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else out.push([from, to]);
  }
  return out;
}

export const packRanges = (ranges: readonly Range[]): string => packNumbers(ranges.flat());

/** The packed ranges, within a text of this length. A store may come from another user: other text gives other ranges. */
export function rangesIn(packed: string, length: number): Range[] {
  const numbers = [...unpackNumbers(packed)];
  return numbers
    .map((start, at): Range => [Math.max(0, start), Math.min(numbers[at + 1] ?? 0, length)])
    .filter(([start, end], at) => at % 2 === 0 && start < end);
}

const unitsIn = ([start, end]: Range) => end - start;

/** Finds the smallest gaps between ranges: of equal ones the first. */
function smallestGaps(ranges: readonly Range[], count: number): Range[] {
  if (count <= 0) return [];
  const gaps = ranges.slice(1).map(([start], at): Range => [ranges[at]?.[1] ?? 0, start]);
  const largest = Float64Array.from(gaps, unitsIn).sort()[count - 1] ?? 0;
  const smaller = gaps.filter((gap) => unitsIn(gap) < largest);
  return [...smaller, ...gaps.filter((gap) => unitsIn(gap) === largest).slice(0, count - smaller.length)];
}

/**
 * Whole numbers as base64 of their differences: few bytes for those that are close to each other, in whatever order.
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

/** Bytes of a difference of two offsets: eight have 56 bits. */
const MOST_BYTES = 8;

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
