import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import type { Context, SkippedStats } from "../../context/index.ts";
import { nullIf } from "../../platform/errors.ts";
import { amount, compact, thousands } from "../../platform/figures.ts";
import type { Store } from "../../store/index.ts";
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

/** A figure for each grade, the highest first: a character, or a document, has the highest that it reached. */
interface Grades {
  readonly shown: number;
  readonly found: number;
  readonly ranked: number;
  readonly touched: number;
  readonly never: number;
}

function byGrade(of: (grade: number) => number): Grades {
  return { shown: of(0), found: of(1), ranked: of(2), touched: of(3), never: of(NEVER) };
}

const NEVER = 4;

/** The grade that the ranges of a set reach by themselves. */
const GRADE_OF = { shown: 0, printed: 0, found: 1, ranked: 2, given: 3 } as const;

/** The parts of P that execs have looked at: characters in its documents by grade. `shown` is a lower bound. */
export interface CoverageTotals extends Grades {
  readonly context_hash: string;
  /** Characters of all documents. */
  readonly chars: number;
  /** Characters of joined gaps. They are left out of the grades, but the documents in them do not count as never opened. */
  readonly joined: number;
  /** Execs whose coverage is not recorded. */
  readonly not_recorded: number;
  /** Documents that are not empty, by grade. */
  readonly documents: Grades & { readonly total: number };
}

/** A context as its coverage is told. */
export interface CoveredContext extends CoveredText {
  /** Files of its sources that are not in it. */
  readonly skipped: SkippedStats;
}

/** The text of a context, of which parts are looked at. */
interface CoveredText {
  readonly hash: string;
  /** UTF-16 units of P. */
  readonly length: number;
  readonly documents: Iterable<{ readonly id: string; readonly start: number; readonly end: number }> & {
    readonly length: number;
  };
}

/** A context at hand as its coverage is told. */
export function coveredOf({ hash, text, documents, stats }: Context): CoveredContext {
  return { hash, length: text.length, documents, skipped: stats.skipped };
}

/** An exec, as far as sums need it. `coverage`: null if it is not recorded. */
interface Covering {
  readonly coverage: ToldCoverage | null;
}

/** The parts of a context that execs have looked at. */
export interface SummedCoverage {
  readonly totals: CoverageTotals;
  /** Documents that no exec has opened, the largest first. */
  readonly unread: readonly { readonly id: string; readonly chars: number }[];
  /** For each grade the ranges of P that reached it, or a higher one. */
  readonly reached: readonly (readonly Range[])[];
  /** Documents that are not empty, in their order, with the number of the grade that each reached. */
  readonly graded: readonly { readonly id: string; readonly chars: number; readonly grade: number }[];
  /** UTF-16 units of P. */
  readonly length: number;
}

/** Sums up the parts of a context that execs have looked at. */
export function sumCoverage(context: CoveredText, execs: readonly Covering[]): SummedCoverage {
  const { hash, length } = context;
  const documents = [...context.documents].filter(({ start, end }) => start < end);
  const { levels, joined, not_recorded } = gathered(execs);
  const reached: (readonly Range[])[] = [];
  const met: number[][] = [];
  /** Characters that reached each grade or a higher one, without what may have been joined. */
  const units: number[] = [];
  let left = 0;
  for (const [grade, level] of levels.entries()) {
    const ranges = merged([...(reached.at(-1) ?? []), ...level]);
    const here = unitsMet(ranges, documents);
    left += joined[grade] ?? 0;
    reached.push(ranges);
    met.push(here);
    units.push(Math.max(units.at(-1) ?? 0, sumOf(here) - left));
  }
  const graded = documents.map(({ id, start, end }, at) => {
    const grade = met.findIndex((here) => here[at] !== 0);
    return { id, chars: end - start, grade: grade === -1 ? NEVER : grade };
  });
  const unread = graded.filter(({ grade }) => grade === NEVER).map(({ id, chars }) => ({ id, chars }));
  const chars = sumOf(graded.map((document) => document.chars));
  const totals: CoverageTotals = {
    context_hash: hash,
    chars,
    ...byGrade((grade) => (units[grade] ?? chars) - (units[grade - 1] ?? 0)),
    joined: left,
    not_recorded,
    documents: {
      total: documents.length,
      ...byGrade((grade) => graded.filter((document) => document.grade === grade).length),
    },
  };
  return { totals, unread: unread.sort((one, other) => other.chars - one.chars), reached, graded, length };
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);

/** Ranges in memory at once, unless more of them are apart. */
const MOST_AT_ONCE = 500_000;

