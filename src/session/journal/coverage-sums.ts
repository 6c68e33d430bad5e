import { join } from "node:path";
import * as v from "valibot";
import { type Context, type DocumentSpan, openTable, type SkippedStats, spansOf } from "../../context/index.ts";
import { binarySearch } from "../../platform/binary-search.ts";
import { nullIf } from "../../platform/errors.ts";
import { amount, compact, thousands } from "../../platform/figures.ts";
import type { Store } from "../../store/index.ts";
import { merged, type Range } from "../machine/ranges.ts";
import { SETS, type ToldCoverage } from "./coverage.ts";

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

/** The grade of what nobody looked at. */
export const NEVER = 4;

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
  readonly documents: CoveredDocuments;
}

/** The documents of a context. Those of a large one are read from its table when they are asked for. */
interface CoveredDocuments {
  readonly length: number;
  /** In their order. */
  spans(): Iterable<DocumentSpan>;
  /** The ids of the documents with these numbers, from 0. */
  ids(numbers: readonly number[]): readonly string[];
}

/** A context at hand as its coverage is told. */
export function coveredOf({ hash, text, documents, stats }: Context): CoveredContext {
  const { length } = documents;
  const ids = (numbers: readonly number[]) => numbers.map((n) => documents.at(n)?.id ?? "");
  return {
    hash,
    length: text.length,
    documents: { length, spans: () => spansOf(documents), ids },
    skipped: stats.skipped,
  };
}

/** An exec, as far as sums need it. `coverage`: null if it is not recorded. */
interface Covering {
  readonly coverage: ToldCoverage | null;
}

/** A document with what it takes. */
interface GradedDocument {
  /** Its number among all documents, from 0. */
  readonly at: number;
  readonly id: string;
  readonly chars: number;
}

/** The parts of a context that execs have looked at. */
export interface SummedCoverage {
  readonly totals: CoverageTotals;
  /** For each grade the ranges of P that reached it, or a higher one. */
  readonly reached: readonly (readonly Range[])[];
  /** The grade of the document that holds an offset of P; null where no document has text. */
  gradeAt(offset: number): number | null;
  /** Documents of a grade that are not empty: so many at most, the largest first. */
  largest(grade: number, most: number): readonly GradedDocument[];
  /** UTF-16 units of P. */
  readonly length: number;
}

/** Sums up the parts of a context that execs have looked at. It goes through the documents once, and keeps 17 bytes of each. */
export function sumCoverage({ hash, length, documents }: CoveredText, execs: readonly Covering[]): SummedCoverage {
  const { levels, joined, not_recorded } = gathered(execs);
  const reached: (readonly Range[])[] = [];
  for (const level of levels) reached.push(merged([...(reached.at(-1) ?? []), ...level]));
  const graded = gradesOf(documents, reached);
  /** Characters that reached each grade or a higher one, without what may have been joined. */
  const units: number[] = [];
  let left = 0;
  for (const [grade, met] of graded.met.entries()) {
    left += joined[grade] ?? 0;
    units.push(Math.max(units.at(-1) ?? 0, met - left));
  }
  const { chars, counts, total } = graded;
  const totals: CoverageTotals = {
    context_hash: hash,
    chars,
    ...byGrade((grade) => (units[grade] ?? chars) - (units[grade - 1] ?? 0)),
    joined: left,
    not_recorded,
    documents: { total, ...byGrade((grade) => counts[grade] ?? 0) },
  };
  return { totals, reached, gradeAt: graded.gradeAt, largest: graded.largest, length };
}

/** The grade in place of one of a document without text. */
const EMPTY = 255;

/** The documents of a context by grade. */
interface Graded extends Pick<SummedCoverage, "gradeAt" | "largest"> {
  /** Characters of all documents. */
  readonly chars: number;
  /** Documents that are not empty, and those of each grade. */
  readonly total: number;
  readonly counts: readonly number[];
  /** For each grade the characters of documents that reached it, or a higher one. */
  readonly met: readonly number[];
}

