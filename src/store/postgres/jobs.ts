import { ulid } from "ulid";
import { RlmError } from "../../../runtime/errors.ts";
import { LIMITS } from "../../../runtime/index.ts";
import { corrupt } from "../failure.ts";
import { intervalOf } from "../jobs/money.ts";
import type { Change, Counts, DueJob, DuePage, JobOfRun, Jobs, NewJob, NewRun, RunRow, Tried } from "../jobs/port.ts";
import { LOWEST_RANK, rankOf } from "../jobs/rank.ts";
import { runDiffers, runIsBusy, runNotFound } from "../jobs/refusals.ts";
import type { DamagedRow } from "../port.ts";
import { damagedAmong } from "../rows/damaged.ts";
import { amountColumns, countsIn, decodeJob, decodeRun, fieldsOfAmount } from "../rows/jobs.ts";
import { unpackText } from "../rows/pack.ts";
import { number, type Row, text } from "../rows/seal.ts";
import type { WireMethods } from "../thread/methods.ts";
import { bytesOfText } from "./commit.ts";
import type { Server, Sql } from "./connection.ts";
import { deleteFamily, dropImages } from "./gc.ts";
import type { Leases } from "./leases.ts";

type JobMethods = Pick<WireMethods, `jobs.${keyof Jobs}`>;

/** What the store can do with runs and their jobs. Instants are those of the server's clock. */
export function jobMethods(server: Server, leases: Leases): JobMethods {
  return { ...runMethods(server), ...readingMethods(server), ...tryMethods(server, leases), ...moneyMethods(server) };
}

const PAGE = 1000;
const atMost = (limit: number) => Math.min(limit, PAGE);
const NOW = "clock_ms()";

function runMethods(
  server: Server,
): Pick<
  JobMethods,
  "jobs.open" | "jobs.add" | "jobs.run" | "jobs.runs" | "jobs.damagedRuns" | "jobs.limit" | "jobs.remove"
