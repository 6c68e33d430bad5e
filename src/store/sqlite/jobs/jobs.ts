import type { Json } from "../../../../runtime/index.ts";
import type { Counts, DueJob, DuePage, JobKey, JobOfRun, JobPage, JobRow } from "../../jobs/port.ts";
import type { DamagedRow } from "../../port.ts";
import { damagedAmong } from "../../rows/damaged.ts";
import { INPUT_COLUMNS, inputOf } from "../../rows/job-input.ts";
import { countsIn, decodeJob, decodeJobs, JOB_STATES, resultOf, SHOWN_JOB, WHOLE_JOB } from "../../rows/jobs.ts";
import { number, text } from "../../rows/seal.ts";
import type { Database } from "../database.ts";
import type { Leases } from "../lease.ts";
import { readRun } from "./runs.ts";

function readJob(database: Database, { run, n }: JobKey): JobRow | null {
  const row = database.get(`SELECT ${SHOWN_JOB} FROM jobs WHERE run = ? AND n = ?`, run, n);
  return row ? decodeJob(row) : null;
}

export function readJobOfRun(database: Database, key: JobKey): JobOfRun | null {
  const job = readJob(database, key);
  return job ? { job, run: readRun(database, key.run) } : null;
}

export function findJob(database: Database, run: string, id: string): JobRow | null {
  const row = database.get(`SELECT ${SHOWN_JOB} FROM jobs WHERE run = ? AND id = ?`, run, id);
  return row ? decodeJob(row) : null;
}

/** In the order of their numbers. A state that is none is chosen too, so that nobody misses the job. */
export function listJobs(database: Database, run: string, page: JobPage): JobRow[] {
  const { states, among, from, limit, without = [] } = page;
  const chosen = states
    ? "AND (state IN (SELECT value FROM json_each(?)) OR state NOT IN (SELECT value FROM json_each(?)))"
    : "";
  const numbers = among ? "AND n IN (SELECT value FROM json_each(?))" : "";
  const lists = [...(states ? [states, JOB_STATES] : []), ...(among ? [among] : [])].map((list) =>
    JSON.stringify(list),
  );
  const listed = `SELECT ${SHOWN_JOB} FROM jobs
    WHERE run = ? AND n >= ? AND ${NOT_AMONG} ${chosen} ${numbers} ORDER BY n LIMIT ?`;
  return decodeJobs(database.all(listed, run, from, JSON.stringify(without), ...lists, limit));
}

const NOT_AMONG = "id NOT IN (SELECT value FROM json_each(?))";

/** Jobs whose rows cannot be read. */
export function damagedJobs(database: Database, run: string): DamagedRow[] {
  const ids = database.all("SELECT id FROM jobs WHERE run = ? ORDER BY n", run).map((row) => text(row, "id"));
  return damagedAmong(
    ids,
    (id) => findJob(database, run, id),
    (id) => ({ id, label: `job ${id}` }),
  );
}

/** @throws RlmError `store_corrupt` if it is not what was asked */
export function readInput(database: Database, key: JobKey): Json {
  return inputOf(database.get(`SELECT ${INPUT_COLUMNS} FROM jobs WHERE run = ? AND n = ?`, key.run, key.n), key);
}

/** JSON; null if the job has no result. @throws RlmError `store_corrupt` */
export function readResult(database: Database, { run, n }: JobKey): string | null {
  const row = database.get(`SELECT ${WHOLE_JOB} FROM jobs WHERE run = ? AND n = ?`, run, n);
  return row ? resultOf(row) : null;
}

export function countJobs(database: Database, leases: Leases, run: string, without: readonly string[] = []): Counts {
  const counted = `SELECT state, count(*) AS n FROM jobs WHERE run = ? AND ${NOT_AMONG} GROUP BY state`;
  const counts = countsIn(database.all(counted, run, JSON.stringify(without)));
  const running = `SELECT s.id, s.pid, s.host FROM jobs j JOIN sessions s ON s.id = j.session
    WHERE j.run = ? AND j.state IN ('running', 'cancelling')`;
  const holders = database.all(running, run).filter((row) => leases.busy(text(row, "id")));
  return { ...counts, workers: new Set(holders.map(({ pid, host }) => `${pid} ${host}`)).size };
}

/** Jobs that wait for their time, or out of memory for their provider, and begun ones that nobody holds, by rank. */
export function dueJobs(database: Database, leases: Leases, page: DuePage, now: number): DueJob[] {
  const due: DueJob[] = [];
  let after = page.after;
  while (due.length < page.limit) {
    const rows = database.all(
      DUE,
      ...[page.queue, page.overdueMs, now - page.overdueMs],
      ...[after?.rank ?? null, after?.run ?? "", after?.n ?? -1, page.limit],
    );
    for (const row of rows) {
      after = {
        run: text(row, "run"),
        n: number(row, "n"),
        rank: number(row, "rank"),
        lapses: number(row, "lapses"),
        afterMs: Math.max(0, number(row, "due_at") - now),
      };
      const isFree = row.state === "waiting" || row.state === "parked" || !leases.busy(text(row, "session"));
      if (isFree && due.length < page.limit) due.push(after);
    }
    if (rows.length < page.limit) break;
  }
  return due;
}

/** Each part by an index of its own. */
const dueIn = (
  jobs: string,
) => `SELECT j.run, j.n, j.rank, j.lapses, j.state, j.session, coalesce(j.run_at, 0) AS due_at
  FROM ${jobs} AND r.queue = ?1 AND (r.state = 'open' OR j.state = 'cancelling')
    AND (?2 = 0 OR coalesce(j.run_at, j.changed_at) <= ?3)
    AND (?4 IS NULL OR (j.rank, j.run, j.n) > (?4, ?5, ?6))`;

const DUE = `${dueIn("jobs j JOIN runs r ON r.id = j.run WHERE j.state IN ('waiting', 'running', 'cancelling')")}
  UNION ALL ${dueIn("runs r CROSS JOIN jobs j ON j.run = r.id WHERE j.state = 'parked' AND j.run_at IS NOT NULL")}
  ORDER BY 3, 1, 2 LIMIT ?7`;
