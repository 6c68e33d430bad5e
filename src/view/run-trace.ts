import { isRecord } from "../platform/json.ts";
import { enoughOf } from "../platform/redact.ts";
import type { JobRow, RunRow } from "../store/index.ts";
import { type Row, STATES } from "./format.ts";
import type { Kept } from "./trace-file.ts";
import { openNames, openWords, type Trace, type Tracing, traceFile } from "./trace-file.ts";

/** A job without what takes much memory. */
export interface ListedJob extends Omit<JobRow, "told"> {
  /** Empty unless the job failed. */
  readonly error_code: string;
  /** The beginning of why it failed; empty if no record says that. */
  readonly error: string;
  /** Tokens of its calls that nobody told. */
  readonly estimated: number;
}

export function listedJob({ told, ...job }: JobRow): ListedJob {
  const { error_code, error, estimated } = isRecord(told) ? told : {};
  const why = typeof error === "string" ? enoughOf(error, ERROR_UNITS) : "";
  return {
    ...job,
    error_code: job.state === "failed" ? String(error_code ?? "unknown").slice(0, CODE_UNITS) : "",
    error: why,
    estimated: typeof estimated === "number" && estimated > 0 ? estimated : 0,
  };
}

/**
 * UTF-16 units of an error, and of its code, that a trace has. Keys are replaced before it is
 * cut.
 */
const ERROR_UNITS = 4096;
const CODE_UNITS = 64;

/** A run with its jobs, as far as they can be read. */
interface ListedRun {
  readonly run: RunRow;
  readonly state: string;
  /** In their order: the first ones, if there are more. */
  readonly jobs: readonly ListedJob[];
  readonly more: number;
  readonly damaged: readonly string[];
}

/**
 * The trace of a run: its jobs replace calls, as one exec without its own texts.
 */
export function traceOfRun({ run, state, jobs, more, damaged }: ListedRun, tracing: Tracing): Trace {
  const words = openWords(tracing);
  const models = openNames();
  const errors = openNames();
  const { id, name, spec, created_at, limits } = run;
  const model = models.numberOf(isRecord(spec) && typeof spec.model === "string" ? spec.model : "");
  const kept: Kept[] = [];
  const rows = jobs.map((job): Row => {
    const { n, state, spent } = job;
    const texts = [words.whole(job.id), words.whole(job.error).slice(0, ERROR_UNITS)];
    kept.push({ texts, error: 1 });
    return {
      exec: 0,
      number: n,
      batch: 0,
      asked: 0,
      ...timesOf(job, created_at),
      kind: STATES.indexOf(state),
      model,
      error: errors.numberOf(words.code(job.error_code)),
      why: errors.numberOf(job.ended_at === null ? job.why : ""),
      // The store has one sum of tokens.
      input: spent.tokens,
      ...NO_OTHER_TOKENS,
      estimated: job.estimated,
      calls: spent.sub_calls,
      micro: Math.floor(spent.nanodollars / 1000),
      nano: spent.nanodollars % 1000,
      delivery: null,
      tries: job.attempts,
      resent: job.lapses,
      plen: job.id.length,
      alen: texts[1]?.length ?? 0,
      phase: 0,
      label: 0,
      marks: 0,
    };
  });
  const isOver = jobs.every((job) => FINAL.includes(job.state)) && more === 0;
  const ended = isOver ? jobs.reduce((last, { ended_at }) => Math.max(last, ended_at ?? 0), created_at) : null;
  const status = isOver ? (jobs.some((job) => job.state === "failed") ? "failed" : "ok") : "unfinished";
  const exec = {
    id,
    number: 1,
    kind: "run",
    parent: null,
    depth: 0,
    of: null,
    session: null,
    label: words.line(name),
    ...({ file: null, status, error_code: run.why, turn: null, ask: null, workflow: null, warnings: [] } as const),
    began: created_at,
    ended,
    ms: null,
    resumes: [],
    checkpoint_id: null,
    from: 0,
    to: rows.length,
  };
  const budget_usd = limits.nanodollars === null ? null : limits.nanodollars / 1e9;
  const session = {
    id,
    name: tracing.texts ? name : null,
    status: state,
    waiting: "",
    budget_usd,
    context: null,
    forked_from: null,
    damaged: words.counted(damaged, "damaged job"),
    left_out: more > 0 ? [`${more} jobs behind these`] : [],
  };
  const facts = { subject: "run" as const, session, execs: [exec], checkpoints: [], kinds: STATES, coverage: null };
  const lists = { models: models.all(), errors: errors.all(), labels: [""], phases: [""] };
  return traceFile({ ...facts, ...lists }, rows, [kept], words);
}

const NO_OTHER_TOKENS = { output: 0, cached_in: 0, cache_write: 0 };

const FINAL: readonly JobRow["state"][] = ["done", "failed", "cancelled"];

/** A job waits from the beginning of its run. */
function timesOf({ begun_at, ended_at }: ListedJob, created_at: number) {
  const began = begun_at ?? ended_at ?? created_at;
  return { queue: begun_at === null ? null : began - created_at, run: ended_at === null ? null : ended_at - began };
}
