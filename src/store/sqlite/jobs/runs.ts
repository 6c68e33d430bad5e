import type { AddedJob, Asked, KnownJob, NewJob, NewRun, RunLimits, RunPage, RunRow } from "../../jobs/port.ts";
import { LOWEST_RANK, rankOf } from "../../jobs/rank.ts";
import { runDiffers, runNotFound } from "../../jobs/refusals.ts";
import type { DamagedRow } from "../../port.ts";
import { damagedAmong } from "../../rows/damaged.ts";
import { KNOWN_COLUMNS, knownOf, sumOfAsked } from "../../rows/job-input.ts";
import { amountColumns, decodeRun, fieldsOfAmount, RUN_COLUMNS, SHOWN_RUN } from "../../rows/jobs.ts";
import { packText } from "../../rows/pack.ts";
import { number, type Row, text } from "../../rows/seal.ts";
import type { Database } from "../database.ts";

/** Makes the run, or answers the one of its name, with this specification. @throws RlmError `run_differs` */
export function openRun(
  database: Database,
  run: NewRun,
  now: number,
): { readonly run: RunRow; readonly made: boolean } {
  const known = database.get(`SELECT ${SHOWN_RUN} FROM runs WHERE name = ?`, run.name);
  if (known && known.hash !== run.hash) throw runDiffers(run.name);
  if (known) {
    database.run("UPDATE runs SET spec = ? WHERE name = ?", JSON.stringify(run.spec), run.name);
    return { run: readRun(database, text(known, "id")), made: false };
  }
  const columns = [...RUN_COLUMNS, ...amountColumns("lim")];
  const { id, name, queue, share, hash, limits } = run;
  const fields = [id, name, queue, share, JSON.stringify(run.spec), hash, "open", null, now, firstRank(database)];
  database.run(
    `INSERT INTO runs (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    ...[...fields, ...fieldsOfAmount(limits)],
  );
  return { run: readRun(database, id), made: true };
}

/** The highest rank of a running job, else the lowest of a waiting one: a new run begins at once. */
function firstRank(database: Database): number {
  const row = database.get(`SELECT coalesce(
    (SELECT max(rank) FROM jobs WHERE state = 'running'),
    (SELECT min(rank) FROM jobs WHERE state = 'waiting'), ${LOWEST_RANK}) AS rank`);
  return row ? number(row, "rank") : LOWEST_RANK;
}

/** @throws RlmError `run_not_found` */
export function readRun(database: Database, id: string): RunRow {
  return decodeRun(rowOfRun(database, id));
}

/** Adds jobs behind those that the run has. */
export function addJobs(database: Database, run: string, jobs: readonly NewJob[], now: number): AddedJob[] {
  const row = rowOfRun(database, run);
  const [first, share] = [number(row, "first_rank"), number(row, "share")];
  let n = number(database.get("SELECT coalesce(max(n) + 1, 0) AS n FROM jobs WHERE run = ?", run) ?? {}, "n");
  return jobs.map((job) => {
    const { id, session, input, context } = job;
    const added = database.run(
      `INSERT INTO jobs (run, n, id, state, rank, changed_at, session, input, context, asked)
        VALUES (?, ?, ?, 'waiting', ?, ?, ?, ?, ?, ?) ON CONFLICT (run, id) DO NOTHING`,
      ...[run, n, id, rankOf(first, n, share), now, session, packText(JSON.stringify(input)), context],
      sumOfAsked(run, job),
    );
    if (added === 1) return { n: n++, isNew: true };
    return { n: number(database.get("SELECT n FROM jobs WHERE run = ? AND id = ?", run, id) ?? {}, "n"), isNew: false };
  });
}

export function knownJobs(database: Database, run: string, jobs: readonly Asked[]): (KnownJob | null)[] {
  return jobs.map((job) => {
    const row = database.get(`SELECT ${KNOWN_COLUMNS} FROM jobs WHERE run = ? AND id = ?`, run, job.id);
    const parts = database.get("SELECT parts FROM contexts WHERE hash = ?", job.context);
    return row ? knownOf(row, job, parts ? text(parts, "parts") : null) : null;
  });
}

export function findRun(database: Database, nameOrId: string): RunRow | null {
  const row =
    database.get(`SELECT ${SHOWN_RUN} FROM runs WHERE name = ?`, nameOrId) ??
    database.get(`SELECT ${SHOWN_RUN} FROM runs WHERE id = ?`, nameOrId);
  return row ? decodeRun(row) : null;
}

/** The newest first, behind the run with this id. */
export function listRuns(database: Database, { after, limit, without = [] }: RunPage): RunRow[] {
  const behind = `SELECT ${SHOWN_RUN} FROM runs WHERE (?1 IS NULL OR id < ?1) AND id NOT IN (SELECT value FROM json_each(?2))
    ORDER BY id DESC LIMIT ?3`;
  return database.all(behind, after, JSON.stringify(without), limit).map(decodeRun);
}

/** Runs whose rows cannot be read, the newest first. */
export function damagedRuns(database: Database): DamagedRow[] {
  const ids = database.all("SELECT id FROM runs ORDER BY id DESC").map((row) => text(row, "id"));
  return damagedAmong(
    ids,
    (id) => readRun(database, id),
    (id) => ({ id, label: `run ${nameOfRun(database, id)} (${id})` }),
  );
}

/** Name of a run whose row may be damaged. @throws RlmError `run_not_found` */
export function nameOfRun(database: Database, id: string): string {
  const row = database.get("SELECT name FROM runs WHERE id = ?", id);
  if (row) return text(row, "name");
  throw runNotFound(id);
}

export function setLimits(database: Database, run: string, limits: RunLimits): void {
  const set = amountColumns("lim").map((column) => `${column} = ?`);
  const changed = database.run(`UPDATE runs SET ${set.join(", ")} WHERE id = ?`, ...fieldsOfAmount(limits), run);
  if (changed === 0) throw runNotFound(run);
}

function rowOfRun(database: Database, id: string): Row {
  const row = database.get(`SELECT ${SHOWN_RUN} FROM runs WHERE id = ?`, id);
  if (row) return row;
  throw runNotFound(id);
}
