import { firstWhere } from "../../platform/first-where.ts";
import type { EpochEntry } from "./entries.ts";

/** The bounds of an entry within which a message may become a stub. */
export interface Mark {
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
  /** Keys that stay, whichever entry of the epoch says so. */
  readonly keep: ReadonlySet<string>;
  /** Results behind it: which ones of their keys. */
  readonly results: ReadonlyMap<string, number>;
}

/** The marks of the n-th message of a key, which is at this place of the branch. */
export type Marks = (key: string, n: number, at: number) => readonly Mark[];

/**
 * The marks of messages, in the order of their entries. A mark that asks for as many tokens as an earlier one makes no stub
 * that the earlier one does not make, and is left out: few entries are looked at for a message, however many there are.
 */
export function marksBy(covers: readonly Cover[]): Marks {
  const reach = reachOf(covers);
  const firstReaching = (at: number) => firstWhere(reach.length, (order) => (reach[order] ?? 0) >= at);
  const least = leastFrom(covers);
  const results = resultsIn(covers);
  return (key, n, at) => {
    const result = results.get(key)?.find((one) => one.n === n);
    const last = result?.order ?? covers.length - 1;
    const marks: Mark[] = [];
    let bound = Number.POSITIVE_INFINITY;
    for (let order = firstReaching(at); order <= last && (least[order] ?? bound) < bound; order++) {
      const cover = covers[order];
      if (!cover || at > cover.end || cover.keep.has(key) || cover.epoch.min >= bound) continue;
      bound = cover.epoch.min;
      marks.push({ min: bound, preview: null });
    }
    return result ? [...marks, { min: 0, preview: result.preview }] : marks;
  };
}

/** The end of each entry or one before it: never less than the one before. */
function reachOf(covers: readonly Cover[]): readonly number[] {
  let furthest = -1;
  return covers.map(({ end }) => {
    furthest = Math.max(furthest, end);
    return furthest;
  });
}

/** The fewest tokens that each entry or one behind it asks for. */
function leastFrom(covers: readonly Cover[]): readonly number[] {
  let least = Number.POSITIVE_INFINITY;
  return covers
    .toReversed()
    .map(({ epoch: { min } }) => {
      least = Math.min(least, min);
      return least;
    })
    .reverse();
}

/** A result that an entry names: which one of its key, and the place of the entry. */
interface Named {
  readonly n: number;
  readonly order: number;
  readonly preview: number;
}

function resultsIn(covers: readonly Cover[]): ReadonlyMap<string, readonly Named[]> {
  const named = new Map<string, Named[]>();
  for (const [order, { results, epoch }] of covers.entries()) {
    for (const [key, n] of results) {
      const one = { n, order, preview: epoch.preview };
      const known = named.get(key);
      if (known) known.push(one);
      else named.set(key, [one]);
    }
  }
  return named;
}
