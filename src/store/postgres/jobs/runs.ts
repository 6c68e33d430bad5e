import type { AddedJob, Asked, KnownJob, NewJob, NewRun, RunRow } from "../../jobs/port.ts";
import { LOWEST_RANK, rankOf } from "../../jobs/rank.ts";
import { runDiffers, runIsBusy, runNotFound } from "../../jobs/refusals.ts";
import { damagedAmong } from "../../rows/damaged.ts";
import { KNOWN_COLUMNS, knownOf, sumOfAsked } from "../../rows/job-input.ts";
import { amountColumns, decodeRun, fieldsOfAmount, SHOWN_RUN } from "../../rows/jobs.ts";
import { number, text } from "../../rows/seal.ts";
import type { WireMethods } from "../../thread/methods.ts";
import { bytesOfText } from "../commit.ts";
import type { Server, Sql } from "../connection.ts";
import { deleteFamily } from "../gc.ts";
import { atMost, NOW } from "./sql.ts";

export function runMethods(
  server: Server,
): Pick<
  WireMethods,
  "jobs.open" | "jobs.add" | "jobs.known" | "jobs.run" | "jobs.runs" | "jobs.damagedRuns" | "jobs.limit" | "jobs.remove"
> {
  return {
    "jobs.open": (run) => server.write((sql) => openRun(sql, run)),
    "jobs.add": (run, jobs) => server.write((sql) => addJobs(sql, run, jobs)),
    "jobs.known": (run, jobs) => knownJobs(server, run, jobs),
    async "jobs.run"(nameOrId) {
      const row = await server.get(
        `SELECT ${SHOWN_RUN} FROM runs WHERE name = $1 OR id = $1 ORDER BY name = $1 DESC LIMIT 1`,
        nameOrId,
      );
      return row ? decodeRun(row) : null;
    },
    async "jobs.runs"({ after, limit, without = [] }) {
      const behind = `SELECT ${SHOWN_RUN} FROM runs WHERE ($1::text IS NULL OR id < $1) AND id <> ALL($2) ORDER BY id DESC LIMIT $3`;
      return (await server.all(behind, after, without, atMost(limit))).map(decodeRun);
    },
    async "jobs.damagedRuns"() {
      const rows = await server.all(`SELECT ${SHOWN_RUN} FROM runs ORDER BY id DESC`);
      return damagedAmong(rows, decodeRun, (row) => ({ id: text(row, "id"), label: `run ${row.name} (${row.id})` }));
    },
    async "jobs.limit"(run, limits) {
      const set = amountColumns("lim").map((column, at) => `${column} = $${at + 2}`);
      const changed = await server.run(
        `UPDATE runs SET ${set.join(", ")} WHERE id = $1`,
        run,
        ...fieldsOfAmount(limits),
      );
      if (changed === 0) throw runNotFound(run);
    },
    "jobs.remove": (run) =>
      server.write(async (sql) => {
        const row = await sql.get("SELECT name FROM runs WHERE id = $1", run);
        if (!row) throw runNotFound(run);
        const sessions = (await sql.all("SELECT session FROM jobs WHERE run = $1", run)).map((row) =>
          text(row, "session"),
        );
        const busy = "SELECT session FROM leases WHERE session = ANY($1) AND until > clock_timestamp() LIMIT 1";
        if (await sql.get(busy, sessions)) throw runIsBusy(text(row, "name"));
        for (const session of sessions) await deleteFamily(sql, session);
        for (const table of ["holds", "jobs"]) await sql.run(`DELETE FROM ${table} WHERE run = $1`, run);
        await sql.run("DELETE FROM runs WHERE id = $1", run);
      }),
  };
}

