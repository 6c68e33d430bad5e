import { statSync } from "node:fs";
import { join } from "node:path";
import { RlmError } from "../../../runtime/errors.ts";
import { messageOf } from "../../platform/errors.ts";
import { DATABASE_FILE } from "../../platform/home.ts";
import { storeError, thrownBy } from "../failure.ts";
import type { JobKey } from "../jobs/port.ts";
import { type Methods, wrapEach } from "../methods.ts";
import { leaseOfAccount } from "../rows/batch.ts";
import { baselineOf } from "../rows/checkpoint.ts";
import { sealOfJob } from "../rows/job-seal.ts";
import { type Row, textColumn } from "../rows/seal.ts";
import { hasCheckpoint, packInTurns } from "../sql/checkpoints.ts";
import { type Dialect, planned } from "../sql/planned.ts";
import type { Holder } from "../sql/sessions.ts";
import { all, run as change, get, type Plan, raw, type Statement, sql } from "../sql/sql.ts";
import { verifyPage } from "../sql/verify.ts";
import { dropUnneeded, insertCheckpoint } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { gc } from "./gc.ts";
import { dueJobs, markDoubtful, releaseHold, reserve, silenceRate, takeRateSlot } from "./jobs.ts";
import { type Leases, openLeases } from "./lease.ts";
import { LOCKS_FOLDER, openDatabase } from "./open-database.ts";
import { pragmaApart } from "./pragma-apart.ts";
import { sessionMethods } from "./session-methods.ts";

/** A store in a file or in memory. One method at a time may be at work: `serveFile` sees to that. */
export interface SqliteStore {
  readonly methods: Methods;
  readonly database: Database;
  close(): Promise<void>;
}

/**
 * Opens the store in a folder, which is made if it is missing; null: a store in memory.
 * @throws RlmError `store_failed`, `store_corrupt`, `store_too_new`
 */
export function openSqliteStore(folder: string | null, holder: Holder, now = Date.now): SqliteStore {
  try {
    return openedStore(folder, holder, now);
  } catch (error) {
    throw storeError(error, folder);
  }
}

function openedStore(folder: string | null, holder: Holder, now: () => number): SqliteStore {
  const database = openDatabase(folder);
  const leases = openLeases(folder === null ? null : join(folder, LOCKS_FOLDER));
  const own = () => sqliteDialect(now(), leases);
  const looks = <T>(plan: (own: Dialect) => Plan<T>) => database.perform(plan(own()));
  const reads = <T>(plan: (own: Dialect) => Plan<T>) => database.read(() => looks(plan));
  const changes = <T>(plan: (own: Dialect) => Plan<T>) => database.write(() => looks(plan));
  const isBusy = (session: string) => leases.busy(session);
  const methods: Methods = {
    ...planned({ looks: reads, reads, changes }),
    ...sessionMethods(database, leases, own, holder),
    async putBaseline(id, meta, pages) {
      if (await database.perform(hasCheckpoint(id))) return;
      const packed = await database.perform(packInTurns(pages, meta.linearBytes));
      await changes(function* () {
        if (!(yield* hasCheckpoint(id))) yield* insertCheckpoint(baselineOf(id, meta), packed);
      });
    },
    gc: (rule) => gc(database, leases, rule),
    async verify(part, after) {
      const isLong =
        part === "file" && folder !== null && statSync(join(folder, DATABASE_FILE)).size > MOST_CHECKED_HERE;
      if (!isLong) return reads((own) => verifyPage(part, after, own));
      const rows = await pragmaApart(join(folder, DATABASE_FILE), "integrity_check").catch(lineOf);
      return { findings: typeof rows === "string" ? [rows] : findingsOf(rows), next: null };
    },
    "jobs.due": (page) => reads(() => dueJobs(page, now(), isBusy)),
    "jobs.reserve": (hold) => changes(() => reserve(hold)),
    "jobs.give": (hold, spent) => changes(() => releaseHold(hold, spent)),
    "jobs.slot": (rate, cost) => changes(() => takeRateSlot(rate, cost, now())),
    "jobs.hush": (rate, ms) => changes(() => silenceRate(rate, ms, now())),
    "batches.lease": async (account) => (leases.take(leaseOfAccount(account)) ? 0 : null),
    "batches.release": async (account) => leases.drop(leaseOfAccount(account)),
  };
  const fail = (error: unknown): never => {
    throw storeError(error, folder);
  };
  return {
    methods: wrapEach(
      methods,
      (method) =>
        (...args) =>
          method(...args).catch(fail),
    ),
    database,
    async close() {
      leases[Symbol.dispose]();
      await database.close();
    },
  };
}

/** A file's side of plans, at an instant. The lease of an account is a lock, as that of a session is: its fence is 0. */
function sqliteDialect(now: number, leases: Leases): Dialect {
  const busy: Dialect["busy"] = (session) => leases.busy(textColumn(session, "id"));
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
    seal: sealJob,
    file: integrity,
    messageOf: lineOf,
  };
}

function* doubting(update: Statement, job: JobKey, isOver: boolean): Plan<boolean> {
  if ((yield* change(update)) === 0) return false;
  yield* markDoubtful(job, isOver);
  return true;
}

function* sealJob({ run, n }: JobKey): Plan<void> {
  const row = yield* get(sql`SELECT * FROM jobs WHERE run = ${run} AND n = ${n}`);
  if (row) yield* change(sql`UPDATE jobs SET sha256 = ${sealOfJob(row)} WHERE run = ${run} AND n = ${n}`);
}

/** Bytes of a database that are checked so fast that a thread is not worth it. */
const MOST_CHECKED_HERE = 32 * 2 ** 20;

function* integrity(): Plan<readonly string[]> {
  return findingsOf(yield* all(raw("PRAGMA integrity_check")));
}

function findingsOf(rows: readonly Row[]): readonly string[] {
  const lines = rows.map((row) => textColumn(row, "integrity_check"));
  return lines.filter((line) => line !== "ok").map((line) => `database: ${line}`);
}

function lineOf(error: unknown): string {
  return error instanceof RlmError ? error.message : `database: ${messageOf(thrownBy(error))}`;
}