> {
  return {
    "jobs.open": (run) => server.write((sql) => openRun(sql, run)),
    "jobs.add": (run, jobs) => server.write((sql) => addJobs(sql, run, jobs)),
    async "jobs.run"(nameOrId) {
      const row = await server.get(
        "SELECT * FROM runs WHERE name = $1 OR id = $1 ORDER BY name = $1 DESC LIMIT 1",
        nameOrId,
      );
      return row ? decodeRun(row) : null;
    },
    async "jobs.runs"({ after, limit, without = [] }) {
      const behind = `SELECT * FROM runs WHERE ($1::text IS NULL OR id < $1) AND id <> ALL($2) ORDER BY id DESC LIMIT $3`;
      return (await server.all(behind, after, without, atMost(limit))).map(decodeRun);
    },
    async "jobs.damagedRuns"() {
      const rows = await server.all("SELECT * FROM runs ORDER BY id DESC");
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
async function addJobs(sql: Sql, run: string, jobs: readonly NewJob[]): Promise<readonly boolean[]> {
  const row = await sql.get("SELECT * FROM runs WHERE id = $1 FOR UPDATE", run);
  if (!row) throw runNotFound(run);
  const [first, share] = [number(row, "first_rank"), number(row, "share")];
  const last = await sql.get("SELECT coalesce(max(n) + 1, 0) AS n FROM jobs WHERE run = $1", run);
  const ids = jobs.map(({ id }) => id);
  const there = await sql.all("SELECT id FROM jobs WHERE run = $1 AND id = ANY($2)", run, ids);
  const known = new Set(there.map((one) => text(one, "id")));
  let n = last ? number(last, "n") : 0;
  const added: boolean[] = [];
  for (const { id, session, input, context } of jobs) {
    added.push(!known.has(id));
    if (known.has(id)) continue;
    known.add(id);
    await sql.run(
      `INSERT INTO jobs (run, n, id, state, rank, changed_at, session, input, context)
        VALUES ($1, $2, $3, 'waiting', $4, ${NOW}, $5, $6, $7)`,
      ...[run, n, id, rankOf(first, n, share), session, bytesOfText(JSON.stringify(input)), context],
    );
    n += 1;
  }
  return added;
}

async function readRun(sql: Sql, id: string): Promise<RunRow> {
  const row = await sql.get("SELECT * FROM runs WHERE id = $1", id);
  if (!row) throw runNotFound(id);
  return decodeRun(row);
}

/** All of a job but its result, which may be large. */
const SHOWN = `run, n, id, state, why, rank, run_at, changed_at, ticket, fence, session, engine, attempts, lapses, answers,
  input, context, told, spent_usd, spent_tokens, spent_calls, begun_at, ended_at`;

function readingMethods(
  server: Server,
): Pick<
  JobMethods,
  "jobs.read" | "jobs.find" | "jobs.list" | "jobs.damaged" | "jobs.result" | "jobs.counts" | "jobs.due"
> {
  return {
    async "jobs.read"({ run, n }): Promise<JobOfRun | null> {
      const job = `SELECT ${SHOWN} FROM jobs WHERE run = $1 AND n = $2`;
      const [found, of] = await Promise.all([
        server.get(job, run, n),
        server.get("SELECT * FROM runs WHERE id = $1", run),
      ]);
      return found && of ? { job: decodeJob(found), run: decodeRun(of) } : null;
    },
    async "jobs.find"(run, id) {
      const row = await server.get(`SELECT ${SHOWN} FROM jobs WHERE run = $1 AND id = $2`, run, id);
      return row ? decodeJob(row) : null;
    },
    async "jobs.list"(run, { states = null, from, limit, without = [] }) {
      const listed = `SELECT ${SHOWN} FROM jobs WHERE run = $1 AND n >= $2 AND ($3::text[] IS NULL OR state = ANY($3))
        AND id <> ALL($4) ORDER BY n LIMIT $5`;
      return (await server.all(listed, run, from, states, without, atMost(limit))).map(decodeJob);
    },
    "jobs.damaged": (run) => damagedJobs(server, run),
    async "jobs.result"({ run, n }) {
      const row = await server.get("SELECT result FROM jobs WHERE run = $1 AND n = $2", run, n);
      if (!row || row.result === null) return null;
      const result = unpackText(row, "result");
      if (result === null) throw corrupt(`the result of job ${n} of run ${run} is damaged`);
      return result;
    },
    async "jobs.counts"(run, without = []): Promise<Counts> {
      const counted = "SELECT state, count(*) AS n FROM jobs WHERE run = $1 AND id <> ALL($2) GROUP BY state";
      const counts = countsIn(await server.all(counted, run, without));
      const holders = `SELECT count(DISTINCT l.holder) AS n FROM jobs j JOIN leases l ON l.session = j.session
        WHERE j.run = $1 AND j.state IN ('running', 'cancelling') AND l.until > clock_timestamp()`;
      const workers = await server.get(holders, run);
      return { ...counts, workers: workers ? number(workers, "n") : 0 };
    },
    "jobs.due": (page) => dueJobs(server, page),
  };
}

/** Jobs whose rows cannot be read. */
async function damagedJobs(sql: Sql, run: string): Promise<readonly DamagedRow[]> {
  const damaged: DamagedRow[] = [];
  for (let from = 0; ; ) {
    const rows = await sql.all(
      `SELECT ${SHOWN} FROM jobs WHERE run = $1 AND n >= $2 ORDER BY n LIMIT ${PAGE}`,
      run,
      from,
    );
    damaged.push(...damagedAmong(rows, decodeJob, (row) => ({ id: text(row, "id"), label: `job ${row.id}` })));
    const end = rows.at(-1);
    if (!end || rows.length < PAGE) return damaged;
    from = number(end, "n") + 1;
  }
}

async function dueJobs(sql: Sql, { queue, after, limit, overdueMs }: DuePage): Promise<readonly DueJob[]> {
  const rows = await sql.all(
    `(${dueIn("j.state IN ('waiting', 'running', 'cancelling')")})
      UNION ALL (${dueIn("j.state = 'parked' AND j.run_at IS NOT NULL")}) ORDER BY rank, run, n LIMIT $6`,
    ...[queue, overdueMs, after?.rank ?? null, after?.run ?? "", after?.n ?? -1, atMost(limit)],
  );
  return rows.map((row) => ({
    run: text(row, "run"),
    n: number(row, "n"),
    rank: number(row, "rank"),
    lapses: number(row, "lapses"),
    afterMs: number(row, "after_ms"),
  }));
}

/** Each part by an index of its own. */
const dueIn = (jobs: string) =>
  `SELECT j.run, j.n, j.rank, j.lapses, greatest(0, coalesce(j.run_at, 0) - ${NOW})::float8 AS after_ms
    FROM jobs j JOIN runs r ON r.id = j.run
    WHERE ${jobs} AND r.queue = $1 AND (r.state = 'open' OR j.state = 'cancelling')
      AND ($2 = 0 OR coalesce(j.run_at, j.changed_at) <= ${NOW} - $2)
      AND (j.state IN ('waiting', 'parked') OR NOT EXISTS (
        SELECT 1 FROM leases l WHERE l.session = j.session
          AND l.until > clock_timestamp() - $2 * interval '1 ms'))
      AND ($3::bigint IS NULL OR (j.rank, j.run, j.n) > ($3::bigint, $4, $5::bigint))
    ORDER BY j.rank, j.run, j.n LIMIT $6`;

/** Each change goes by the fence of the session's lease, of the job and, if the session is there, of the session itself. */
const UNDER_FENCE = `fence = $3 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = jobs.session AND s.fence > $3)`;

function tryMethods(
  server: Server,
  leases: Leases,
): Pick<JobMethods, "jobs.begin" | "jobs.finish" | "jobs.put" | "jobs.change" | "jobs.lapse"> {
  return {
    async "jobs.begin"({ run, n }, { ticket, fence, engine, lapses, answers }) {
      const row = await server.get(
        `WITH begun AS (UPDATE jobs SET state = CASE state WHEN 'cancelling' THEN state ELSE 'running' END, why = NULL,
          run_at = NULL, ticket = $4, fence = $3, engine = coalesce($5, engine), lapses = $6, answers = $7,
          begun_at = coalesce(begun_at, ${NOW}), changed_at = ${NOW}
          WHERE run = $1 AND n = $2 AND fence <= $3
            AND (state IN ('waiting', 'running', 'cancelling') OR (state = 'parked' AND run_at IS NOT NULL))
            AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = jobs.session AND s.fence > $3) RETURNING run, n)
          SELECT count(*) AS n, count(doubt_job(run, n)) FROM begun`,
        ...[run, n, fence, ticket, engine, lapses, answers],
      );
      return row?.n === 1;
    },
    async "jobs.finish"({ run, n }, fence, { state, result, told, dropsImages = false }) {
      const finish = async (sql: Pick<Sql, "get">) => {
        const row = await sql.get(
          `WITH ended AS (UPDATE jobs SET state = $4, why = NULL, result = $5, told = $6, ended_at = ${NOW}, changed_at = ${NOW}
          WHERE run = $1 AND n = $2 AND state IN ('running', 'cancelling') AND ${UNDER_FENCE} RETURNING run, n)
          SELECT count(*) AS n, count(doubt_job(run, n)) FROM ended`,
          ...[run, n, fence, state, result === null ? null : bytesOfText(result), bytesOfText(JSON.stringify(told))],
        );
        return row?.n === 1;
      };
      if (!dropsImages) return finish(server);
      return server.write(async (sql) => {
        const isFinished = await finish(sql);
        const job = isFinished ? await sql.get("SELECT session FROM jobs WHERE run = $1 AND n = $2", run, n) : null;
        if (job) await dropImages(sql, text(job, "session"));
        return isFinished;
      });
    },
    async "jobs.put"({ run, n }, fence, { state, why, afterMs, counts }) {
      const changed = await server.run(
        `UPDATE jobs SET state = CASE state WHEN 'cancelling' THEN state ELSE $4 END, why = $5,
          run_at = CASE WHEN $6 > 0 THEN ${NOW} + $6 END, attempts = attempts + $7, changed_at = ${NOW}
          WHERE run = $1 AND n = $2 AND state IN ('running', 'cancelling') AND ${UNDER_FENCE}`,
        ...[run, n, fence, state, why, afterMs, counts ? 1 : 0],
      );
      return changed === 1;
    },
    "jobs.change": (run, change) => server.write((sql) => changeRun(sql, run, change)),
    async "jobs.lapse"(run) {
      const running = await server.all(
        "SELECT n, session FROM jobs WHERE run = $1 AND state IN ('running', 'cancelling')",
        run,
      );
      const busy = await leases.busy(running.map((row) => text(row, "session")));
      const lapsed = running.filter((row) => !busy.has(text(row, "session"))).map((row) => number(row, "n"));
      return server.run(
        `UPDATE jobs SET lapses = lapses + 1, changed_at = ${NOW},
          state = CASE state WHEN 'cancelling' THEN state ELSE 'waiting' END WHERE run = $1 AND n = ANY($2::bigint[])`,
        ...[run, lapsed],
      );
    },
  };
}

async function changeRun(sql: Sql, run: string, change: Change): Promise<readonly Tried[]> {
  await readRun(sql, run);
  switch (change.to) {
    case "cancel":
      return cancel(sql, run, change.ids);
    case "retry":
      await retry(sql, run, change);
      return [];
    case "pause":
      await sql.run("UPDATE runs SET state = 'paused', why = $2 WHERE id = $1", run, change.why);
      return [];
    case "resume":
      await sql.run("UPDATE runs SET state = 'open', why = NULL WHERE id = $1", run);
      await sql.run(
        `UPDATE jobs SET state = 'waiting', why = NULL, run_at = NULL, changed_at = ${NOW}
          WHERE run = $1 AND state = 'parked'`,
        run,
      );
      return [];
  }
}

const CHOSEN = "run = $1 AND ($2::text[] IS NULL OR id = ANY($2))";

async function cancel(sql: Sql, run: string, ids: readonly string[] | null): Promise<readonly Tried[]> {
  await sql.run(
    `UPDATE jobs SET state = 'cancelled', why = NULL, run_at = NULL, ended_at = ${NOW}, changed_at = ${NOW}
      WHERE ${CHOSEN} AND state IN ('waiting', 'parked')`,
    ...[run, ids],
  );
  const running = await sql.all(
    `UPDATE jobs SET state = 'cancelling', changed_at = ${NOW} WHERE ${CHOSEN} AND state IN ('running', 'cancelling')
      RETURNING run, n, rank, ticket`,
    ...[run, ids],
  );
  return running.flatMap((row: Row) =>
    row.ticket === null
      ? []
      : [{ run: text(row, "run"), n: number(row, "n"), rank: number(row, "rank"), ticket: text(row, "ticket") }],
  );
}

type Retry = Extract<Change, { to: "retry" }>;

/** Gives each job an attempt of its own: a fresh session, and counts from 0. With `fresh` also those that were begun and wait. */
async function retry(sql: Sql, run: string, { ids, states, fresh }: Retry): Promise<void> {
  const again = await sql.all(
    `SELECT n FROM jobs WHERE ${CHOSEN} AND (state = ANY($3)
      OR ($4 AND state IN ('waiting', 'parked') AND begun_at IS NOT NULL)) FOR UPDATE`,
    ...[run, ids, states, fresh],
  );
  for (const row of again) {
    await sql.run(
      `UPDATE jobs SET state = 'waiting', why = NULL, run_at = NULL, ticket = NULL, fence = 0, session = $3, engine = NULL,
        attempts = 0, lapses = 0, answers = 0, result = NULL, told = NULL, begun_at = NULL, ended_at = NULL,
        changed_at = ${NOW} WHERE run = $1 AND n = $2`,
      ...[run, number(row, "n"), ulid()],
    );
  }
}

function moneyMethods(server: Server): Pick<JobMethods, "jobs.reserve" | "jobs.give" | "jobs.slot" | "jobs.hush"> {
  return {
    async "jobs.reserve"({ run, n, call, attempt, fence, amount }) {
      const row = await server.get(
        "SELECT reserve_amount($1, $2, $3, $4, $5, $6, $7, $8) AS answer",
        ...[run, n, call, attempt, fence, ...fieldsOfAmount(amount)],
      );
      const answer = row?.answer;
      if (answer === "held" || answer === "wait" || answer === "never") return answer;
      throw runNotFound(run);
    },
    async "jobs.give"({ run, n, call, attempt }, spent) {
      await server.run(
        "SELECT give_amount($1, $2, $3, $4, $5, $6, $7)",
        run,
        n,
        call,
        attempt,
        ...fieldsOfAmount(spent),
      );
    },
    async "jobs.slot"({ key, perMinute }, cost) {
      const wide = intervalOf(perMinute) * cost;
      const row = await server.get("SELECT take_slot($1, $2, $3) AS ms", key, wide, LIMITS.rateWaitMs);
      if (!row)
        throw new RlmError("store_failed", "the server gave no instant of a rate", { suggestion: "Try again." });
      return number(row, "ms");
    },
    async "jobs.hush"({ key }, ms) {
      await server.run(
        `INSERT INTO rates (key, tat) VALUES ($1, ${NOW} + $2)
          ON CONFLICT (key) DO UPDATE SET tat = greatest(rates.tat, excluded.tat)`,
        ...[key, ms],
      );
    },
  };
}
