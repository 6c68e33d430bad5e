import { RlmError } from "../../../runtime/errors.ts";
import { canonicalJson } from "../../platform/cell-json.ts";
import { readJson } from "../../platform/written-json.ts";
import { corrupt, misuse } from "../failure.ts";
import type { Amount, Asked, JobRow, JobState, KnownJob, RunLimits, RunRow, Tried } from "../job-store.ts";
import { jsonIn } from "./forms.ts";
import { type Bounds, capped, INPUT_BOUNDS, RESULT_BOUNDS, SPEC_BOUNDS, TOLD_BOUNDS, unpackText } from "./pack.ts";
import {
  anyColumn,
  columnsOf,
  type Field,
  instantColumn,
  instantColumnOrNull,
  nameColumn,
  numberColumn,
  numberColumnOrNull,
  type Row,
  seal,
  textColumn,
  textColumnOrNull,
  wordColumn,
} from "./row.ts";

// Rows of runs and jobs. Both databases have the same columns.

/** Columns of a run, but what it may spend and has spent. */
export const RUN_COLUMNS = [
  ...(["id", "name", "queue", "share", "spec", "hash", "state", "why", "created_at", "first_rank"] as const),
  ...(["script_file", "table_file", "fresh"] as const),
];

export const JOB_STATES = [
  ...(["waiting", "running", "parked", "cancelling", "done", "failed", "cancelled"] as const),
] satisfies readonly JobState[];

const jobState = wordColumn("a job", JOB_STATES);

