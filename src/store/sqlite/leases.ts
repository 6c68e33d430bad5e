import { chmodSync, existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { RlmError } from "../../../runtime/errors.ts";
import { isBusy } from "../failure.ts";
import { checkSessionId } from "../rows/session.ts";

/** Leases of sessions, and of accounts of providers, that this store has or looks at. */
export interface Leases extends Disposable {
  /** Takes the session's lease. false: another store has it, or this one already had it. */
  take(session: string): boolean;
  drop(session: string): void;
  /** True if this store has it. */
  holds(session: string): boolean;
  /** True if anybody has it. */
  busy(session: string): boolean;
  /** Drops the lease of a session that was removed, with its lock file. */
  forget(session: string): void;
}

/**
 * Leases as exclusive SQLite locks on files of their own, which go with them: the kernel frees them
 * with the process, however it ends, and then the file stays until the next one has had the lease.
 * The file of a lock is never opened by other means, since closing it would free the locks of this
 * process.
 * @param folder null: no other process sees the store, and there are no files
 */
export function openLeases(folder: string | null): Leases {
  const locks = folder === null ? null : openFileLocks();
  const held = new Map<string, Lock>();
  function fileOf(session: string): string {
    checkSessionId(session);
    return join(folder ?? "", `${session}.db`);
  }
  function drop(session: string): void {
    // Its file goes with it: a run of many jobs would leave as many files.
    held.get(session)?.remove();
    held.delete(session);
  }
  return {
    take(session) {
      if (held.has(session)) return false;
      const lock = locks ? locks.take(fileOf(session), LOOK_MS) : { remove() {} };
      if (lock === null) return false;
      held.set(session, lock);
      return true;
    },
    drop,
    holds: (session) => held.has(session),
    busy: (session) => held.has(session) || (locks !== null && isLocked(fileOf(session))),
    forget(session) {
      if (held.has(session)) drop(session);
      else if (locks) rmSync(fileOf(session), { force: true });
    },
    [Symbol.dispose](): void {
      for (const session of [...held.keys()]) drop(session);
      locks?.[Symbol.dispose]();
    },
  };
}

/** Runs work while no other process runs such work on this file. */
export function alone<T>(path: string, work: () => T): T {
  using locks = openFileLocks();
  const lock = locks.take(path, ALONE_MS);
  if (lock === null) {
    const suggestion = "If no other process is at work there, remove the lock file.";
    throw new RlmError("store_failed", `${path} has been locked for ${ALONE_MS / 1000} s`, { suggestion });
  }
  return work();
}

/**
 * A process that asks whether a lock is held shares it for an instant; that must not look like a
 * holder.
 */
const LOOK_MS = 100;
const ALONE_MS = 10_000;

interface Lock {
  /** Ends the lock, and its file with it. */
  remove(): void;
}

/** A connection with the names under which it has attached no file. */
interface Connection {
  readonly database: DatabaseSync;
  readonly free: string[];
}

/**
 * SQLite attaches at most ten files to a connection. A connection for each file takes 155 KB, a
 * file attached with pages of 4096 bytes 100 KB, one with pages of 512 bytes 19 KB. No page is ever
 * written.
 */
const FILES_OF_A_CONNECTION = ["f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9"];

/** Exclusive locks on files, until they are disposed of. */
export function openFileLocks() {
  const connections = new Set<Connection>();

  function connectionWithRoom(): Connection {
    for (const connection of connections) if (connection.free.length > 0) return connection;
    const connection = { database: new DatabaseSync(":memory:"), free: [...FILES_OF_A_CONNECTION] };
    connections.add(connection);
    return connection;
  }

  function giveBack(connection: Connection, name: string): void {
    connection.free.push(name);
    if (connection.free.length < FILES_OF_A_CONNECTION.length) return;
    connections.delete(connection);
    connection.database.close();
  }

  /**
   * `gone`: the file was removed while its lock was waited for, and others lock a new one of its
   * name.
   */
  function takeOnce(path: string, waitMs: number): Lock | "busy" | "gone" {
    createPrivately(path);
    const before = identityOf(path);
    const connection = connectionWithRoom();
    const name = connection.free.pop() ?? "";
    const { database } = connection;
    let isHeld = false;
    try {
      isHeld = lockFile(database, name, path, waitMs);
    } finally {
      if (!isHeld) giveBack(connection, name);
    }
    if (!isHeld) return "busy";
    if (before !== null && identityOf(path) === before) return { remove };
    detach();
    return "gone";

    function remove(): void {
      try {
        if (identityOf(path) === before) rmSync(path, { force: true });
      } catch {
        // Some systems do not remove an open file: it stays, unlocked.
      }
      detach();
    }

    function detach(): void {
      database.exec(`DETACH ${name}`);
      giveBack(connection, name);
    }
  }

  return {
    /** null if the lock cannot be had within `waitMs`. */
    take(path: string, waitMs: number): Lock | null {
      for (;;) {
        const taken = takeOnce(path, waitMs);
        if (taken === "gone") continue;
        return taken === "busy" ? null : taken;
      }
    },
    [Symbol.dispose](): void {
      for (const { database } of connections) database.close();
      connections.clear();
    },
  };
}

/**
 * Attaches the file and locks it until it is detached. false: another process has the lock, and
 * nothing is attached.
 */
function lockFile(database: DatabaseSync, name: string, path: string, waitMs: number): boolean {
  database.exec(`PRAGMA busy_timeout = ${waitMs}`);
  let isAttached = false;
  try {
    database.prepare(`ATTACH ? AS ${name}`).run(path);
    isAttached = true;
    // Without a journal file: there is nothing to roll back, and a killed holder leaves nothing
    // behind. In this locking mode the lock stays when the transaction has ended.
    database.exec(`
      PRAGMA ${name}.page_size = 512; PRAGMA ${name}.journal_mode = MEMORY; PRAGMA ${name}.locking_mode = EXCLUSIVE;
      BEGIN EXCLUSIVE; ROLLBACK
    `);
    return true;
  } catch (error) {
    if (isAttached) database.exec(`DETACH ${name}`);
    if (isBusy(error)) return false;
    throw error;
  }
}

/** The identity of a file, which a later one of its name does not have; null: there is none. */
function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found ? `${found.ino} ${found.birthtimeNs}` : null;
}

/** True if some process has the lock. */
export function isLocked(path: string): boolean {
  const probe = openedToRead(path);
  if (!probe) return false;
  try {
    probe.exec("SELECT count(*) FROM sqlite_schema");
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    probe.close();
  }
}

/** null: there is no such file, or it has just been removed. */
function openedToRead(path: string): DatabaseSync | null {
  if (!existsSync(path)) return null;
  try {
    return new DatabaseSync(path, { readOnly: true });
  } catch (error) {
    if (existsSync(path)) throw error;
    return null;
  }
}

/**
 * Makes an empty file that only its owner reads, whatever the umask; leaves one that is there
 * untouched, unopened.
 */
export function createPrivately(path: string): void {
  try {
    writeFileSync(path, "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return;
    throw error;
  }
  chmodSync(path, 0o600);
}
