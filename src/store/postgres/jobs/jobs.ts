import type { Counts, DueJob, DuePage } from "../../jobs/port.ts";
import { number, text } from "../../rows/seal.ts";
import { atMost, countStates } from "../../sql/jobs.ts";
import type { WireMethods } from "../../thread/methods.ts";
import { bytesOfText } from "../commit.ts";
import type { Server, Sql } from "../connection.ts";
import { NOW } from "../functions.ts";
import { dropImages } from "../gc.ts";
import type { Leases } from "../leases.ts";

export async function countJobs(sql: Sql, run: string, without?: readonly string[]): Promise<Counts> {
  const counts = await sql.perform(countStates(run, without));
  const holders = `SELECT count(DISTINCT l.holder) AS n FROM jobs j JOIN leases l ON l.session = j.session
    WHERE j.run = $1 AND j.state IN ('running', 'cancelling') AND l.until > clock_timestamp()`;
  const workers = await sql.get(holders, run);
  return { ...counts, workers: workers ? number(workers, "n") : 0 };
}

export async function dueJobs(sql: Sql, { queue, after, limit, overdueMs }: DuePage): Promise<readonly DueJob[]> {
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

export function tryMethods(
  server: Server,
  leases: Leases,
): Pick<WireMethods, "jobs.begin" | "jobs.finish" | "jobs.lapse"> {
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
