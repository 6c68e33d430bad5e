import { RlmError } from "../../../runtime/errors.ts";
import { LIMITS } from "../../../runtime/index.ts";
import type { DueJob, DuePage, Held } from "../job-store.ts";
import type { Methods } from "../methods.ts";
import { intervalOf } from "../rows/amounts.ts";
import { fieldsOfAmount } from "../rows/jobs.ts";
import { columnsOf, numberColumn, textColumn } from "../rows/row.ts";
import { atMost, checkHeld, runNotFound } from "../sql/runs.ts";
import type { Server, Sql } from "./connection.ts";
import { NOW } from "./functions.ts";

export async function dueJobs(sql: Sql, { queue, after, limit, overdueMs }: DuePage): Promise<readonly DueJob[]> {
  const rows = await sql.all(
    `(${dueIn("j.state IN ('waiting', 'running', 'cancelling')")})
      UNION ALL (${dueIn(PARKED)}) ORDER BY rank, run, n LIMIT $6`,
    ...[queue, overdueMs, after?.rank ?? null, after?.run ?? "", after?.n ?? -1, atMost(limit)],
  );
  const due = { run: textColumn, n: numberColumn, rank: numberColumn, lapses: numberColumn };
  return rows.map((row) => ({ ...columnsOf(row, due), afterMs: numberColumn(row, "after_ms") }));
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

const HELD: readonly Held[] = ["held", "wait", "nanodollars", "tokens", "sub_calls"];

export function moneyMethods(server: Server) {
  return {
    async "jobs.reserve"({ run, n, call, attempt, fence, amount }) {
      const row = await server.get(
        "SELECT reserve_amount($1, $2, $3, $4, $5, $6, $7, $8) AS answer",
        ...[run, n, call, attempt, fence, ...fieldsOfAmount(amount)],
      );
      const answer = HELD.find((known) => known === row?.answer);
      if (answer === "wait") await server.perform(checkHeld(run));
      if (answer) return answer;
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
      return numberColumn(row, "ms");
    },
    async "jobs.hush"({ key }, ms) {
      await server.run(
        `INSERT INTO rates (key, tat) VALUES ($1, ${NOW} + $2)
          ON CONFLICT (key) DO UPDATE SET tat = greatest(rates.tat, excluded.tat)`,
        ...[key, ms],
      );
    },
  } satisfies Partial<Methods>;
}
