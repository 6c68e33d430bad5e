import type { Counts, DueJob, DuePage, JobKey, Outcome, Try } from "../../jobs/port.ts";
import { sealOfJob } from "../../rows/job-seal.ts";
import { packText } from "../../rows/pack.ts";
import { number, text } from "../../rows/seal.ts";
import { countStates } from "../../sql/jobs.ts";
import { get, type Plan, run as runs, sql } from "../../sql/sql.ts";
import type { Database } from "../database.ts";
import { dropImages } from "../gc.ts";
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

/** A try takes the job; what earlier tries held becomes doubtful. false: the job is final, or parked until it is resumed. */
export function begin(database: Database, { run, n }: JobKey, taking: Try, now: number): boolean {
  const { ticket, fence, engine, lapses, answers } = taking;
  const changed = database.run(
    `UPDATE jobs SET state = CASE state WHEN 'cancelling' THEN state ELSE 'running' END, why = NULL, run_at = NULL,
      ticket = ?, fence = ?, engine = coalesce(?, engine), lapses = ?, answers = ?, begun_at = coalesce(begun_at, ?),
      changed_at = ? WHERE run = ? AND n = ? AND fence <= ?
        AND (state IN ('waiting', 'running', 'cancelling') OR (state = 'parked' AND run_at IS NOT NULL))`,
    ...[ticket, fence, engine, lapses, answers, now, now, run, n, fence],
  );
  if (changed === 1) doubt(database, { run, n });
  return changed === 1;
}

export function finish(database: Database, { run, n }: JobKey, fence: number, outcome: Outcome, now: number): boolean {
  const result = outcome.result === null ? null : packText(outcome.result);
  const changed = database.run(
    `UPDATE jobs SET state = ?, why = NULL, result = ?, told = ?, ended_at = ?, changed_at = ?
      WHERE run = ? AND n = ? AND fence = ? AND state IN ('running', 'cancelling')`,
    ...[outcome.state, result, packText(JSON.stringify(outcome.told)), now, now, run, n, fence],
  );
  if (changed === 0) return false;
  database.perform(sealFinal({ run, n }));
  doubt(database, { run, n });
  if (outcome.dropsImages) {
    const row = database.get("SELECT session FROM jobs WHERE run = ? AND n = ?", run, n);
    if (row) dropImages(database, text(row, "session"));
  }
  return true;
}

/** Counts a lapse of each job that runs although nobody holds it. Returns how many they are. */
export function lapse(database: Database, leases: Leases, run: string, now: number): number {
  const running = "SELECT n, session FROM jobs WHERE run = ? AND state IN ('running', 'cancelling')";
  const lapsed = database.all(running, run).filter((row) => !leases.busy(text(row, "session")));
  for (const row of lapsed) {
    const counted = `UPDATE jobs SET lapses = lapses + 1, changed_at = ?,
      state = CASE state WHEN 'cancelling' THEN state ELSE 'waiting' END WHERE run = ? AND n = ?`;
    database.run(counted, now, run, number(row, "n"));
  }
  return lapsed.length;
}

/** Seals a job that has become final in this transaction. */
export function* sealFinal({ run, n }: JobKey): Plan<void> {
  const row = yield* get(sql`SELECT * FROM jobs WHERE run = ${run} AND n = ${n}`);
  if (row) yield* runs(sql`UPDATE jobs SET sha256 = ${sealOfJob(row)} WHERE run = ${run} AND n = ${n}`);
}