async function openRun(sql: Sql, run: NewRun): Promise<{ readonly run: RunRow; readonly made: boolean }> {
  const { id, name, queue, share, hash, limits } = run;
  const rank = await sql.get(`SELECT coalesce((SELECT max(rank) FROM jobs WHERE state = 'running'),
    (SELECT min(rank) FROM jobs WHERE state = 'waiting'), ${LOWEST_RANK}) AS rank`);
  const added = await sql.get(
    `INSERT INTO runs (id, name, queue, share, spec, hash, state, created_at, first_rank, lim_usd, lim_tokens, lim_calls)
      VALUES ($1, $2, $3, $4, $5, $6, 'open', ${NOW}, $7, $8, $9, $10) ON CONFLICT (name) DO NOTHING RETURNING *`,
    ...[id, name, queue, share, JSON.stringify(run.spec), hash, rank ? number(rank, "rank") : LOWEST_RANK],
    ...fieldsOfAmount(limits),
  );
  if (added) return { run: decodeRun(added), made: true };
  const spec = JSON.stringify(run.spec);
  const known = await sql.get("UPDATE runs SET spec = $3 WHERE name = $1 AND hash = $2 RETURNING *", name, hash, spec);
  if (!known) throw runDiffers(name);
  return { run: decodeRun(known), made: false };
}

/** Adds jobs behind those that the run has. Two submitters of one run take turns. */
async function addJobs(sql: Sql, run: string, jobs: readonly NewJob[]): Promise<readonly AddedJob[]> {
  const row = await sql.get(`SELECT ${SHOWN_RUN} FROM runs WHERE id = $1 FOR UPDATE`, run);
  if (!row) throw runNotFound(run);
  const [first, share] = [number(row, "first_rank"), number(row, "share")];
  const last = await sql.get("SELECT coalesce(max(n) + 1, 0) AS n FROM jobs WHERE run = $1", run);
  const ids = jobs.map(({ id }) => id);
  const there = await sql.all("SELECT id, n FROM jobs WHERE run = $1 AND id = ANY($2)", run, ids);
  const known = new Map(there.map((one) => [text(one, "id"), number(one, "n")]));
  let n = last ? number(last, "n") : 0;
  const added: AddedJob[] = [];
  for (const job of jobs) {
    const { id, session, input, context } = job;
    const before = known.get(id);
    added.push({ n: before ?? n, isNew: before === undefined });
    if (before !== undefined) continue;
    known.set(id, n);
    await sql.run(
      `INSERT INTO jobs (run, n, id, state, rank, changed_at, session, input, context, asked)
        VALUES ($1, $2, $3, 'waiting', $4, ${NOW}, $5, $6, $7, $8)`,
      ...[run, n, id, rankOf(first, n, share), session, bytesOfText(JSON.stringify(input)), context],
      sumOfAsked(run, job),
    );
    n += 1;
  }
  return added;
}

async function knownJobs(sql: Pick<Sql, "all">, run: string, jobs: readonly Asked[]): Promise<(KnownJob | null)[]> {
  const ids = jobs.map(({ id }) => id);
  const rows = await sql.all(`SELECT ${KNOWN_COLUMNS} FROM jobs WHERE run = $1 AND id = ANY($2)`, run, ids);
  const byId = new Map(rows.map((row) => [text(row, "id"), row]));
  const contexts = jobs.flatMap(({ context }) => context ?? []);
  const kept = await sql.all("SELECT hash, parts FROM contexts WHERE hash = ANY($1)", [...new Set(contexts)]);
  const partsOf = new Map<string | null, string>(kept.map((row) => [text(row, "hash"), text(row, "parts")]));
  return jobs.map((job) => {
    const row = byId.get(job.id);
    return row ? knownOf(row, job, partsOf.get(job.context) ?? null) : null;
  });
}

/** @throws RlmError `run_not_found`, `store_corrupt` */
export async function readRun(sql: Sql, id: string): Promise<RunRow> {
  const row = await sql.get(`SELECT ${SHOWN_RUN} FROM runs WHERE id = $1`, id);
  if (!row) throw runNotFound(id);
  return decodeRun(row);
}
