import type { Counts, DueJob, DuePage, JobOfRun } from "../../jobs/port.ts";
import type { DamagedRow } from "../../port.ts";
import { damagedAmong } from "../../rows/damaged.ts";
import { INPUT_COLUMNS, inputOf } from "../../rows/job-input.ts";
import {
  countsIn,
  decodeJob,
  decodeJobs,
  decodeRun,
  JOB_STATES,
  resultOf,
  SHOWN_JOB,
  SHOWN_RUN,
  WHOLE_JOB,
} from "../../rows/jobs.ts";
import { number, text } from "../../rows/seal.ts";
import type { WireMethods } from "../../thread/methods.ts";
import type { Server, Sql } from "../connection.ts";
import { atMost, NOW, PAGE } from "./sql.ts";

export function readingMethods(
  server: Server,
): Pick<
  WireMethods,
  "jobs.read" | "jobs.find" | "jobs.list" | "jobs.damaged" | "jobs.input" | "jobs.result" | "jobs.counts" | "jobs.due"
> {
  return {
    async "jobs.read"({ run, n }): Promise<JobOfRun | null> {
      const job = `SELECT ${SHOWN_JOB} FROM jobs WHERE run = $1 AND n = $2`;
      const [found, of] = await Promise.all([
        server.get(job, run, n),
        server.get(`SELECT ${SHOWN_RUN} FROM runs WHERE id = $1`, run),
      ]);
      return found && of ? { job: decodeJob(found), run: decodeRun(of) } : null;
    },
    async "jobs.find"(run, id) {
      const row = await server.get(`SELECT ${SHOWN_JOB} FROM jobs WHERE run = $1 AND id = $2`, run, id);
      return row ? decodeJob(row) : null;
    },
    async "jobs.list"(run, { states = null, among = null, from, limit, without = [] }) {
      const listed = `SELECT ${SHOWN_JOB} FROM jobs WHERE run = $1 AND n >= $2 AND id <> ALL($4)
        AND ($3::text[] IS NULL OR state = ANY($3) OR state <> ALL($6)) AND ($7::bigint[] IS NULL OR n = ANY($7))
        ORDER BY n LIMIT $5`;
      return decodeJobs(await server.all(listed, run, from, states, without, atMost(limit), JOB_STATES, among));
    },
    "jobs.damaged": (run) => damagedJobs(server, run),
    async "jobs.input"(key) {
      const row = await server.get(`SELECT ${INPUT_COLUMNS} FROM jobs WHERE run = $1 AND n = $2`, key.run, key.n);
      return inputOf(row, key);
    },
    async "jobs.result"({ run, n }) {
      const row = await server.get(`SELECT ${WHOLE_JOB} FROM jobs WHERE run = $1 AND n = $2`, run, n);
      return row ? resultOf(row) : null;
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
      `SELECT ${SHOWN_JOB} FROM jobs WHERE run = $1 AND n >= $2 ORDER BY n LIMIT ${PAGE}`,
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
