import { RlmError } from "../../../runtime/errors.ts";
import { firstly } from "../../../runtime/remedies.ts";
import { corrupt } from "../failure.ts";
import type {
  AddedJob,
  Asked,
  DamagedRow,
  Discarding,
  JobKey,
  JobOfRun,
  JobPage,
  JobRow,
  JobState,
  KnownJob,
  NewJob,
  NewRun,
  RunFiles,
  RunLimits,
  RunPage,
  RunRow,
} from "../job-store.ts";
import {
  amountColumns,
  countsIn,
  decodeJob,
  decodeJobs,
  decodeRun,
  fieldsOfAmount,
  INPUT_COLUMNS,
  inputOf,
  JOB_STATES,
  KNOWN_COLUMNS,
  knownOf,
  RUN_COLUMNS,
  resultOf,
  SHOWN_JOB,
  SHOWN_RUN,
  sumOfAsked,
  WHOLE_JOB,
} from "../rows/jobs.ts";
import { damagedAmong, numberColumn, textColumn } from "../rows/row.ts";
import { refuseRun } from "./batch-requests.ts";
import type { Dialect } from "./dialect.ts";
import { deleteFamily } from "./gc.ts";
import { BUSY } from "./sessions.ts";
import { all, get, list, oneOf, type Part, type Plan, packed, raw, run, spelled, sql } from "./sql.ts";

const SHOWN = raw(`SELECT ${SHOWN_RUN} FROM runs`);

/**
 * Makes the run, or returns the one of its name, with this specification.
 * @param now the clock of the store
 * @throws RlmError `run_differs`
 */
export function* openRun(wanted: NewRun, now: Part): Plan<{ readonly run: RunRow; readonly made: boolean }> {
  const { id, name, queue, share, hash, limits, files = NO_FILES } = wanted;
  const fresh = wanted.fresh ? 1 : 0;
  // One that takes nothing of earlier runs never does.
  const freshened = wanted.fresh ? sql`, fresh = 1` : sql``;
  const spec = JSON.stringify(wanted.spec);
  // The highest rank of a running job, else the lowest of a waiting one: a new run begins at once.
  const first = yield* get(sql`SELECT coalesce((SELECT max(rank) FROM jobs WHERE state = 'running'),
    (SELECT min(rank) FROM jobs WHERE state = 'waiting')) AS rank`);
  const rank = typeof first?.rank === "number" ? first.rank : LOWEST_RANK;
  const added = yield* get(sql`INSERT INTO runs (${raw([...RUN_COLUMNS, ...amountColumns("lim")].join(", "))})
    VALUES (${list([id, name, queue, share, spec, hash, "open", null, now, rank, files.script, files.table, fresh, ...fieldsOfAmount(limits)])})
    ON CONFLICT (name) DO NOTHING RETURNING *`);
  if (added) return { run: decodeRun(added), made: true };
  const known =
    yield* get(sql`UPDATE runs SET spec = ${spec}, script_file = ${files.script}, table_file = ${files.table}
    ${freshened} WHERE name = ${name} AND hash = ${hash} RETURNING *`);
  if (!known) throw runDiffers(name);
  return { run: decodeRun(known), made: false };
}

/** @throws RlmError `run_not_found`, `store_corrupt` */
export function* readRun(id: string): Plan<RunRow> {
  const row = yield* get(sql`${SHOWN} WHERE id = ${id}`);
  if (row) return decodeRun(row);
  throw runNotFound(id);
}

/**
 * @throws RlmError `store_corrupt` if the run holds amounts, but no request does: nobody would give
 * them back
 */
export function* checkHeld(id: string): Plan<void> {
  const row =
    yield* get(sql`SELECT name FROM runs WHERE id = ${id} AND (held_usd > 0 OR held_tokens > 0 OR held_calls > 0)
    AND NOT EXISTS (SELECT 1 FROM holds WHERE run = runs.id)`);
  if (row) throw corrupt(`run ${row.name} is damaged: it holds amounts for requests, and there are no such requests`);
}

export function* findRun(nameOrId: string): Plan<RunRow | null> {
  const row = yield* get(sql`${SHOWN} WHERE name = ${nameOrId} OR id = ${nameOrId}
    ORDER BY name = ${nameOrId} DESC LIMIT 1`);
  return row ? decodeRun(row) : null;
}

