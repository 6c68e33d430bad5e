import { binarySearch } from "../../platform/binary-search.ts";
import type { EpochEntry } from "./entries.ts";

/** The bounds of an entry within which a message may become a stub. */
export interface StubBounds {
  /** Tokens that the text must have. */
  readonly min: number;
  /** UTF-16 units that stay of it; null: none. */
  readonly preview: number | null;
}

/** The messages that an entry covers. */
export interface Cover {
  readonly epoch: EpochEntry;
  /** Everything up to this place, and everything folded up to that one; -1: nothing. */
  readonly end: number;
  readonly folded: number;
  /** True if the n-th message of a key stays, whichever entry of the epoch says so. */
  keeps(key: string, n: number): boolean;
  /** Results behind it: which ones of their keys. */
  readonly results: ReadonlyMap<string, readonly number[]>;
}

/**
 * Finds the bounds for the n-th message of a key, which is at this place of the branch, in the
 * order of their entries. Bounds that ask for as many tokens as earlier ones are left out, since
 * they make no further stub: few entries are looked at for a message, however many there are.
 */
export function stubBoundsBy(covers: readonly Cover[]) {
  // The end of each entry or one before it, and the fewest tokens that each or one behind it asks
  // for.
  const reach = chosenUpTo(
    covers.map(({ end }) => end),
    Math.max,
  );
  const mins = covers.map(({ epoch }) => epoch.min);
  const least = chosenUpTo(mins.toReversed(), Math.min).reverse();
  const firstReaching = (at: number) => binarySearch(reach.length, (order) => (reach[order] ?? 0) >= at);
  const results = resultsIn(covers);
  return (key: string, n: number, at: number): readonly StubBounds[] => {
    const result = results.get(key)?.find((one) => one.n === n);
    const last = result?.order ?? covers.length - 1;
    const all: StubBounds[] = [];
    let bound = Number.POSITIVE_INFINITY;
    for (let order = firstReaching(at); order <= last && (least[order] ?? bound) < bound; order++) {
      const cover = covers[order];
      if (!cover || at > cover.end || cover.keeps(key, n) || cover.epoch.min >= bound) continue;
      bound = cover.epoch.min;
      all.push({ min: bound, preview: null });
    }
    return result ? [...all, { min: 0, preview: result.preview }] : all;
  };
}

/** The largest of each number and those before it, or the smallest. */
function chosenUpTo(numbers: readonly number[], choose: typeof Math.max): number[] {
  let chosen = numbers[0] ?? 0;
  return numbers.map((number) => {
    chosen = choose(chosen, number);
    return chosen;
  });
}

/** Results that entries name, by key: which one of the key, and the place of the entry. */
function resultsIn(covers: readonly Cover[]) {
  const named = covers.flatMap(({ results, epoch: { preview } }, order) =>
    [...results].flatMap(([key, all]) => all.map((n) => ({ key, n, order, preview }))),
  );
  return Map.groupBy(named, ({ key }) => key);
}
