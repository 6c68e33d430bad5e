import * as v from "valibot";
import { hasCode, type Json } from "../../runtime/index.ts";
import { escapedJson, jsonText } from "../platform/visible.ts";
import { fieldOf, hasFields, readJson, type WrittenJson } from "../platform/written-json.ts";
import type { JobRow, Jobs } from "../store/index.ts";
import { jobWarnings, toldOf } from "./failures.ts";
import { attemptsOf, FINAL, isOver, jobsOf } from "./readable-jobs.ts";

/** Which jobs are meant. */
export interface FinalJobs {
  /** The run's id. */
  readonly run: string;
  readonly jobs: Pick<Jobs, "input" | "list" | "result">;
  /**
   * The numbers of the jobs, in the order of their results; null: all jobs of the run, in their
   * order.
   */
  readonly order: readonly number[] | null;
}

export interface ResultsAsked extends FinalJobs {
  /** True if results come as jobs end, not in their order. */
  readonly unordered: boolean;
}

const PAGE = 100;

/** The lines of jobs that have ended. */
interface ResultLines {
  /** Gives the lines that it has not given yet. */
  next(): AsyncIterable<string>;
}

export function openResultLines(asked: ResultsAsked): ResultLines {
  /** The first line that was not given; those of `beyond` were. */
  let first = 0;
  const beyond = new Set<number>();
  return {
    async *next() {
      for await (const { at, job } of placedJobs(asked, first)) {
        if (!isOver(job.state)) return;
        if (at >= first && !beyond.has(at)) {
          yield `${resultLine(job, job.state === "done" ? await asked.jobs.result(job) : null)}\n`;
          beyond.add(at);
        }
        while (beyond.delete(first)) first += 1;
      }
    },
  };
}

/** Jobs that have ended now, in their order. */
export async function* finalJobs(asked: FinalJobs): AsyncIterable<JobRow> {
  for await (const { job } of placedJobs({ ...asked, unordered: true }, 0)) yield job;
}

/** Jobs from this place on, each with its place among the results. */
async function* placedJobs({ run, jobs, order, unordered }: ResultsAsked, first: number) {
  const states = unordered ? { states: FINAL } : {};
  if (order === null) {
    for await (const job of jobsOf((page) => jobs.list(run, { ...page, ...states }), first)) yield { at: job.n, job };
    return;
  }
  for (let from = first; from < order.length; ) {
    const among = risingIn(order, from);
    const page = await jobs.list(run, { from: among[0] ?? 0, limit: PAGE, among, ...states });
    yield* page.map((job) => ({ at: from + among.indexOf(job.n), job }));
    // A page may end before its limit: then what follows is on the next one.
    const last = page.at(-1);
    from += last ? among.indexOf(last.n) + 1 : among.length;
  }
}

/**
 * The numbers from this place on, up to a page, as far as they rise. Lists are in the order of
 * numbers.
 */
function risingIn(order: readonly number[], from: number): readonly number[] {
  let to = from + 1;
  while (to < order.length && to - from < PAGE && (order[to] ?? 0) > (order[to - 1] ?? 0)) to += 1;
  return order.slice(from, to);
}

/**
 * The result of a finished job, by its wire names: the line that `belay batch SCRIPT --out
 * FILE` writes for it.
 */
export interface JobResult {
  /** Id of the job. */
  readonly job: string;
  /** Its number in the run, from 0. */
  readonly n: number;
  readonly status: "done" | "failed" | "cancelled";
  /** The value that its cell gave; `null` unless the job is done. */
  readonly result: Json;
  /** Why it failed, with a message and a suggestion. */
  readonly error_code?: string;
  readonly error?: string;
  readonly suggestion?: string;
  readonly warnings?: readonly string[];
  /** Texts that its cell printed. */
  readonly output: string;
  /** The model of its calls, if it is not the run's. */
  readonly model?: string;
  readonly sub_calls: number;
  /** Answers that it took from earlier runs. */
  readonly reused?: number;
  readonly tokens: number;
  readonly cost_usd: number;
  /** Tokens and USD that nobody told, parts of these. */
  readonly estimated?: number;
  readonly estimated_usd?: number;
  readonly ms: number;
  /** Tries that failed in a way that counts, and the one that ended it. */
  readonly attempts: number;
  /** The number of times that its cell continued in another process. */
  readonly resumed: number;
  /** Id of its session. */
  readonly session: string;
}

