import type { DueJob, DuePage } from "../../jobs/port.ts";
import { columnsOf, number, text } from "../../rows/seal.ts";
import { atMost } from "../../sql/jobs.ts";
import type { Database } from "../database.ts";
import type { Leases } from "../lease.ts";

/** Jobs that wait for their time, or out of memory for their provider, and begun ones that nobody holds, by rank. */
export function dueJobs(database: Database, leases: Leases, page: DuePage, now: number): DueJob[] {
  const due: DueJob[] = [];
  const limit = atMost(page.limit);
  let after = page.after;
  while (due.length < limit) {
    const rank = after?.rank ?? null;
    const given = [page.queue, page.overdueMs, now - page.overdueMs, rank, rank, after?.run ?? "", after?.n ?? -1];
    const rows = database.all(DUE, ...given, now, ...given, limit);
    for (const row of rows) {
      const job = columnsOf(row, { run: text, n: number, rank: number, lapses: number });
      after = { ...job, afterMs: Math.max(0, number(row, "due_at") - now) };
      const isFree = row.state === "waiting" || row.state === "parked" || !leases.busy(text(row, "session"));
      if (isFree && due.length < limit) due.push(after);
    }
    if (rows.length < limit) break;
  }
  return due;
}

/** Each part by an index of its own. Values have no numbers, which Node 22 does not take. */
const dueIn = (
  jobs: string,
) => `SELECT j.run, j.n, j.rank, j.lapses, j.state, j.session, coalesce(j.run_at, 0) AS due_at
  FROM ${jobs} AND r.queue = ? AND (r.state = 'open' OR j.state = 'cancelling')
    AND (? = 0 OR coalesce(j.run_at, j.changed_at) <= ?)
    AND (? IS NULL OR (j.rank, j.run, j.n) > (?, ?, ?))`;

const DUE = `${dueIn("jobs j JOIN runs r ON r.id = j.run WHERE j.state IN ('waiting', 'running', 'cancelling')")}
  UNION ALL ${dueIn(`runs r CROSS JOIN jobs j ON j.run = r.id WHERE j.state = 'parked' AND j.run_at IS NOT NULL
    AND (j.why IS DISTINCT FROM 'held' OR j.run_at <= ?)`)}
  ORDER BY 3, 1, 2 LIMIT ?`;
