import { statSync } from "node:fs";
import { join } from "node:path";
import { RlmError } from "../../../runtime/errors.ts";
import { remedy } from "../../../runtime/remedies.ts";
import { messageOf } from "../../platform/errors.ts";
import { DATABASE_FILE } from "../../platform/home.ts";
import { displayName } from "../../platform/ids.ts";
import { misuse, storeError, thrownBy } from "../failure.ts";
import type { JobKey } from "../job-store.ts";
import { type Methods, wrapEach } from "../methods.ts";
import type { Texts } from "../port.ts";
import { leaseOfAccount } from "../rows/batch.ts";
import { baselineOf } from "../rows/checkpoint.ts";
import { sealOfJob } from "../rows/jobs.ts";
import { type Row, textColumn } from "../rows/row.ts";
import type { Session } from "../rows/session.ts";
import { hasCheckpoint, packInTurns } from "../sql/checkpoints.ts";
import type { Dialect } from "../sql/dialect.ts";
import { removeSession } from "../sql/gc.ts";
import { planned } from "../sql/planned.ts";
import {
  createSession,
  type Holder,
  labelOf,
  madeSession,
  noteHolder,
  readSession,
  shownSession,
} from "../sql/sessions.ts";
import { all, run as change, get, type Plan, raw, type Statement, sql } from "../sql/sql.ts";
import { thin } from "../sql/thin.ts";
import { begin } from "../sql/tries.ts";
import { verifyPage } from "../sql/verify.ts";
import { commit, dropUnneeded, insertCheckpoint } from "./commit.ts";
import type { Database } from "./database.ts";
import { gc, giveBack, type Swept, sweepOf } from "./gc.ts";
import { dueJobs, markDoubtful, releaseHold, reserve, silenceRate, takeRateSlot } from "./jobs.ts";
import { type Leases, openLeases } from "./leases.ts";
import { openPragmaThread } from "./log.ts";
import { LOCKS_FOLDER, openDatabase } from "./open-database.ts";
import { openOwnTexts, openTextsIn } from "./texts.ts";

/**
 * A store in a file or in memory. One method at a time may be at work: `serveFile` sees to that.
 */
interface SqliteStore {
  readonly methods: Methods;
  readonly database: Database;
  readonly texts: Texts;
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
  const texts = folder === null ? openOwnTexts() : openTextsIn(folder, join(folder, LOCKS_FOLDER));
  const own = () => sqliteDialect(now(), leases, texts.port.folder);
  const looks = <T>(plan: (own: Dialect) => Plan<T>) => database.perform(plan(own()));
  const reads = <T>(plan: (own: Dialect) => Plan<T>) => database.read(() => looks(plan));
  const changes = <T>(plan: (own: Dialect) => Plan<T>) => database.write(() => looks(plan));
  const isBusy = (session: string) => leases.busy(session);
  const methods: Methods = {
    ...planned({ looks, reads, changes }),
    ...sessionMethods({ database, leases, texts }, own, holder),
    async putBaseline(id, meta, pages) {
      if (await database.perform(hasCheckpoint(id))) return;
      const packed = await database.perform(packInTurns(pages, meta.linearBytes));
      await changes(function* () {
        if (!(yield* hasCheckpoint(id))) yield* insertCheckpoint(baselineOf(id, meta), packed);
      });
    },
    async sweepTexts() {
      using files = await sweepOf({ database, texts });
      await database.write(() => database.perform(files.drop()));
      files.removeFiles();
    },
    gc: (rule) => gc({ database, leases, texts }, rule),
    async verify(part, after) {
      const isLong =
        part === "file" && folder !== null && statSync(join(folder, DATABASE_FILE)).size > MOST_CHECKED_HERE;
      if (!isLong) return reads((own) => verifyPage(part, after, own));
      const thread = openPragmaThread(join(folder, DATABASE_FILE));
      const rows = await thread.run("integrity_check").catch(lineOf).finally(thread.end);
      return { findings: typeof rows === "string" ? [rows] : findingsOf(rows), next: null };
    },
    "jobs.due": (page) => reads(() => dueJobs(page, now(), isBusy)),
    "jobs.reserve": (hold) => changes(() => reserve(hold)),
    "jobs.give": (hold, spent) => database.write(() => database.perform(releaseHold(hold, spent)), undefined, true),
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
    texts: texts.port,
    async close() {
      texts[Symbol.dispose]();
      leases[Symbol.dispose]();
      await database.close();
    },
  };
}