const text = v.fallback(v.string(), "");
const count = v.fallback(v.number(), 0);

/** A row may be damaged or hostile: a field of another type is empty or 0. */
const Result = v.object({
  job: text,
  n: count,
  status: v.fallback(v.picklist(["done", "failed", "cancelled"]), "failed"),
  result: v.custom<Json>(() => true),
  error_code: v.exactOptional(text),
  error: v.exactOptional(text),
  suggestion: v.exactOptional(text),
  warnings: v.exactOptional(v.fallback(v.array(v.string()), [])),
  output: text,
  model: v.exactOptional(text),
  sub_calls: count,
  reused: v.exactOptional(count),
  tokens: count,
  cost_usd: count,
  estimated: v.exactOptional(count),
  estimated_usd: v.exactOptional(count),
  ms: count,
  attempts: count,
  resumed: count,
  session: text,
});

/** The result that a line says. */
export const resultIn = (line: string): JobResult => v.parse(Result, JSON.parse(line));

/**
 * The line of a job that has ended, without its end.
 *
 * @param result JSON of what its cell gave; null: it gave nothing
 */
export function resultLine(job: JobRow, result: string | null): string {
  const report = toldOf(job);
  const before = { job: job.id, n: job.n, status: job.state };
  const after = {
    // They are left out where they are undefined.
    error_code: report.error_code,
    error: report.error,
    suggestion: report.suggestion,
    warnings: report.warnings,
    output: report.output ?? "",
    model: job.model ?? undefined,
    sub_calls: report.sub_calls ?? 0,
    reused: report.reused,
    tokens: report.tokens ?? 0,
    cost_usd: report.cost_usd ?? 0,
    estimated: report.estimated,
    estimated_usd: report.estimated_usd,
    ms: report.ms ?? 0,
    attempts: attemptsOf(job),
    resumed: report.resumed ?? 0,
    session: job.session,
  };
  // Between the tokens of JSON a line's end means nothing, and within a string it cannot stand.
  const value = escapedJson((result ?? "null").replaceAll(/[\r\n]/g, " "));
  return `${jsonText(before).slice(0, -1)},"result":${value},${jsonText(after).slice(1)}`;
}

/**
 * The results that there are, as the lines of one table.
 * @param isPlain texts stay as they are, also those that a spreadsheet would take for formulas
 * @param mark called for each cell that gets a `'`, because it is one of these
 */
export async function* tableLines(asked: FinalJobs, isPlain = false, mark = () => {}): AsyncIterable<string> {
  for await (const row of tableRows(asked)) {
    if (!isPlain) for (const _ of row.filter(isFormula)) mark();
    yield csvLine(row, isPlain);
  }
}

/**
 * Names of columns, then a row for each job that has ended: the job, its status, its input, its
 * result, its error and its cost, and its warnings if any job has some. The results are read twice,
 * since all of them say which columns there are.
 */
export async function* tableRows(asked: FinalJobs): AsyncIterable<readonly Cell[]> {
  const inputs = openFields("input");
  const results = openFields("result");
  const over: number[] = [];
  let hasWarnings = false;
  for await (const job of finalJobs(asked)) {
    const { input, result } = await contentsOf(asked, job);
    inputs.add(input);
    results.add(result);
    over.push(job.n);
    hasWarnings ||= warningsOf(job) !== null;
  }
  yield [...headerOf(inputs.columns(), results.columns()), ...(hasWarnings ? [WARNINGS] : [])];
  // A job that is tried again meanwhile has no line.
  for await (const job of finalJobs({ ...asked, order: over })) {
    const { input, result, error } = await contentsOf(asked, job);
    const { cost_usd: cost } = toldOf(job);
    const cells = [...inputs.cells(input), ...results.cells(result)];
    const after = [error, typeof cost === "number" ? cost : 0, ...(hasWarnings ? [warningsOf(job)] : [])];
    yield [job.id, job.state, ...cells, ...after];
  }
}

