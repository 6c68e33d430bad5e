import * as v from "valibot";
import { nullIf } from "../../platform/errors.ts";
import { amount, compact } from "../../platform/figures.ts";
import type { Store } from "../../store/index.ts";
import { merged, type Range, unitsOf } from "../machine/ranges.ts";
import type { ExecDescription } from "./exec-description.ts";

/** Grades of what was looked at, the highest first: a character, or a document, has the highest that it reached. */
const GRADES = ["shown", "found", "ranked", "touched"] as const;

type Grades = Readonly<Record<(typeof GRADES)[number] | "never", number>>;

/** The parts of P that execs have looked at: characters in its documents by grade. `shown` is a lower bound. */
export interface CoverageTotals extends Grades {
  readonly context_hash: string;
  /** Characters of all documents. */
  readonly chars: number;
  /** Characters of joined gaps. They are left out of the grades, but the documents in them do not count as never opened. */
  readonly joined: number;
  /** Execs whose coverage is not recorded. */
  readonly not_recorded: number;
  /** True if an earlier build recorded stretches: the grades are upper bounds then. */
  readonly up_to: boolean;
  /** Documents that are not empty, by grade. */
  readonly documents: Grades & { readonly total: number };
}

/** The coverage of a session. */
export interface SessionCoverage extends CoverageTotals {
  /** Ids of documents, the largest first, at most 1,000. */
  readonly never_opened: readonly string[];
}

/** A context as its coverage is told. */
export interface CoveredContext {
  readonly hash: string;
  /** UTF-16 units of P. */
  readonly length: number;
  readonly documents: readonly { readonly id: string; readonly start: number; readonly end: number }[];
}

/**
 * Sums up what execs have looked at, and lists the documents that none of them opened, the largest first. `reached` has the
 * ranges of P that reached each grade or a higher one, and `graded` the documents with the number of their grade.
 */
export function sumCoverage(context: CoveredContext, execs: readonly Pick<ExecDescription, "coverage">[]) {
  const documents = context.documents.filter(({ start, end }) => start < end);
  const chars = unitsOf(documents.map(({ start, end }) => [start, end]));
  const { levels, joined, not_recorded, up_to } = gathered(context, execs);
  const grades: number[] = documents.map(() => GRADES.length);
  const units: number[] = [];
  const reached: (readonly Range[])[] = [];
  let left = 0;
  for (const [grade, level] of levels.entries()) {
    const ranges = merged([...(reached.at(-1) ?? []), ...level]);
    reached.push(ranges);
    // What may have been joined is left out.
    left += joined[grade] ?? 0;
    const met = metBy(ranges, documents, (at) => {
      grades[at] = Math.min(grades[at] ?? grade, grade);
    });
    units.push(Math.max(units.at(-1) ?? 0, met - left));
  }
  const counts = [...GRADES, "never"].map((_, grade) => grades.filter((one) => one === grade).length);
  const graded = documents.map(({ id, start, end }, at) => ({ id, chars: end - start, grade: grades[at] ?? 0 }));
  const unread = graded.filter(({ grade }) => grade === GRADES.length).map(({ id, chars }) => ({ id, chars }));
  const totals: CoverageTotals = {
    context_hash: context.hash,
    chars,
    ...byGrade([...units, chars].map((one, grade) => one - (units[grade - 1] ?? 0))),
    ...{ joined: left, not_recorded, up_to },
    documents: { total: documents.length, ...byGrade(counts) },
  };
  const { length } = context;
  return { totals, unread: unread.sort((one, other) => other.chars - one.chars), reached, graded, length };
}

function byGrade([shown = 0, found = 0, ranked = 0, touched = 0, never = 0]: readonly number[]): Grades {
  return { shown, found, ranked, touched, never };
}

/** The sets of each grade, and the bits of an earlier build. */
const LEVELS = [
  { sets: ["shown", "printed"], bits: "sent" },
  { sets: ["found"], bits: "matched" },
  { sets: ["ranked"], bits: null },
  { sets: ["given"], bits: "read" },
] as const;

/** Ranges in memory at once, unless more of them are apart. */
const MOST_AT_ONCE = 500_000;

/** The ranges and the joined characters of each grade. Stretches of a P that has grown since are not known any more. */
function gathered({ hash, length }: CoveredContext, execs: readonly Pick<ExecDescription, "coverage">[]) {
  const levels = LEVELS.map((): Range[] => []);
  const joined = LEVELS.map(() => 0);
  let [not_recorded, up_to] = [0, false];
  for (const { coverage } of execs) {
    const { ranges, whole = false } = coverage ?? {};
    const isUpTo =
      coverage !== null && (LEVELS.some(({ bits }) => bits && coverage[bits] !== "") || (whole && !ranges));
    if (coverage === null || (isUpTo && coverage.context_hash !== hash)) {
      not_recorded++;
      continue;
    }
    up_to ||= isUpTo;
    for (const [grade, { sets, bits }] of LEVELS.entries()) {
      const level = levels[grade] ?? [];
      for (const set of sets) for (const range of ranges?.[set] ?? []) level.push(range);
      if (bits) level.push(...stretchesIn(coverage[bits], length));
      if (bits === "read" && whole && !ranges) level.push([0, length]);
      if (level.length > MOST_AT_ONCE) levels[grade] = merged(level);
      joined[grade] = sets.reduce((sum, set) => sum + (coverage.joined?.[set] ?? 0), joined[grade] ?? 0);
    }
  }
  return { levels, joined, not_recorded, up_to };
}

