import { hasCode } from "../../runtime/index.ts";
import { fieldOf, hasFields, readJson, type WrittenJson } from "../platform/written-json.ts";
import type { JobRow } from "../store/index.ts";
import { jobWarnings, toldOf } from "./job-failures.ts";
import { type FinalJobs, finalJobs } from "./result-lines.ts";

/**
 * The results that there are, as the lines of one table.
 * @param isPlain texts stay as they are, also those that a spreadsheet would take for formulas
 */
export async function* tableLines(asked: FinalJobs, isPlain = false): AsyncIterable<string> {
  for await (const row of tableRows(asked)) yield csvLine(row, isPlain);
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

function cellText(cell: Cell, isPlain: boolean): string {
  if (cell === null) return "";
  const isFormula = !isPlain && typeof cell === "string" && FORMULA.test(cell) && !NUMBER.test(cell);
  const text = isFormula ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) || text.trim() !== text ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A spreadsheet takes such a text for a formula, which can call programs and send data away: it
 * gets a `'`. Full-width signs count as well, and numbers stay.
 */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
