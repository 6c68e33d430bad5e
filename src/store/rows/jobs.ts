import { parseJson } from "../../platform/json.ts";
import { corrupt } from "../failure.ts";
import type { Amount, JobRow, JobState, RunLimits, RunRow, Tried } from "../jobs/port.ts";
import { type Bounds, capped, INPUT_BOUNDS, RESULT_BOUNDS, SPEC_BOUNDS, TOLD_BOUNDS } from "./bounds.ts";
import { jsonIn } from "./forms.ts";
import { checkJobSeal } from "./job-seal.ts";
import { unpackText } from "./pack.ts";
import {
  anyColumn,
  columnsOf,
  numberColumn,
  numberColumnOrNull,
  type Row,
  textColumn,
  textColumnOrNull,
  wordColumn,
} from "./seal.ts";

// Rows of runs and jobs. Both databases have the same columns.

/** Columns of a run, but what it may spend and has spent. */
export const RUN_COLUMNS = [
  ...(["id", "name", "queue", "share", "spec", "hash", "state", "why", "created_at", "first_rank"] as const),
  ...(["script_file", "table_file", "fresh"] as const),
];

export const JOB_STATES = [
  ...(["waiting", "running", "parked", "cancelling", "done", "failed", "cancelled"] as const),
] satisfies readonly JobState[];

export const jobState = wordColumn("a job", JOB_STATES);

const JOB = {
  run: textColumn,
  n: numberColumn,
  id: textColumn,
  state: jobState,
  why: textColumnOrNull,
  rank: numberColumn,
  run_at: numberColumnOrNull,
  ticket: textColumnOrNull,
  fence: numberColumn,
  session: textColumn,
  engine: textColumnOrNull,
  attempts: numberColumn,
  lapses: numberColumn,
  model: textColumnOrNull,
  answers: numberColumn,
  context: textColumnOrNull,
  begun_at: numberColumnOrNull,
  ended_at: numberColumnOrNull,
};

/** Bytes of the reason why a job waits, or of the image format of a build. */
const SHORT_BYTES = 64 * 1024;

/** All of a job but its input and its result, which may be large. */
export const SHOWN_JOB = `run, n, id, state, ${capped("why", SHORT_BYTES)}, rank, run_at, changed_at, ticket, fence, session,
  ${capped("engine", SHORT_BYTES)}, ${capped("model", SHORT_BYTES)}, attempts, lapses, answers,
  context,
  ${capped("told", TOLD_BOUNDS.bytes)}, spent_usd, spent_tokens, spent_calls, begun_at, ended_at, sha256, asked`;

/** The same with its result. */
export const WHOLE_JOB = `${SHOWN_JOB}, ${capped("result", RESULT_BOUNDS.bytes)}`;

/** All of a run. */
export const SHOWN_RUN = `${RUN_COLUMNS.map((column) =>
  column === "spec" || column === "why" ? capped(column, SPEC_BOUNDS.bytes) : column,
).join(", ")}, ${(["lim", "spent", "held", "doubtful"] as const).flatMap((of) => amountColumns(of)).join(", ")}`;

/** An amount's columns begin with one of these. */
type Sum = "lim" | "spent" | "held" | "doubtful";

/** The columns of a sum of money, in the order of {@link fieldsOfAmount}. */
export function amountColumns(of: Sum) {
  return [`${of}_usd`, `${of}_tokens`, `${of}_calls`] as const;
}

export const fieldsOfAmount = ({ nanodollars, tokens, sub_calls }: RunLimits) =>
  [nanodollars, tokens, sub_calls] as const;

export const NOTHING: Amount = { nanodollars: 0, tokens: 0, sub_calls: 0 };

const RUN = {
  id: textColumn,
  name: textColumn,
  queue: textColumn,
  share: numberColumn,
  hash: textColumn,
  state: wordColumn("a run", ["open", "paused"]),
  why: textColumnOrNull,
  created_at: numberColumn,
};

const FILES = { script_file: textColumnOrNull, table_file: textColumnOrNull, fresh: numberColumn };