/** The warnings of a job in one cell, with their codes; null: it has none. */
function warningsOf(job: JobRow): string | null {
  const warnings = jobWarnings(toldOf(job));
  return warnings.length === 0 ? null : warnings.join("; ");
}

async function contentsOf({ jobs }: Pick<FinalJobs, "jobs">, job: JobRow) {
  const result = job.state === "done" ? await jobs.result(job) : null;
  const [input, damage] = await inputOf(jobs, job);
  const { error, error_code } = toldOf(job);
  const failure = typeof error === "string" ? `${error} (${String(error_code)})` : damage;
  return { input, result: result === null ? null : readJson(result), error: failure };
}

/** The input; if it is not what was asked, nothing and why. */
async function inputOf(jobs: FinalJobs["jobs"], job: JobRow): Promise<[input: WrittenJson, damage: string | null]> {
  try {
    return [readJson(await jobs.input(job)), null];
  } catch (error) {
    if (hasCode(error, "store_corrupt")) return [null, `${error.message} (${error.code})`];
    throw error;
  }
}

/**
 * A result may have any number of fields. With more than so many the values are whole, in one
 * column.
 */
const MOST_FIELDS = 1000;

type Cell = string | number | boolean | null;

/** The columns of inputs or of results. */
interface Fields {
  add(value: WrittenJson): void;
  columns(): Columns;
  cells(value: WrittenJson): readonly Cell[];
}

interface Columns {
  /** Name of the column of values that are not objects. */
  readonly kind: "input" | "result";
  readonly names: readonly string[];
}

function openFields(kind: Columns["kind"]): Fields {
  const names = new Set<string>();
  let hasWhole = false;
  const isWide = () => names.size > MOST_FIELDS;
  const isWhole = (value: WrittenJson) => value !== null && (isWide() || !hasFields(value));
  return {
    add(value) {
      if (isWhole(value)) hasWhole = true;
      else if (hasFields(value)) for (const name of Object.keys(value)) names.add(name);
    },
    columns: () => ({ kind, names: [...(isWide() ? [] : names), ...(hasWhole || isWide() ? [kind] : [])] }),
    cells(value) {
      const fields = isWide() ? [] : [...names].map((name) => cellOf(fieldOf(value, name)));
      return hasWhole || isWide() ? [...fields, isWhole(value) ? cellOf(value) : null] : fields;
    },
  };
}

function cellOf(value: WrittenJson | undefined): Cell {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}

const BEFORE = ["job", "status"];
const AFTER = ["error", "cost_usd"];
const WARNINGS = "warnings";

/** A name that another column has already gets `input.` or `result.` before it. */
function headerOf(...groups: readonly Columns[]): readonly string[] {
  const taken = new Set([...BEFORE, ...AFTER, WARNINGS]);
  const named = groups.flatMap(({ kind, names }) =>
    names.map((name) => {
      let free = name;
      while (taken.has(free)) free = `${kind}.${free}`;
      taken.add(free);
      return free;
    }),
  );
  return [...BEFORE, ...named, ...AFTER];
}

/** A row of a table as RFC 4180 has it, with its end. */
export function csvLine(cells: readonly Cell[], isPlain = false): string {
  return `${cells.map((cell) => cellText(cell, isPlain)).join(",")}\n`;
}

/** True for a text that a spreadsheet would take for a formula. */
const isFormula = (cell: Cell) => typeof cell === "string" && FORMULA.test(cell) && !NUMBER.test(cell);

function cellText(cell: Cell, isPlain: boolean): string {
  if (cell === null) return "";
  const text = !isPlain && isFormula(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) || text.trim() !== text ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A spreadsheet takes such a text for a formula, which can call programs and send data away: it
 * gets a `'`. Full-width signs count as well, and numbers stay.
 */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
