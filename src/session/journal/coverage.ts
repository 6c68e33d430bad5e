import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import { PLACE_UNITS } from "../machine/passages.ts";
import { merged, packRanges, type Range, rangesIn } from "../machine/ranges.ts";

/**
 * The sets of ranges that tell of an exec.
 * - `shown`: given to a model, in contexts of calls and in prompts. Passages of prompts are recognised from 127 characters on.
 * - `found`: matches of `find`.
 * - `ranked`: hits of `search`.
 * - `given`: given to the cell by `peek` and `peek_doc`; all of P once the cell touched `P`.
 * - `printed`: passages of what the cell printed, and of the texts in its result, if a root model reads them.
 */
export const SETS = ["shown", "found", "ranked", "given", "printed"] as const;

export type CoverageSet = (typeof SETS)[number];

/** A value for each set. */
export function bySet<T>(of: (set: CoverageSet) => T): Readonly<Record<CoverageSet, T>> {
  return { shown: of("shown"), found: of("found"), ranked: of("ranked"), given: of("given"), printed: of("printed") };
}

/** The parts of a context that an exec has looked at. */
export interface Coverage {
  readonly context_hash: string;
  /** Ranges of the context by set, as packed numbers: beginnings and ends in turn, UTF-16 units. */
  readonly ranges: Readonly<Record<CoverageSet, string>>;
  /** The cell touched `P`: all of it was at hand. */
  readonly whole?: true;
  /** By set, the most characters that are in it only because gaps were joined. Absent if there are none. */
  readonly joined?: Readonly<Partial<Record<CoverageSet, number>>>;
}

/** A coverage with its ranges as lists. */
export interface ToldCoverage extends Omit<Coverage, "ranges"> {
  readonly ranges: Readonly<Record<CoverageSet, readonly Range[]>>;
}

export function toldCoverage(coverage: Coverage | null | undefined): ToldCoverage | null {
  // Another user may have written the store.
  if (!coverage?.ranges) return null;
  const { ranges, ...others } = coverage;
  return {
    ...others,
    // A session of many execs would not have room for the lists of all of them.
    get ranges() {
      return bySet((set) => rangesIn(ranges[set], Number.POSITIVE_INFINITY));
    },
  };
}

/** The coverage with its fields, which a machine keeps while its exec runs. */
const CoverageSchema = v.object({
  context_hash: v.string(),
  ranges: v.object(bySet(() => v.string())),
  whole: v.exactOptional(v.literal(true)),
  joined: v.exactOptional(v.object(bySet(() => v.exactOptional(v.number())))),
});

/** Adds what a cell was given to the packed ranges of the cells since the last load. Passages are recognised by them. */
export function givenAfter(before: readonly string[], coverage: Coverage | undefined): readonly string[] {
  const { given = "", ranked = "" } = coverage?.ranges ?? {};
  const all = [...before, ...[given, ranked].filter((packed) => packed !== "")];
  if (all.length < MOST_PACKED) return all;
  const places = all.flatMap((packed) =>
    rangesIn(packed, Number.POSITIVE_INFINITY).map(([start, end]): Range => [placeFrom(start), placeFrom(end)]),
  );
  return [packRanges(merged(places.filter(([start, end]) => start < end)))];
}

/** With more, they are made one, of the places alone that passages are known by. */
const MOST_PACKED = 64;

const placeFrom = (at: number) => Math.ceil(at / PLACE_UNITS) * PLACE_UNITS;

/** The coverage in what a machine has kept of an exec; null if there is none. */
export function coverageIn(kept: Json | undefined): Coverage | null {
  const read = v.safeParse(CoverageSchema, kept);
  return read.success ? read.output : null;
}

/** Hash of the conversation in what a machine has kept of an exec, if a cell has touched it; else null. */
export function touchedIn(kept: Json | undefined): string | null {
  return v.is(TouchedSchema, kept) ? kept.history_hash : null;
}

const TouchedSchema = v.object({ history_hash: v.string() });