const JOB = {
  run: textColumn,
  n: numberColumn,
  id: textColumn,
  state: jobState,
  why: textColumnOrNull,
  rank: numberColumn,
  run_at: instantColumnOrNull,
  ticket: textColumnOrNull,
  fence: numberColumn,
  session: textColumn,
  engine: textColumnOrNull,
  attempts: numberColumn,
  lapses: numberColumn,
  model: textColumnOrNull,
  answers: numberColumn,
  context: textColumnOrNull,
  begun_at: instantColumnOrNull,
  ended_at: instantColumnOrNull,
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
  name: nameColumn,
  queue: textColumn,
  share: numberColumn,
  hash: textColumn,
  state: wordColumn("a run", ["open", "paused"]),
  why: textColumnOrNull,
  created_at: instantColumn,
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
const inputIn = (row: Row): string => wholeJson(row, "input", INPUT_BOUNDS).text;

/** The columns that {@link inputOf} reads. */
export const INPUT_COLUMNS = `run, n, id, ${capped("input", INPUT_BOUNDS.bytes)}, context, asked`;

/** The columns that {@link knownOf} reads. */
export const KNOWN_COLUMNS = `run, n, id, state, context, asked,
  (SELECT count(*) FROM answers a WHERE a.run = jobs.run AND a.n = jobs.n AND a.origin_run <> a.run) AS reused,
  (SELECT parts FROM contexts WHERE contexts.hash = jobs.context) AS parts`;

/**
 * The content of the column `asked`: SHA-256 over a job's input and context. Equal values have
 * equal sums, in whatever order their keys are.
 */
export function sumOfAsked(run: string, { id, input, context }: Asked): Buffer {
  return seal([run, id, canonicalJson(readJson(input)), context]);
}

/**
 * The input of a job, if it is what was asked.
 *
 * @param of the run and the number of the job
 * @throws RlmError `store_corrupt`
 */
export function inputOf(row: Row | undefined, of: { readonly run: string; readonly n: number }): string {
  if (!row) throw misuse(`run ${of.run} has no job ${of.n}`);
  const job = askedOf(row);
  if (isSum(anyColumn(row, "asked"), job.run, job)) return job.input;
  throw new RlmError("store_corrupt", `the input of job ${job.id} of run ${job.run} is not what was asked`, {
    suggestion: "Its row is damaged. Submit the same input again, and have the job tried again.",
  });
}

/**
 * The state in which the run has a job. The same text under another key, such as that of a folder
 * that was moved, is not a change.
 * @param parts those of the wanted context; null: there is none
 */
export function knownOf(row: Row, wanted: Asked, parts: string | null): KnownJob {
  const run = textColumn(row, "run");
  const asked = anyColumn(row, "asked");
  const isSameText = parts !== null && anyColumn(row, "parts") === parts;
  const compared = isSameText ? { ...wanted, context: textColumnOrNull(row, "context") } : wanted;
  const isChanged = !isSum(asked, run, compared);
  return { n: numberColumn(row, "n"), state: jobState(row, "state"), isChanged, reused: numberColumn(row, "reused") };
}

function askedOf(row: Row): Asked & { readonly run: string } {
  const run = textColumn(row, "run");
  const id = textColumn(row, "id");
  const context = textColumnOrNull(row, "context");
  return { run, id, input: inputIn(row), context };
}

function isSum(found: Field, run: string, asked: Asked): boolean {
  return found instanceof Uint8Array && sumOfAsked(run, asked).equals(found);
}

/**
 * Columns of a job that stay once it is final, but its result and what may be long. Money may still
 * be settled.
 */
const SEALED_TEXTS = [
  ...["run", "n", "id", "session", "state", "why", "rank", "run_at", "ticket", "fence", "engine"],
  ...["attempts", "lapses", "answers", "context", "begun_at", "ended_at"],
];

const DIGEST_BYTES = 32;

/** States that are sealed. */
const FINAL: ReadonlySet<Field> = new Set<Field>(["done", "failed", "cancelled"]);

/**
 * The value of the column `sha256` of a final job: the seal of its row, then that of its result,
 * which lists do not read.
 */
export function sealOfJob(row: Row): Uint8Array {
  const result = seal([anyColumn(row, "result")]);
  return Buffer.concat([sealOver(row, result), result]);
}

/**
 * @throws RlmError `store_corrupt` naming a job that is not as it ended. A job that is not final
 * has no seal.
 */
function checkJobSeal(row: Row): void {
  const sealed = anyColumn(row, "sha256");
  if (sealed === null && !FINAL.has(anyColumn(row, "state"))) return;
  const isBytes = sealed instanceof Uint8Array && sealed.byteLength === 2 * DIGEST_BYTES;
  const result = isBytes ? sealed.subarray(DIGEST_BYTES) : null;
  const hasRow = isBytes && result && sealOver(row, result).equals(sealed.subarray(0, DIGEST_BYTES));
  const hasResult = result && (row.result === undefined || seal([row.result]).equals(result));
  if (!hasRow || !hasResult)
    throw corrupt(`job ${String(row.id)} of run ${String(row.run)} is not as it ended: its row is damaged`);
}

function sealOver(row: Row, result: Uint8Array): Buffer {
  const texts = SEALED_TEXTS.map((column) => textOf(anyColumn(row, column)));
  return seal([...texts, anyColumn(row, "asked"), anyColumn(row, "told"), result]);
}

function textOf(field: Field): string | null {
  return field === null ? null : String(field);
}

/**
 * A server seals by itself: this is the body of a trigger that runs before a job's state is set.
 */
export const SEAL_FINAL = `
  DECLARE texts text; result bytea; one bytea;
  BEGIN
    IF NEW.state NOT IN ('done', 'failed', 'cancelled') THEN
      NEW.sha256 := NULL;
    ELSIF OLD.state NOT IN ('done', 'failed', 'cancelled') THEN
      SELECT string_agg(CASE WHEN field IS NULL THEN 'null 4' || chr(10) || 'null'
        ELSE 'string ' || octet_length(convert_to(field, 'UTF8')) || chr(10) || field END, '' ORDER BY at)
        FROM unnest(ARRAY[${SEALED_TEXTS.map((column) => `NEW.${column}::text`).join(", ")}]) WITH ORDINALITY AS t (field, at)
        INTO texts;
      result := sha256(${sealedBytes("NEW.result")});
      one := convert_to(texts, 'UTF8');
      one := one || ${sealedBytes("NEW.asked")};
      one := one || ${sealedBytes("NEW.told")};
      NEW.sha256 := sha256(one || ${sealedBytes("result")}) || result;
    END IF;
    RETURN NEW;
  END`;

function sealedBytes(column: string): string {
  return `CASE WHEN ${column} IS NULL THEN convert_to('null 4' || chr(10) || 'null', 'UTF8')
        ELSE convert_to('object ' || length(${column}) || chr(10), 'UTF8') || ${column} END`;
}
