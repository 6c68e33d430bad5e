import type { DueJob, DuePage } from "../../jobs/port.ts";
import { columnsOf, number, text } from "../../rows/seal.ts";
import { atMost } from "../../sql/jobs.ts";
import type { Sql } from "../connection.ts";
import { NOW } from "../functions.ts";

export async function dueJobs(sql: Sql, { queue, after, limit, overdueMs }: DuePage): Promise<readonly DueJob[]> {
  const rows = await sql.all(
    `(${dueIn("j.state IN ('waiting', 'running', 'cancelling')")})
      UNION ALL (${dueIn(PARKED)}) ORDER BY rank, run, n LIMIT $6`,
    ...[queue, overdueMs, after?.rank ?? null, after?.run ?? "", after?.n ?? -1, atMost(limit)],
  );
  const due = { run: text, n: number, rank: number, lapses: number };
  return rows.map((row) => ({ ...columnsOf(row, due), afterMs: number(row, "after_ms") }));
}

const PARKED = `j.state = 'parked' AND j.run_at IS NOT NULL AND (j.why IS DISTINCT FROM 'held' OR j.run_at <= ${NOW})`;

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
