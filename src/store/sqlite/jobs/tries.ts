import { ulid } from "ulid";
import type { Back, Change, JobKey, NewJob, Outcome, Tried, Try } from "../../jobs/port.ts";
import { sumOfAsked } from "../../rows/job-input.ts";
import { sealOfJob } from "../../rows/job-seal.ts";
import { triedOf } from "../../rows/jobs.ts";
import { packText } from "../../rows/pack.ts";
import { number, text } from "../../rows/seal.ts";
import type { Database } from "../database.ts";
import { dropImages } from "../gc.ts";
import type { Leases } from "../lease.ts";
import { doubt } from "./money.ts";
import { readRun } from "./runs.ts";

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
  sealFinal(database, { run, n });
  doubt(database, { run, n });
  if (outcome.dropsImages) {
    const row = database.get("SELECT session FROM jobs WHERE run = ? AND n = ?", run, n);
    if (row) dropImages(database, text(row, "session"));
  }
  return true;
}

/** The try gives the job back. One that is being cancelled stays so. */
export function putBack(database: Database, { run, n }: JobKey, fence: number, back: Back, now: number): boolean {
  const changed = database.run(
    `UPDATE jobs SET state = CASE state WHEN 'cancelling' THEN state ELSE ? END, why = ?, run_at = ?,
      attempts = attempts + ?, changed_at = ? WHERE run = ? AND n = ? AND fence = ? AND state IN ('running', 'cancelling')`,
    ...[back.state, back.why, back.afterMs > 0 ? now + back.afterMs : null, back.counts ? 1 : 0, now, run, n, fence],
  );
  return changed === 1;
}

/** Counts a lapse of each job that runs although nobody holds it. Answers how many they are. */
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

/** Answers the jobs that somebody tries now. @throws RlmError `run_not_found` */
export function change(database: Database, run: string, change: Change, now: number): readonly Tried[] {
  readRun(database, run);
  switch (change.to) {
    case "cancel":
      return cancel(database, run, change.ids, now);
    case "retry":
      retry(database, run, change, now);
      return [];
    case "pause":
      database.run("UPDATE runs SET state = 'paused', why = ? WHERE id = ?", change.why, run);
      return [];
    case "resume":
      database.run("UPDATE runs SET state = 'open', why = NULL WHERE id = ?", run);
      database.run(
        "UPDATE jobs SET state = 'waiting', why = NULL, run_at = NULL, changed_at = ? WHERE run = ? AND state = 'parked'",
        ...[now, run],
      );
      return [];
  }
}

function cancel(database: Database, run: string, ids: readonly string[] | null, now: number): readonly Tried[] {
  const meant = chosen(ids);
  const cancelled = database.all(
    `UPDATE jobs SET state = 'cancelled', why = NULL, run_at = NULL, ended_at = ?2, changed_at = ?2
      WHERE run = ?1 AND state IN ('waiting', 'parked') AND (?3 IS NULL OR id IN (SELECT value FROM json_each(?3)))
      RETURNING n`,
    ...[run, now, meant],
  );
  for (const row of cancelled) sealFinal(database, { run, n: number(row, "n") });
  const running = database.all(
    `UPDATE jobs SET state = 'cancelling', changed_at = ?2
      WHERE run = ?1 AND state IN ('running', 'cancelling') AND (?3 IS NULL OR id IN (SELECT value FROM json_each(?3)))
      RETURNING run, n, rank, ticket`,
    ...[run, now, meant],
  );
  return running.flatMap(triedOf);
}

/** A job that has become final in this transaction. */
function sealFinal(database: Database, { run, n }: JobKey): void {
  const row = database.get("SELECT * FROM jobs WHERE run = ? AND n = ?", run, n);
  if (row) database.run("UPDATE jobs SET sha256 = ? WHERE run = ? AND n = ?", sealOfJob(row), run, n);
}

type Retry = Extract<Change, { to: "retry" }>;

/** Gives each job an attempt of its own: a fresh session, and counts from 0. With `fresh` also those that were begun and wait. */
function retry(database: Database, run: string, { ids, states, fresh }: Retry, now: number): void {
  const again = database.all(
    `SELECT n FROM jobs WHERE run = ?1 AND (?2 IS NULL OR id IN (SELECT value FROM json_each(?2)))
      AND (state IN (SELECT value FROM json_each(?3)) OR (?4 AND state IN ('waiting', 'parked') AND begun_at IS NOT NULL))`,
    ...[run, chosen(ids), JSON.stringify(states), fresh ? 1 : 0],
  );
  for (const row of again) {
    database.run(`UPDATE jobs SET ${ANEW} WHERE run = ? AND n = ?`, ulid(now), now, run, number(row, "n"));
  }
}

const ANEW = `state = 'waiting', why = NULL, run_at = NULL, ticket = NULL, fence = 0, session = ?, engine = NULL,
  attempts = 0, lapses = 0, answers = 0, result = NULL, told = NULL, begun_at = NULL, ended_at = NULL,
  sha256 = NULL, changed_at = ?`;

/** Jobs that nobody tries wait for what is asked of them now. Answers how many they are. */
export function replace(database: Database, run: string, jobs: readonly NewJob[], now: number): number {
  let replaced = 0;
  for (const job of jobs) {
    const asked = [packText(JSON.stringify(job.input)), job.context, sumOfAsked(run, job)];
    replaced += database.run(
      `UPDATE jobs SET ${ANEW}, input = ?, context = ?, asked = ?
        WHERE run = ? AND id = ? AND state NOT IN ('running', 'cancelling')`,
      ...[job.session, now, ...asked, run, job.id],
    );
  }
  return replaced;
}

/** null: all of them. */
function chosen(ids: readonly string[] | null): string | null {
  return ids === null ? null : JSON.stringify(ids);
}
