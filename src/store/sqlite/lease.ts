import { rmSync } from "node:fs";
import { join } from "node:path";
import { RlmError } from "../../../runtime/errors.ts";
import { checkSessionId } from "../rows/session.ts";
import { isLocked, type Lock, openFileLocks } from "./file-locks.ts";

export type Leases = ReturnType<typeof openLeases>;

/**
 * Leases as exclusive SQLite locks on files of their own, which go with them: the kernel frees them with the process, however it
 * ends, and then the file stays until the next one has had the lease. The file of a lock is never opened by other means, since closing it would free the locks of this process.
 * @param folder null: no other process sees the store, and there are no files
 */
export function openLeases(folder: string | null) {
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
    /** Takes the session's lease. false: another store has it, or this one already had it. */
    take(session: string): boolean {
      if (held.has(session)) return false;
      const lock = locks ? locks.take(fileOf(session), LOOK_MS) : { remove() {} };
      if (lock === null) return false;
      held.set(session, lock);
      return true;
    },
    drop,
    /** True if this store has it. */
    holds: (session: string) => held.has(session),
    /** True if anybody has it. */
    busy: (session: string) => held.has(session) || (locks !== null && isLocked(fileOf(session))),
    /** The names of those that this store has. */
    held: () => [...held.keys()],
    /** Drops the lease of a session that was removed, with its lock file. */
    forget(session: string): void {
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

/** A process that asks whether a lock is held shares it for an instant; that must not look like a holder. */
const LOOK_MS = 100;
const ALONE_MS = 10_000;
