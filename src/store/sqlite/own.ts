import { RlmError } from "../../../runtime/errors.ts";
import { messageOf } from "../../platform/errors.ts";
import { thrownBy } from "../failure.ts";
import type { JobKey } from "../jobs/port.ts";
import { leaseOfAccount } from "../rows/batch.ts";
import { sealOfJob } from "../rows/job-seal.ts";
import { text } from "../rows/seal.ts";
import type { Own } from "../sql/planned.ts";
import { all, run as change, get, type Plan, type Statement, sql } from "../sql/sql.ts";
import { dropUnneeded } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { doubt } from "./jobs/money.ts";
import type { Leases } from "./lease.ts";

/** The side of a file in plans, at an instant. The lease of an account is a lock, as that of a session is: its fence is 0. */
export function ownAt(now: number, database: Database, leases: Leases): Own {
  const busy: Own["busy"] = (session) => leases.busy(text(session, "id"));
  return {
    now,
    busy,
    *workers(run) {
      const running = yield* all(sql`SELECT s.id, s.pid, s.host FROM jobs j JOIN sessions s ON s.id = j.session
        WHERE j.run = ${run} AND j.state IN ('running', 'cancelling')`);
      return new Set(running.filter(busy).map(({ pid, host }) => `${pid} ${host}`)).size;
    },
    holding: (account, fence) =>
      sql`SELECT 1 AS n WHERE ${fence === 0 && leases.holds(leaseOfAccount(account)) ? 1 : 0} = 1`,
    doubting,
    dropUnneeded,
    seal,
    file: () => integrity(database),
    messageOf: lineOf,
  };
}

function* doubting(update: Statement, job: JobKey, isOver: boolean): Plan<boolean> {
  if ((yield* change(update)) === 0) return false;
  yield* doubt(job, isOver);
  return true;
}

function* seal({ run, n }: JobKey): Plan<void> {
  const row = yield* get(sql`SELECT * FROM jobs WHERE run = ${run} AND n = ${n}`);
  if (row) yield* change(sql`UPDATE jobs SET sha256 = ${sealOfJob(row)} WHERE run = ${run} AND n = ${n}`);
}

function integrity(database: Database): string[] {
  const lines = database.all("PRAGMA integrity_check").map((row) => text(row, "integrity_check"));
  return lines.filter((line) => line !== "ok").map((line) => `database: ${line}`);
}

function lineOf(error: unknown): string {
  return error instanceof RlmError ? error.message : `database: ${messageOf(thrownBy(error))}`;
}
