import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { isBusy } from "../failure.ts";
import { createPrivately } from "./leases.ts";

/**
 * A lock that many share or one has alone. The kernel frees it with the process, however that ends:
 * neither ids of processes nor clocks decide, since containers can share a store.
 */
export interface SharedLock extends Disposable {
  /** Shares the lock until the hold is disposed. null: another one has had it alone all the time. */
  share(waitMs: number): Promise<Disposable | null>;
  /** Has the lock alone until the hold is disposed. null: another one shares it, or has it. */
  alone(): Disposable | null;
}

const LOOK_MS = 20;

/** @param path the file of the lock; null: no other process knows of it */
export function openSharedLock(path: string | null): SharedLock {
  let sharing = 0;
  let isAlone = false;
  let file: DatabaseSync | null = null;

  function take(statements: string): boolean {
    if (path === null) return true;
    file = locked(path, statements);
    return file !== null;
  }

  function free(): void {
    file?.close();
    file = null;
  }

  function shareNow(): boolean {
    if (isAlone || (sharing === 0 && !take(SHARED))) return false;
    sharing += 1;
    return true;
  }

  return {
    async share(waitMs) {
      const until = performance.now() + waitMs;
      while (!shareNow()) {
        if (performance.now() > until) return null;
        await setTimeout(LOOK_MS);
      }
      return onceOnly(() => {
        sharing -= 1;
        if (sharing === 0) free();
      });
    },
    alone() {
      if (isAlone || sharing > 0 || !take(ALONE)) return null;
      isAlone = true;
      return onceOnly(() => {
        isAlone = false;
        free();
      });
    },
    [Symbol.dispose]: free,
  };
}

/** Reading locks a database for others that write, as long as the transaction lasts. */
const SHARED = "BEGIN; SELECT count(*) FROM sqlite_schema";
/** Nothing is ever written, so no journal is needed. */
const ALONE = "PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE";

/** A database whose open transaction is a lock; null: others have the lock. */
function locked(path: string, statements: string): DatabaseSync | null {
  createPrivately(path);
  const database = new DatabaseSync(path);
  try {
    database.exec(statements);
    return database;
  } catch (error) {
    database.close();
    if (isBusy(error)) return null;
    throw error;
  }
}

function onceOnly(end: () => void): Disposable {
  let isOver = false;
  return {
    [Symbol.dispose]() {
      if (!isOver) end();
      isOver = true;
    },
  };
}