const STRETCHES = 2048;

/** The stretches that an earlier build set bits for. */
function stretchesIn(base64: string, length: number): Range[] {
  const bytes = Buffer.from(base64, "base64").subarray(0, STRETCHES / 8);
  const at = (stretch: number) => Math.ceil((stretch * length) / STRETCHES);
  return Array.from({ length: bytes.length * 8 }, (_, bit) => bit)
    .filter((bit) => ((bytes[bit >> 3] ?? 0) >> (bit & 7)) & 1)
    .map((bit) => [at(bit), at(bit + 1)]);
}

/** Characters of the ranges that lie in documents. @param onMet gets the number of each document that a range meets */
function metBy(ranges: readonly Range[], documents: CoveredContext["documents"], onMet: (at: number) => void): number {
  let units = 0;
  let first = 0;
  for (const [at, { start, end }] of documents.entries()) {
    while ((ranges[first]?.[1] ?? Number.POSITIVE_INFINITY) <= start) first++;
    for (let next = first; (ranges[next]?.[0] ?? end) < end; next++) {
      const [from = 0, to = 0] = ranges[next] ?? [];
      units += Math.min(to, end) - Math.max(from, start);
      onMet(at);
    }
  }
  return units;
}

/** Sums up the cells and queries of a session since its last load. null without a context, and if it is lost. */
export async function coverageOf(
  store: Pick<Store, "contextIndex">,
  key: string | null,
  execs: readonly Pick<ExecDescription, "kind" | "status" | "coverage">[],
) {
  const load = execs.findLastIndex(({ kind, status }) => kind === "load" && status === "ok");
  const looked = execs
    .slice(load + 1)
    .filter(({ kind, status, coverage }) => LOOKING.has(kind) && (status !== "unfinished" || coverage !== null));
  const context = await coveredContext(store, key);
  return context && sumCoverage(context, looked);
}

const LOOKING: ReadonlySet<string> = new Set(["cell", "query"]);

/** The documents of a context in the store; null without a context, and if it is lost. */
export async function coveredContext(
  store: Pick<Store, "contextIndex">,
  key: string | null,
): Promise<CoveredContext | null> {
  const index = key === null ? null : await nullIf("context_lost", store.contextIndex(key));
  if (index === null) return null;
  const read = v.safeParse(IndexSchema, index);
  if (!read.success) return null;
  const { stats, documents } = read.output;
  return { hash: stats.context_hash, length: stats.length_chars, documents };
}

const IndexSchema = v.object({
  stats: v.object({ context_hash: v.string(), length_chars: v.number() }),
  documents: v.array(v.object({ id: v.string(), start: v.number(), end: v.number() })),
});

const MOST_IDS = 1000;

/** The coverage of a session as it is described. */
export function toldSum(sum: ReturnType<typeof sumCoverage> | null): SessionCoverage | null {
  return sum && { ...sum.totals, never_opened: sum.unread.slice(0, MOST_IDS).map(({ id }) => id) };
}

/** `shown at least 38 % of 12.4M characters · found 4 % · ranked 1 % · touched 12 % · never opened 214 of 412 documents` */
export function coverageLine(totals: CoverageTotals): string {
  const upTo = totals.up_to ? "up to " : "";
  const grades = (["found", "ranked", "touched"] as const).map(
    (grade) => `${grade} ${upTo}${percent(totals[grade], totals.chars)}`,
  );
  return [`shown ${shownShare(totals)}`, ...grades, `never opened ${unreadCount(totals)}`, ...missing(totals)].join(
    " · ",
  );
}

/** A sentence about what models read of P and what was never opened. @param how the command that lists the latter */
export function coverageSentence(totals: CoverageTotals, how = ""): string {
  const command = how === "" || totals.documents.never === 0 ? "" : ` (${how})`;
  const parts = [`never opened: ${unreadCount(totals)}${command}`, ...missing(totals)];
  return `A model read ${shownShare(totals)}; ${parts.join("; ")}.`;
}

function shownShare({ shown, chars, up_to }: CoverageTotals): string {
  return `${up_to ? "up to" : "at least"} ${percent(shown, chars)} of ${compact(chars)} characters`;
}

/** The documents that were never opened. Those between joined places may be more. */
function unreadCount({ documents: { never, total }, joined, up_to }: CoverageTotals): string {
  return `${joined > 0 || up_to ? "at least " : ""}${never} of ${amount(total, "document")}`;
}

function missing({ not_recorded }: CoverageTotals): string[] {
  return not_recorded > 0 ? [`not recorded for ${amount(not_recorded, "exec")}`] : [];
}

/** `38 %`, `0.4 %`: rounded down. */
function percent(part: number, whole: number): string {
  const share = whole === 0 ? 0 : (100 * part) / whole;
  return `${share < 10 ? Math.floor(share * 10) / 10 : Math.floor(share)} %`;
}