/** The ranges and the joined characters of each grade. */
function gathered(execs: readonly Covering[]) {
  const levels = Array.from({ length: NEVER }, (): Range[] => []);
  const joined = levels.map(() => 0);
  let not_recorded = 0;
  for (const { coverage } of execs) {
    if (!coverage) {
      not_recorded++;
      continue;
    }
    const { ranges } = coverage;
    for (const set of SETS) {
      const grade = GRADE_OF[set];
      for (const range of ranges[set]) levels[grade]?.push(range);
      joined[grade] = (joined[grade] ?? 0) + (coverage.joined?.[set] ?? 0);
    }
    for (const [grade, level] of levels.entries()) if (level.length > MOST_AT_ONCE) levels[grade] = merged(level);
  }
  return { levels, joined, not_recorded };
}

/** Characters of the ranges that lie in each document. */
function unitsMet(
  ranges: readonly Range[],
  documents: readonly { readonly start: number; readonly end: number }[],
): number[] {
  let first = 0;
  return documents.map(({ start, end }) => {
    let units = 0;
    while ((ranges[first]?.[1] ?? Number.POSITIVE_INFINITY) <= start) first++;
    for (let next = first; (ranges[next]?.[0] ?? end) < end; next++) {
      const [from = 0, to = 0] = ranges[next] ?? [];
      units += Math.min(to, end) - Math.max(from, start);
    }
    return units;
  });
}

/** The documents of a context in the store; null without a context, and if it is lost. */
export async function coveredContext(
  store: Pick<Store, "contextIndex">,
  key: string | null,
): Promise<CoveredContext | null> {
  const index = key === null ? null : await nullIf("context_lost", store.contextIndex(key));
  const { success, output } = v.safeParse(IndexSchema, index);
  if (!success) return null;
  const { stats, documents } = output;
  return { hash: stats.context_hash, length: stats.length_chars, documents, skipped: stats.skipped };
}

/** Skipped files as the index of a context keeps them. */
export const SkippedSchema = v.object({
  count: v.number(),
  unread: v.number(),
  files: v.array(v.object({ path: v.string(), reason: v.string() })),
  reasons: v.record(v.string(), v.number()),
});

const IndexSchema = v.object({
  stats: v.object({
    context_hash: v.string(),
    length_chars: v.number(),
    skipped: SkippedSchema,
  }),
  documents: v.array(v.object({ id: v.string(), start: v.number(), end: v.number() })),
});

/** `shown at least 38 % of 12.4M characters · found 4 % · ranked 1 % · touched 12 % · never opened 214 of 412 documents` */
export function coverageLine(totals: CoverageTotals): string {
  const { shown, never, missing } = inWords(totals);
  const shares = (["found", "ranked", "touched"] as const).map(
    (grade) => `${grade} ${percent(totals[grade], totals.chars)}`,
  );
  const opened = never === null ? openedAll(totals.documents.total) : `never opened ${never}`;
  return [`shown ${shown}`, ...shares, opened, ...missing].join(" · ");
}

/** A sentence about what models read of P and what was never opened. @param how the command that lists the latter */
export function coverageSentence(totals: CoverageTotals, how = ""): string {
  const { shown, never, missing } = inWords(totals);
  const command = how === "" || totals.documents.never === 0 ? "" : ` (${how})`;
  const opened = never === null ? openedAll(totals.documents.total) : `never opened: ${never}${command}`;
  return `${[`A model read ${shown}`, opened, ...missing].join("; ")}.`;
}

const openedAll = (documents: number) =>
  documents === 1 ? "its document was opened" : `all ${thousands(documents)} documents were opened`;

/** `never` is null if it is certain that no document was left out. */
function inWords({ shown, chars, joined, not_recorded, documents: { never, total } }: CoverageTotals) {
  const isAll = shown === chars && chars > 0;
  return {
    shown: isAll
      ? `all ${compact(chars)} characters`
      : `at least ${percent(shown, chars)} of ${compact(chars)} characters`,
    // Documents between joined places may be more.
    never:
      never === 0 && joined === 0 ? null : `${joined > 0 ? "at least " : ""}${never} of ${amount(total, "document")}`,
    missing: not_recorded > 0 ? [`not recorded for ${amount(not_recorded, "exec")}`] : [],
  };
}

/** `38 %`, `0.4 %`: rounded down. */
function percent(part: number, whole: number): string {
  const share = whole === 0 ? 0 : (100 * part) / whole;
  return `${share < 10 ? Math.floor(share * 10) / 10 : Math.floor(share)} %`;
}
