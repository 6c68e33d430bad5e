import type { JobKey, JobOfRun, JobPage, JobRow, JobState } from "../jobs/port.ts";
import type { DamagedRow } from "../port.ts";
import { damagedAmong } from "../rows/damaged.ts";
import { INPUT_COLUMNS, inputOf } from "../rows/job-input.ts";
import {
  countsIn,
  decodeJob,
  decodeJobs,
  decodeRun,
  JOB_STATES,
  resultOf,
  SHOWN_JOB,
  SHOWN_RUN,
  WHOLE_JOB,
} from "../rows/jobs.ts";
import { numberColumn, textColumn } from "../rows/seal.ts";
import { all, get, oneOf, type Plan, raw, sql } from "./sql.ts";

/** Rows of a page, at the most. */
const PAGE = 1000;

export const atMost = (limit: number) => Math.min(limit, PAGE);

const SHOWN = raw(`SELECT ${SHOWN_JOB} FROM jobs`);

/** null if the job or its run is not there. */
export function* readJobOfRun({ run, n }: JobKey): Plan<JobOfRun | null> {
  const job = yield* get(sql`${SHOWN} WHERE run = ${run} AND n = ${n}`);
  const of = job && (yield* get(sql`SELECT ${raw(SHOWN_RUN)} FROM runs WHERE id = ${run}`));
  return of ? { job: decodeJob(job), run: decodeRun(of) } : null;
}

export function* findJob(run: string, id: string): Plan<JobRow | null> {
  const row = yield* get(sql`${SHOWN} WHERE run = ${run} AND id = ${id}`);
  return row ? decodeJob(row) : null;
}

/** In the order of their numbers. An unknown state is chosen too, so that the job is not missed. */
export function* listJobs(run: string, { states, among, from, limit, without = [] }: JobPage): Plan<JobRow[]> {
  const chosen = states ? sql`AND (state ${oneOf(states)} OR NOT (state ${oneOf(JOB_STATES)}))` : sql``;
  const numbers = among ? sql`AND n ${oneOf(among)}` : sql``;
  const rows = yield* all(sql`${SHOWN} WHERE run = ${run} AND n >= ${from} AND NOT (id ${oneOf(without)})
    ${chosen} ${numbers} ORDER BY n LIMIT ${atMost(limit)}`);
  return decodeJobs(rows);
}

/** Jobs whose rows cannot be read. */
export function* damagedJobs(run: string): Plan<DamagedRow[]> {
  const damaged: DamagedRow[] = [];
  for (let from = 0; ; ) {
    const rows = yield* all(sql`${SHOWN} WHERE run = ${run} AND n >= ${from} ORDER BY n LIMIT ${PAGE}`);
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