/** The newest first, behind the run with this id. */
export function* listRuns({ after, limit, without = [] }: RunPage): Plan<RunRow[]> {
  const behind = after === null ? sql`` : sql`AND id < ${after}`;
  const rows = yield* all(sql`${SHOWN} WHERE NOT (id ${oneOf(without)}) ${behind}
    ORDER BY id DESC LIMIT ${atMost(limit)}`);
  return rows.map(decodeRun);
}

/** Runs whose rows cannot be read, the newest first. */
export function* damagedRuns(): Plan<DamagedRow[]> {
  const rows = yield* all(sql`${SHOWN} ORDER BY id DESC`);
  return damagedAmong(rows, decodeRun, (row) => ({ id: textColumn(row, "id"), label: `run ${row.name} (${row.id})` }));
}

export function* setLimits(id: string, limits: RunLimits): Plan<void> {
  const [usd, tokens, calls] = fieldsOfAmount(limits);
  const set = sql`lim_usd = ${usd}, lim_tokens = ${tokens}, lim_calls = ${calls}`;
  if ((yield* run(sql`UPDATE runs SET ${set} WHERE id = ${id}`)) === 0) throw runNotFound(id);
}

/**
 * Adds jobs behind those that the run has. Two submitters of one run take turns.
 *
 * @param now the clock of the store
 */
export function* addJobs(of: string, jobs: readonly NewJob[], now: Part): Plan<AddedJob[]> {
  const row = yield* get(sql`${SHOWN} WHERE id = ${of} ${spelled(sql``, sql`FOR UPDATE`)}`);
  if (!row) throw runNotFound(of);
  const first = numberColumn(row, "first_rank");
  const share = numberColumn(row, "share");
  const last = yield* get(sql`SELECT coalesce(max(n) + 1, 0) AS n FROM jobs WHERE run = ${of}`);
  const there = yield* all(sql`SELECT id, n FROM jobs WHERE run = ${of} AND id ${oneOf(jobs.map(({ id }) => id))}`);
  const known = new Map(there.map((one) => [textColumn(one, "id"), numberColumn(one, "n")]));
  let n = last ? numberColumn(last, "n") : 0;
  const added: AddedJob[] = [];
  for (const job of jobs) {
    const { id, session, context } = job;
    const before = known.get(id);
    added.push({ n: before ?? n, isNew: before === undefined });
    if (before !== undefined) continue;
    known.set(id, n);
    const input = packed(job.input);
    yield* run(sql`INSERT INTO jobs (run, n, id, state, rank, changed_at, session, input, context, asked)
      VALUES (${list([of, n, id, "waiting", rankOf(first, n, share), now, session, input, context, sumOfAsked(of, job)])})`);
    n += 1;
  }
  return added;
}

export function* knownJobs(of: string, jobs: readonly Asked[]): Plan<(KnownJob | null)[]> {
  const ids = jobs.map(({ id }) => id);
  const rows = yield* all(sql`SELECT ${raw(KNOWN_COLUMNS)} FROM jobs WHERE run = ${of} AND id ${oneOf(ids)}`);
  const byId = new Map(rows.map((row) => [textColumn(row, "id"), row]));
  const contexts = new Set(jobs.flatMap(({ context }) => context ?? []));
  const kept = yield* all(sql`SELECT hash, parts FROM contexts WHERE hash ${oneOf(contexts)}`);
  const partsOf = new Map<string | null, string>(
    kept.map((row) => [textColumn(row, "hash"), textColumn(row, "parts")]),
  );
  return jobs.map((job) => {
    const row = byId.get(job.id);
    return row ? knownOf(row, job, partsOf.get(job.context) ?? null) : null;
  });
}

/**
 * Drops a run, whose row may be damaged, with its jobs and their sessions.
 * @throws RlmError `run_not_found`, `session_busy` if a job of it is being tried or, unless that is
 * discarded, waits for a batch
 */
export function* removeRun(id: string, { discard = false }: Discarding = {}, own: Dialect): Plan<void> {
  const row = yield* get(sql`SELECT name FROM runs WHERE id = ${id}`);
  if (!row) throw runNotFound(id);
  const name = textColumn(row, "name");
  const sessions = yield* all(sql`SELECT j.session AS id, ${BUSY} AS busy
    FROM jobs j LEFT JOIN sessions s ON s.id = j.session WHERE j.run = ${id}`);
  if (sessions.some(own.busy)) throw runIsBusy(name);
  if (!discard) yield* refuseRun(id, name);
  for (const session of sessions) yield* deleteFamily(textColumn(session, "id"), own);
  for (const table of ["holds", "answers", "jobs"]) yield* run(sql`DELETE FROM ${raw(table)} WHERE run = ${id}`);
  yield* run(sql`DELETE FROM runs WHERE id = ${id}`);
}