/**
 * A file's side of plans, at an instant. The lease of an account is a lock, as that of a session
 * is: its fence is 0.
 */
function sqliteDialect(now: number, leases: Leases, texts: string): Dialect {
  const busy: Dialect["busy"] = (session) => leases.busy(textColumn(session, "id"));
  return {
    now,
    texts,
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

/**
 * The methods of sessions that take leases or need them.
 * @param own the side of the file in plans that begin now
 */
function sessionMethods({ database, leases, texts }: Swept, own: () => Dialect, holder: Holder) {
  /** The rows of sessions that were made here, or committed to since their leases were taken. */
  const known = new Map<string, Session>();
  const leased = async (id: string) => ({ ...(await database.perform(shownSession(id, own()))), fence: 0 });
  const checkHeld = (id: string) => {
    if (!leases.holds(id)) throw misuse(`session ${id} is written to without its lease`);
  };
  return {
    async create(session) {
      let taken = false;
      const work = async () => {
        const made = await database.perform(createSession(session, holder));
        taken = leases.take(session.id);
        if (!taken) throw misuse(`the lock of session ${session.id}, which is new, is held`);
        const { begins } = session;
        const begun = begins && (await database.perform(begin(begins, { ...begins, fence: 0 }, own())));
        const row = await database.perform(madeSession(made, holder, own()));
        known.set(made.id, made);
        return { ...row, fence: 0, ...(begun === undefined ? {} : { begun }) };
      };
      const undone = () => {
        known.delete(session.id);
        if (taken) leases.forget(session.id);
      };
      return database.write(work, undone, session.begins !== undefined);
    },
    async lease(id) {
      await takeLease(database, leases, id);
      try {
        await database.write(async () => {
          await database.perform(readSession(id));
          await database.perform(noteHolder(id, holder));
        });
      } catch (error) {
        leases.drop(id);
        throw error;
      }
      return database.read(() => leased(id));
    },
    async release(id) {
      known.delete(id);
      leases.drop(id);
    },
    async commit(session, step) {
      checkHeld(session);
      return commit(database, session, step, known);
    },
    async thin(session, ends) {
      checkHeld(session);
      known.delete(session);
      return (await database.write(() => database.perform(thin(session, ends, own())))).more;
    },
    async remove(id, options = {}) {
      const isHeld = leases.holds(id);
      if (!isHeld) await takeLease(database, leases, id);
      try {
        using files = await sweepOf({ database, texts });
        const gone = await database.write(async () => {
          const family = await database.perform(removeSession(id, options, own()));
          await database.perform(files.drop());
          return family;
        });
        const { bytes } = files.removeFiles();
        await giveBack(database);
        for (const one of gone) {
          known.delete(one);
          leases.forget(one);
        }
        return { text_bytes: bytes, texts_in_use: files.isInUse };
      } catch (error) {
        if (!isHeld) leases.drop(id);
        throw error;
      }
    },
  } satisfies Partial<Methods>;
}

/** @throws RlmError `session_not_found`, `session_busy` */
async function takeLease(database: Database, leases: Leases, id: string): Promise<void> {
  const { holder, ...label } = await database.perform(labelOf(id));
  if (leases.take(id)) return;
  const who = holder ? `process ${holder.pid} on ${holder.host}` : "another process";
  const suggestion = `Wait until it is done, or ${remedy("fork")}.`;
  throw new RlmError("session_busy", `session ${displayName(label)} is held by ${who}`, { suggestion });
}
