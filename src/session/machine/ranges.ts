import { packNumbers, unpackNumbers } from "./packed-numbers.ts";

/** A range of a text, UTF-16 units. */
export type Range = readonly [start: number, end: number];

/** With more ranges in a set, the smallest gaps between them are joined. */
export const MOST_RANGES = 8192;

export type Ranges = ReturnType<typeof openRanges>;

/**
 * Opens a set of places of a text, as ranges that neither touch nor overlap.
 *
 * @param length of the text, UTF-16 units. @param kept the text that `packed` gave. @param joinedBefore the number that `joined` gave
 */
export function openRanges(length: number, kept = "", joinedBefore = 0) {
  let ranges = merged(rangesIn(kept, length));
  let fresh: [number, number][] = [];
  let joined = joinedBefore;
  let text: string | undefined;

  function settle(): void {
    if (fresh.length === 0 && ranges.length <= MOST_RANGES) return;
    ranges = merged([...ranges, ...fresh]);
    fresh = [];
    text = undefined;
    if (ranges.length <= MOST_RANGES) return;
    const before = unitsOf(ranges);
    ranges = withFewer(ranges, MOST_RANGES);
    joined += unitsOf(ranges) - before;
  }

  return {
    add(start: number, end: number): void {
      const [from, to] = [Math.max(0, start), Math.min(end, length)];
      if (!(from < to)) return;
      const last = fresh.at(-1);
      if (last && from >= last[0] && from <= last[1]) last[1] = Math.max(last[1], to);
      else fresh.push([from, to]);
      if (fresh.length > 4 * MOST_RANGES) settle();
    },
    /** Beginnings and ends in turn, packed. Empty if there is none. */
    packed(): string {
      settle();
      text ??= packRanges(ranges);
      return text;
    },
    /** In their order. */
    all(): readonly Range[] {
      settle();
      return ranges;
    },
    /** The characters that are in the set only because gaps were joined: at the most so many. */
    joined(): number {
      settle();
      return joined;
    },
  };
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

export function unitsOf(ranges: readonly Range[]): number {
  return ranges.reduce((units, [start, end]) => units + end - start, 0);
}

export const packRanges = (ranges: readonly Range[]): string => packNumbers(ranges.flat());

/** The packed ranges, within a text of this length. A store may come from somebody else: other text gives other ranges. */
export function rangesIn(packed: string, length: number): Range[] {
  const out: Range[] = [];
  let start: number | undefined;
  for (const number of unpackNumbers(packed)) {
    if (start === undefined) {
      start = Math.max(0, number);
      continue;
    }
    const end = Math.min(number, length);
    if (start < end) out.push([start, end]);
    start = undefined;
  }
  return out;
}

/** The ranges with as many of the smallest gaps joined as are too many: of equal ones the first. */
function withFewer(ranges: readonly Range[], most: number): Range[] {
  const gaps = ranges.slice(1).map(([start], at) => ({ at: at + 1, units: start - (ranges[at]?.[1] ?? 0) }));
  const smallest = gaps.sort((one, other) => one.units - other.units || one.at - other.at);
  const closed = new Set(smallest.slice(0, ranges.length - most).map(({ at }) => at));
  const out: [number, number][] = [];
  for (const [at, [start, end]] of ranges.entries()) {
    const last = out.at(-1);
    if (last && closed.has(at)) last[1] = end;
    else out.push([start, end]);
  }
  return out;
}
