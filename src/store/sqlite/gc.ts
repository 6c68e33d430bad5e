import { displayName } from "../../platform/ids.ts";
import type { Collected, GcRule } from "../port.ts";
import { number, text } from "../rows/seal.ts";
import { deleteFamily, pastSessions, sweep } from "../sql/gc.ts";
import type { Database } from "./database.ts";
import type { Leases } from "./lease.ts";

/** Drops what the rule lets go and what nothing reaches, then gives the space back. */
export function gc(database: Database, leases: Leases, rule: GcRule): Collected {
  const before = fileBytes(database);
  const free = database.perform(pastSessions(rule)).filter(({ id }) => !leases.busy(id));
  const taken = new Set(free.flatMap(({ id }) => (rule.dryRun || leases.take(id) ? id : [])));
  let dropped: Omit<Collected, "bytes">;
  let gone: readonly string[] = [];
  let bytes = 0;
  try {
    dropped = rolledBack(database, rule.dryRun, () => {
      // Between the look and the lease another process may have gone on with it.
      const going = database.perform(pastSessions(rule)).filter(({ id }) => taken.has(id));
      gone = going.flatMap(({ id }) => database.perform(deleteFamily(id, {})));
      const left = database.all("SELECT id FROM sessions").map((row) => text(row, "id"));
      const anyOpen = left.some((id) => !taken.has(id) && leases.busy(id));
      const found = database.perform(sweep(rule, anyOpen));
      bytes = pragma(database, "freelist_count") * pragma(database, "page_size");
      return { sessions: going.map(displayName), ...found };
    });
    if (!rule.dryRun) for (const id of gone) leases.forget(id);
  } finally {
    if (!rule.dryRun) for (const id of taken) leases.drop(id);
  }
  if (rule.dryRun) return { ...dropped, bytes };
  giveBack(database);
  return { ...dropped, bytes: before - fileBytes(database) };
}

function rolledBack<T>(database: Database, back: boolean, work: () => T): T {
  if (!back) return database.write(work);
  database.exec("BEGIN IMMEDIATE");
  try {
    return work();
  } finally {
    database.exec("ROLLBACK");
  }
}

/** Gives space that is free back to the disk. */
export function giveBack(database: Database): void {
  database.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
}

function fileBytes(database: Database): number {
  return pragma(database, "page_count") * pragma(database, "page_size");
}

function pragma(database: Database, name: "page_count" | "page_size" | "freelist_count"): number {
  const row = database.get(`PRAGMA ${name}`);
  return row ? number(row, name) : 0;
}
