import { RlmError } from "../../../runtime/errors.ts";
import { number, text } from "../rows/seal.ts";
import type { Own } from "../sql/planned.ts";
import { get, oneOf, raw, run, sql } from "../sql/sql.ts";
import { NOW } from "./functions.ts";
import type { Leases } from "./leases.ts";

/** The side of a server in plans, whose instants are those of its clock. It checks its files by itself. */
export function ownOf(leases: Pick<Leases, "holds">): Own {
  return {
    now: raw(NOW),
    busy: (session) => session.busy === 1 || leases.holds(text(session, "id")),
    *dropLeases(sessions) {
      yield* run(sql`DELETE FROM leases WHERE session ${oneOf(sessions)}`);
    },
    *workers(run) {
      const row = yield* get(sql`SELECT count(DISTINCT l.holder) AS n FROM jobs j JOIN leases l ON l.session = j.session
        WHERE j.run = ${run} AND j.state IN ('running', 'cancelling') AND l.until > clock_timestamp()`);
      return row ? number(row, "n") : 0;
    },
    holding: (account, fence) => sql`SELECT 1 AS n FROM accounts WHERE id = ${account} AND fence = ${fence} FOR SHARE`,
    *doubting(update, _job, isOver) {
      const row = yield* get(sql`WITH changed AS (${update} RETURNING run, n)
        SELECT count(*) AS n, count(doubt_job(run, n, ${raw(String(isOver))})) FROM changed`);
      return row?.n === 1;
    },
    *dropUnneeded(checkpoint) {
      yield* get(sql`SELECT drop_unneeded(${checkpoint})::text AS gone`);
    },
    file: () => [],
    // What the server fails at is not a finding.
    messageOf(error) {
      if (error instanceof RlmError) return error.message;
      throw error;
    },
  };
}