const NO_FILES: RunFiles = { script: null, table: null };

/** The rank of a run that begins while none is open. */
const LOWEST_RANK = -2_000_000_000;

/** Steps of rank from one job of a run to the next, at a share of 1. */
const STEP = 8;

/**
 * The rank of job number `n` of a run: runs that are open together advance in proportion to their
 * shares.
 */
function rankOf(first: number, n: number, share: number): number {
  return first + Math.ceil((STEP * n) / share);
}

function runDiffers(name: string): RlmError {
  return new RlmError("run_differs", `the run ${name} was begun with another script, model, limits or contexts`, {
    suggestion: `${firstly("anotherRun")}, or submit what this one was begun with.`,
  });
}

export function runNotFound(id: string): RlmError {
  return new RlmError("run_not_found", `the store has no run ${id}`, { suggestion: "`belay jobs` lists the runs." });
}

function runIsBusy(name: string): RlmError {
  return new RlmError("session_busy", `jobs of the run ${name} are being tried`, {
    suggestion: "Cancel the run, or wait until it has ended.",
  });
}

/** Rows of a page, at the most. */
const PAGE = 1000;

export const atMost = (limit: number) => Math.min(limit, PAGE);

const SHOWN_JOBS = raw(`SELECT ${SHOWN_JOB} FROM jobs`);

/** null if the job or its run is not there. */
export function* readJobOfRun({ run, n }: JobKey): Plan<JobOfRun | null> {
  const job = yield* get(sql`${SHOWN_JOBS} WHERE run = ${run} AND n = ${n}`);
  const of = job && (yield* get(sql`SELECT ${raw(SHOWN_RUN)} FROM runs WHERE id = ${run}`));
  return of ? { job: decodeJob(job), run: decodeRun(of) } : null;
}

export function* findJob(run: string, id: string): Plan<JobRow | null> {
  const row = yield* get(sql`${SHOWN_JOBS} WHERE run = ${run} AND id = ${id}`);
  return row ? decodeJob(row) : null;
}

/** In the order of their numbers. An unknown state is chosen too, so that the job is not missed. */
export function* listJobs(run: string, { states, among, from, limit, without = [] }: JobPage): Plan<JobRow[]> {
  const chosen = states ? sql`AND (state ${oneOf(states)} OR NOT (state ${oneOf(JOB_STATES)}))` : sql``;
  const numbers = among ? sql`AND n ${oneOf(among)}` : sql``;
  const rows = yield* all(sql`${SHOWN_JOBS} WHERE run = ${run} AND n >= ${from} AND NOT (id ${oneOf(without)})
    ${chosen} ${numbers} ORDER BY n LIMIT ${atMost(limit)}`);
  return decodeJobs(rows);
}

/** Jobs whose rows cannot be read. */
export function* damagedJobs(run: string): Plan<DamagedRow[]> {
  const damaged: DamagedRow[] = [];
  for (let from = 0; ; ) {
    const rows = yield* all(sql`${SHOWN_JOBS} WHERE run = ${run} AND n >= ${from} ORDER BY n LIMIT ${PAGE}`);
    damaged.push(...damagedAmong(rows, decodeJob, (row) => ({ id: textColumn(row, "id"), label: `job ${row.id}` })));
    const end = rows.at(-1);
    if (!end || rows.length < PAGE) return damaged;
    from = numberColumn(end, "n") + 1;
  }
}

/** JSON. @throws RlmError `store_corrupt` if it is not what was asked */
export function* readInput(key: JobKey): Plan<string> {
  const row = yield* get(sql`SELECT ${raw(INPUT_COLUMNS)} FROM jobs WHERE run = ${key.run} AND n = ${key.n}`);
  return inputOf(row, key);
}

/** JSON; null if the job has no result. @throws RlmError `store_corrupt` */
export function* readResult({ run, n }: JobKey): Plan<string | null> {
  const row = yield* get(sql`SELECT ${raw(WHOLE_JOB)} FROM jobs WHERE run = ${run} AND n = ${n}`);
  return row ? resultOf(row) : null;
}

/** The number of jobs in each state. @param without ids that are not counted */
export function* countStates(run: string, without: readonly string[] = []): Plan<Record<JobState, number>> {
  return countsIn(
    yield* all(
      sql`SELECT state, count(*) AS n FROM jobs WHERE run = ${run} AND NOT (id ${oneOf(without)}) GROUP BY state`,
    ),
  );
}
