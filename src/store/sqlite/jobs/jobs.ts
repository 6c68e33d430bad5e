import type { Counts, DueJob, DuePage, JobKey } from "../../jobs/port.ts";
import { sealOfJob } from "../../rows/job-seal.ts";
import { columnsOf, number, text } from "../../rows/seal.ts";
import { countStates } from "../../sql/jobs.ts";
import { run as change, get, type Plan, type Statement, sql } from "../../sql/sql.ts";
import type { Changing } from "../../sql/tries.ts";
import { dropUnneeded } from "../checkpoints.ts";
import type { Database } from "../database.ts";
import type { Leases } from "../lease.ts";
import { doubt } from "./money.ts";

export function countJobs(database: Database, leases: Leases, run: string, without?: readonly string[]): Counts {
  const running = `SELECT s.id, s.pid, s.host FROM jobs j JOIN sessions s ON s.id = j.session
    WHERE j.run = ? AND j.state IN ('running', 'cancelling')`;
  const holders = database.all(running, run).filter((row) => leases.busy(text(row, "id")));
  const workers = new Set(holders.map(({ pid, host }) => `${pid} ${host}`)).size;
  return { ...database.perform(countStates(run, without)), workers };
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
      const job = columnsOf(row, { run: text, n: number, rank: number, lapses: number });
      after = { ...job, afterMs: Math.max(0, number(row, "due_at") - now) };
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

/** Changes jobs at an instant. */
export function changingAt(now: number): Changing {
  return { now, doubting, dropUnneeded, seal };
}

function* doubting(update: Statement, job: JobKey, isOver: boolean): Plan<boolean> {
  if ((yield* change(update)) === 0) return false;
  yield* doubt(job, isOver);
  return true;
}

function* seal({ run, n }: JobKey): Plan<void> {
  const row = yield* get(sql`SELECT * FROM jobs WHERE run = ${run} AND n = ${n}`);
  if (row) yield* change(sql`UPDATE jobs SET sha256 = ${sealOfJob(row)} WHERE run = ${run} AND n = ${n}`);
}