function gradesOf(documents: CoveredDocuments, reached: SummedCoverage["reached"]): Graded {
  const starts = new Float64Array(documents.length);
  const sizes = new Float64Array(documents.length);
  const grades = new Uint8Array(documents.length).fill(EMPTY);
  const meters = reached.map(openMeter);
  const met = meters.map(() => 0);
  const counts = Array.from({ length: NEVER + 1 }, () => 0);
  let chars = 0;
  let at = 0;
  for (const { start, end } of documents.spans()) {
    starts[at] = start;
    if (start < end) {
      let grade = NEVER;
      for (const [level, meter] of meters.entries()) {
        const units = meter(start, end);
        met[level] = (met[level] ?? 0) + units;
        if (units > 0) grade = Math.min(grade, level);
      }
      grades[at] = grade;
      sizes[at] = end - start;
      counts[grade] = (counts[grade] ?? 0) + 1;
      chars += end - start;
    }
    at++;
  }
  return {
    chars,
    total: counts.reduce((sum, count) => sum + count, 0),
    counts,
    met,
    gradeAt(offset) {
      const document = binarySearch(starts.length, (n) => (starts[n] ?? 0) > offset) - 1;
      const grade = grades[document] ?? EMPTY;
      return grade === EMPTY || offset >= (starts[document] ?? 0) + (sizes[document] ?? 0) ? null : grade;
    },
    largest(grade, most) {
      const found = largestOf(sizes, (n) => grades[n] === grade, most);
      const ids = documents.ids(found);
      return found.map((n, index) => ({ at: n, id: ids[index] ?? "", chars: sizes[n] ?? 0 }));
    },
  };
}

/** The numbers of the largest sizes for which a condition holds; of equal ones the first. */
function largestOf(sizes: Float64Array, holds: (at: number) => boolean, most: number): readonly number[] {
  const sorted = sizes.filter((_, at) => holds(at)).sort();
  const least = sorted[Math.max(0, sorted.length - most)] ?? 0;
  const found: number[] = [];
  let equal = most - (sorted.length - binarySearch(sorted.length, (at) => (sorted[at] ?? 0) > least));
  for (const [at, size] of sizes.entries()) {
    if (!holds(at) || size < least) continue;
    if (size > least || equal-- > 0) found.push(at);
  }
  return found.sort((one, other) => (sizes[other] ?? 0) - (sizes[one] ?? 0));
}

/** Counts the characters of ranges in one document after the other. */
function openMeter(ranges: readonly Range[]): (start: number, end: number) => number {
  let first = 0;
  return (start, end) => {
    let units = 0;
    while ((ranges[first]?.[1] ?? Number.POSITIVE_INFINITY) <= start) first++;
    for (let next = first; (ranges[next]?.[0] ?? end) < end; next++) {
      const [from = 0, to = 0] = ranges[next] ?? [];
      units += Math.min(to, end) - Math.max(from, start);
    }
    return units;
  };
}

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

/** The documents of a context in the store; null without a context, and if it is lost. */
export async function coveredContext(
  store: Pick<Store, "contextIndex" | "texts">,
  key: string | null,
): Promise<CoveredContext | null> {
  const index = key === null ? null : await nullIf("context_lost", store.contextIndex(key));
  const { success, output } = v.safeParse(IndexSchema, index);
  if (!success) return null;
  const { stats, documents: kept } = output;
  const documents =
    typeof kept === "string" ? await nullIf("context_lost", inTable(store, kept)) : listedDocuments(kept);
  return documents && { hash: stats.context_hash, length: stats.length_chars, documents, skipped: stats.skipped };
}

/** Documents that are at hand. */
export function listedDocuments(
  documents: readonly { readonly id: string; readonly start: number; readonly end: number }[],
): CoveredDocuments {
  const ids = (numbers: readonly number[]) => numbers.map((n) => documents[n]?.id ?? "");
  return { length: documents.length, spans: () => documents, ids };
}

/** The documents of a table in the store, which is opened for each question. @throws RlmError `context_lost` */
async function inTable({ texts }: Pick<Store, "texts">, name: string): Promise<CoveredDocuments> {
  const path = join(texts?.folder ?? "", name);
  using first = openTable(path);
  return {
    length: first.documents.length,
    *spans() {
      using table = openTable(path);
      yield* table.documents.spans();
    },
    ids(numbers) {
      using table = openTable(path);
      return numbers.map((n) => table.documents.at(n)?.id ?? "");
    },
  };
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
  documents: v.union([
    /** The name of the table of a large context. */
    v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
    v.array(v.object({ id: v.string(), start: v.number(), end: v.number() })),
  ]),
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
