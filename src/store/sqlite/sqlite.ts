import { join } from "node:path";
import type { SQLInputValue } from "node:sqlite";
import { guarded } from "../failure.ts";
import { leaseOfAccount } from "../rows/batch.ts";
import { baselineOf } from "../rows/checkpoint.ts";
import { packPages } from "../rows/pages.ts";
import { text } from "../rows/seal.ts";
import { hasCheckpoint } from "../sql/checkpoints.ts";
import { type Own, planned } from "../sql/planned.ts";
import type { Holder } from "../sql/sessions.ts";
import type { Plan } from "../sql/sql.ts";
import type { Contents, SyncMethods, SyncStore } from "../thread/methods.ts";
import { insertCheckpoint } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { gc } from "./gc.ts";
import { dueJobs } from "./jobs/jobs.ts";
import { give, hush, reserve, slot } from "./jobs/money.ts";
import { type Leases, openLeases } from "./lease.ts";
import { LOCKS_FOLDER, openDatabase } from "./open-database.ts";
import { ownAt } from "./own.ts";
import { sessionMethods } from "./session-methods.ts";

/**
 * Opens the store in a folder, which is made if it is missing; null: a store in memory.
 * @param contents the beginning of a store in memory
 * @throws RlmError `store_failed`, `store_corrupt`, `store_too_new`
 */
export function openSqliteStore(folder: string | null, holder: Holder, now = Date.now, contents?: Contents): SyncStore {
  const database = guarded(folder, () => openDatabase(folder));
  const leases = openLeases(folder === null ? null : join(folder, LOCKS_FOLDER));
  if (contents) fill(database, leases, contents);
  const own = () => ownAt(now(), database, leases);
  const perform = <T>(plan: (own: Own) => Plan<T>) => database.perform(plan(own()));
  const reads = <T>(plan: (own: Own) => Plan<T>) => database.read(() => perform(plan));
  const changes = <T>(plan: (own: Own) => Plan<T>) => database.write(() => perform(plan));
  const methods: SyncMethods = {
    ...planned<"at once">({ looks: reads, reads, changes }),
    ...sessionMethods(database, leases, own, holder),
    putBaseline(id, meta, pages) {
      if (database.perform(hasCheckpoint(id))) return;
      const packed = packPages(pages, meta.linearBytes);
      database.write(() => {
        if (!database.perform(hasCheckpoint(id))) insertCheckpoint(database, baselineOf(id, meta), packed);
      });
    },
    gc: (rule) => gc(database, leases, rule),
    "jobs.due": (page) => database.read(() => dueJobs(database, leases, page, now())),
    "jobs.reserve": (hold) => changes(() => reserve(hold)),
    "jobs.give": (hold, spent) => changes(() => give(hold, spent)),
    "jobs.slot": (rate, cost) => changes(() => slot(rate, cost, now())),
    "jobs.hush": (rate, ms) => changes(() => hush(rate, ms, now())),
    "batches.lease": (account) => (leases.take(leaseOfAccount(account)) ? 0 : null),
    "batches.release": (account) => leases.drop(leaseOfAccount(account)),
  };
  return {
    ...guardedMethods(folder, methods),
    contents: () => contentsOf(database, leases),
    together: (work) => guarded(folder, () => database.together(work)),
    [Symbol.dispose]() {
      leases[Symbol.dispose]();
      guarded(folder, () => database.close());
    },
  };
}

/** The methods, out of which errors of SQLite and the file system come as `RlmError`. */
function guardedMethods(folder: string | null, methods: SyncMethods): SyncMethods;
function guardedMethods(
  folder: string | null,
  methods: Readonly<Record<string, (...args: never[]) => unknown>>,
): object {
  const guard =
    (method: (...args: never[]) => unknown) =>
    (...args: never[]) =>
      guarded(folder, () => method(...args));
  return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, guard(method)]));
}

function contentsOf(database: Database, leases: Leases): Contents {
  // In the order in which they were made: rows come after those that they refer to.
  const tables = database.all("SELECT name FROM sqlite_schema WHERE type = 'table'").map((row) => text(row, "name"));
  return { tables: tables.map((name) => [name, database.all(`SELECT * FROM ${name}`)]), leases: leases.held() };
}

function fill(database: Database, leases: Leases, contents: Contents): void {
  const insert = (table: string, values: readonly SQLInputValue[]) =>
    database.run(`INSERT INTO ${table} VALUES (${values.map(() => "?")})`, ...values);
  database.write(() => {
    for (const [table, rows] of contents.tables)
      for (const row of rows) insert(table, Object.values(row).map(asWritten));
  });
  contents.leases.forEach(leases.take);
}

/** Node 22 reads an empty blob as bytes without memory, and would write them as NULL. */
const asWritten = (value: SQLInputValue) => (value instanceof Uint8Array && value.length === 0 ? EMPTY : value);
const EMPTY = Buffer.alloc(1).subarray(1);