/** @throws RlmError `store_corrupt` */
export function decodeRun(row: Row): RunRow {
  const { script_file: script, table_file: table, fresh } = columnsOf(row, FILES);
  return {
    ...columnsOf(row, RUN),
    files: { script, table },
    fresh: fresh !== 0,
    spec: wholeJson(row, "spec", SPEC_BOUNDS).value,
    limits: amountIn(row, amountColumns("lim"), numberColumnOrNull),
    spent: amountOf(row, "spent"),
    held: amountOf(row, "held"),
    doubtful: amountOf(row, "doubtful"),
  };
}

/** @throws RlmError `store_corrupt` */
export function decodeJob(row: Row): JobRow {
  const job = jobIn(row);
  checkJobSeal(row);
  return job;
}

/** Unpacked bytes after which a page of jobs ends. */
const PAGE_BYTES = 64 * 2 ** 20;

/** The jobs of a page, which ends early if they are large. @throws RlmError `store_corrupt` */
export function decodeJobs(rows: readonly Row[]): JobRow[] {
  const jobs: JobRow[] = [];
  let bytes = 0;
  for (const row of rows) {
    jobs.push(decodeJob(row));
    bytes += unpackText(row, "told", TOLD_BOUNDS)?.length ?? 0;
    if (bytes > PAGE_BYTES) break;
  }
  return jobs;
}

/** The result of a whole row; null if it has none. @throws RlmError `store_corrupt` */
export function resultOf(row: Row): string | null {
  decodeJob(row);
  if (anyColumn(row, "result") === null) return null;
  const result = unpackText(row, "result", RESULT_BOUNDS);
  if (result === null) throw corrupt(`the result of job ${String(row.id)} of run ${String(row.run)} is damaged`);
  return result;
}

/** The tries of the job of this row; none if it has no ticket. */
export function triedOf(row: Row): Tried[] {
  const ticket = textColumnOrNull(row, "ticket");
  return ticket === null
    ? []
    : [{ ...columnsOf(row, { run: textColumn, n: numberColumn, rank: numberColumn }), ticket }];
}

function jobIn(row: Row): JobRow {
  const told = row.told === null ? null : wholeJson(row, "told", TOLD_BOUNDS).value;
  return { ...columnsOf(row, JOB), spent: amountOf(row, "spent"), told };
}

/** @param rows a state with the number of jobs in it, each. @throws RlmError `store_corrupt` */
export function countsIn(rows: readonly Row[]): Record<JobState, number> {
  const counts = { waiting: 0, running: 0, parked: 0, cancelling: 0, done: 0, failed: 0, cancelled: 0 };
  for (const row of rows) counts[jobState(row, "state")] = numberColumn(row, "n");
  return counts;
}

/** The amount of a row of `holds`. */
export const heldBy = (row: Row): Amount => amountIn(row, ["usd", "tokens", "calls"], numberColumn);

const amountOf = (row: Row, of: Exclude<Sum, "lim">): Amount => amountIn(row, amountColumns(of), numberColumn);

function amountIn<T>(row: Row, columns: readonly [string, string, string], read: (row: Row, column: string) => T) {
  const [usd, tokens, calls] = columns;
  return { nanodollars: read(row, usd), tokens: read(row, tokens), sub_calls: read(row, calls) };
}

function wholeJson(row: Row, column: string, bounds: Bounds) {
  const json = jsonIn(row, column, "any", bounds);
  if (json) return json;
  throw corrupt(`the ${column} of ${String(row.name ?? row.id)} is damaged`);
}

/** The input of a job, as JSON. @throws RlmError `store_corrupt` */
export const inputIn = (row: Row): string => wholeJson(row, "input", INPUT_BOUNDS).text;

/** Time that the journal of a job of this run stays once it is done, ms. @param spec as the run's row has it */
export function keepMs(spec: string): number {
  const { keep_ms }: { readonly keep_ms?: unknown } = Object(parseJson(spec));
  return typeof keep_ms === "number" && keep_ms > 0 ? keep_ms : USUAL_KEEP_MS;
}

const USUAL_KEEP_MS = 30 * 24 * 3600_000;
