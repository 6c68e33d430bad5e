import { ulid } from "ulid";
import type { Change, NewJob, Tried } from "../../jobs/port.ts";
import { sumOfAsked } from "../../rows/job-input.ts";
import { triedOf } from "../../rows/jobs.ts";
import { number, text } from "../../rows/seal.ts";
import type { WireMethods } from "../../thread/methods.ts";
import { bytesOfText } from "../commit.ts";
import type { Server, Sql } from "../connection.ts";
import { dropImages } from "../gc.ts";
import type { Leases } from "../leases.ts";
import { readRun } from "./runs.ts";
import { NOW } from "./sql.ts";

/** Each change goes by the fence of the session's lease, of the job and, if the session is there, of the session itself. */
const UNDER_FENCE = `fence = $3 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = jobs.session AND s.fence > $3)`;

export function tryMethods(
  server: Server,
  leases: Leases,
): Pick<WireMethods, "jobs.begin" | "jobs.finish" | "jobs.put" | "jobs.change" | "jobs.replace" | "jobs.lapse"> {
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
    "jobs.replace": (run, jobs) => server.write((sql) => replace(sql, run, jobs)),
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
  return running.flatMap(triedOf);
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
    await sql.run(`UPDATE jobs SET ${ANEW} WHERE run = $1 AND n = $2`, run, number(row, "n"), ulid());
  }
}

const ANEW = `state = 'waiting', why = NULL, run_at = NULL, ticket = NULL, fence = 0, session = $3, engine = NULL,
  attempts = 0, lapses = 0, answers = 0, result = NULL, told = NULL, begun_at = NULL, ended_at = NULL, changed_at = ${NOW}`;

/** Jobs that nobody tries wait for what is asked of them now. Answers how many they are. */
async function replace(sql: Sql, run: string, jobs: readonly NewJob[]): Promise<number> {
  let replaced = 0;
  for (const job of jobs) {
    replaced += await sql.run(
      `UPDATE jobs SET ${ANEW}, input = $4, context = $5, asked = $6
        WHERE run = $1 AND id = $2 AND state NOT IN ('running', 'cancelling')`,
      ...[run, job.id, job.session, bytesOfText(JSON.stringify(job.input)), job.context, sumOfAsked(run, job)],
    );
  }
  return replaced;
}
