import { join } from "node:path";
import type { SQLInputValue } from "node:sqlite";
import { RlmError } from "../../../runtime/errors.ts";
import { messageOf } from "../../platform/errors.ts";
import { guarded, thrownBy } from "../failure.ts";
import type { VerifiedPage, VerifyPart } from "../port.ts";
import { baselineOf, shown } from "../rows/checkpoint.ts";
import { packPages } from "../rows/pages.ts";
import { type Row, text } from "../rows/seal.ts";
import { keepText, readAnswer } from "../sql/cache.ts";
import { checkpointsOf, hasCheckpoint, readCheckpoint, readImage } from "../sql/checkpoints.ts";
import { hasContext, insertContext, readContext, readIndex } from "../sql/contexts.ts";
import type { Holder } from "../sql/sessions.ts";
import { verify as verifyPart } from "../sql/verify.ts";
import type { Contents, SyncMethods, SyncStore } from "../thread/methods.ts";
import { insertCheckpoint } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import { gc } from "./gc.ts";
import { jobMethods } from "./jobs/index.ts";
import { type Leases, openFileLeases, openMemoryLeases } from "./lease.ts";
import { LOCKS_FOLDER, openDatabase } from "./open-database.ts";
import { type Access, sessionMethods } from "./session-methods.ts";
import { shippingMethods } from "./shipping.ts";

/**
 * Opens the store in a folder, which is made if it is missing; null: a store in memory.
 * @param contents the beginning of a store in memory
 * @throws RlmError `store_failed`, `store_corrupt`, `store_too_new`
 */
export function openSqliteStore(folder: string | null, holder: Holder, now = Date.now, contents?: Contents): SyncStore {
  const database = guarded(folder, () => openDatabase(folder));
  const leases = folder === null ? openMemoryLeases() : openFileLeases(join(folder, LOCKS_FOLDER));
  if (contents) fill(database, leases, contents);
  const access: Access = {
    database,
    leases,
    now,
    guard: (work) => guarded(folder, work),
    reading: (work) => guarded(folder, () => database.read(work)),
  };
  return {
    ...sessionMethods(access, holder),
    ...checkpointMethods(access),
    ...contextMethods(access),
    ...jobMethods(access, now),
    ...shippingMethods(access, now),
    gc: (rule) => access.guard(() => gc(database, leases, rule)),
    verify: (part, after) => access.reading(() => verify(database, leases, part, after)),
    contents: () => contentsOf(database, leases),
    together: (work) => access.guard(() => database.together(work)),
    [Symbol.dispose]() {
      leases[Symbol.dispose]();
      access.guard(() => database.close());
    },
  };
}

function checkpointMethods({ database, guard, reading }: Access) {
  return {
    checkpoints: (session) => reading(() => database.perform(checkpointsOf(session)).map(shown)),
    checkpoint: (id) => reading(() => shown(database.perform(readCheckpoint(id)))),
    image: (id) => reading(() => database.perform(readImage(id))),
    putBaseline: (id, meta, pages) =>
      guard(() => {
        if (database.perform(hasCheckpoint(id))) return;
        const packed = packPages(pages, meta.linearBytes);
        database.write(() => {
          if (!database.perform(hasCheckpoint(id))) insertCheckpoint(database, baselineOf(id, meta), packed);
        });
      }),
    hasBaseline: (id) => reading(() => database.perform(hasCheckpoint(id))),
  } satisfies Partial<SyncMethods>;
}

function contextMethods({ database, guard, reading }: Access) {
  return {
    putContext: (context) => guard(() => database.write(() => database.perform(insertContext(context)))),
    context: (hash) => reading(() => database.perform(readContext(hash))),
    contextIndex: (hash) => reading(() => database.perform(readIndex(hash))),
    hasContext: (hash) => reading(() => database.perform(hasContext(hash))),
    cached: (key) => reading(() => database.perform(readAnswer(key))),
    keepText: (hash, text, at) => guard(() => database.perform(keepText(hash, text, at))),
  } satisfies Partial<SyncMethods>;
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
    for (const [table, rows] of contents.tables) for (const row of rows) insert(table, Object.values(row));
  });
  contents.leases.forEach(leases.take);
}

/** Checks a page of a part. If the file itself is damaged, each part may be unreadable in its own way: it ends with that line. */
function verify(database: Database, leases: Leases, part: VerifyPart, after: string | null): VerifiedPage {
  const own = {
    busy: (session: Row) => leases.busy(text(session, "id")),
    file: () => integrity(database),
    messageOf: lineOf,
  };
  const findings: string[] = [];
  try {
    return { next: database.perform(verifyPart(part, after, own, findings)), findings };
  } catch (error) {
    return { next: null, findings: [...findings, lineOf(error)] };
  }
}

function integrity(database: Database): string[] {
  const lines = database.all("PRAGMA integrity_check").map((row) => text(row, "integrity_check"));
  return lines.filter((line) => line !== "ok").map((line) => `database: ${line}`);
}

function lineOf(error: unknown): string {
  return error instanceof RlmError ? error.message : `database: ${messageOf(thrownBy(error))}`;
}
