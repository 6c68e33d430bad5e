import { unpackText } from "../rows/pack.ts";
import { text } from "../rows/seal.ts";
import { contextHashesIn, hashesIn } from "../rows/uses.ts";
import type { Database } from "./database.ts";

/** Notes that a session uses those of the hashes that are contexts of the store. */
export function addUses(database: Database, session: string, hashes: ReadonlySet<string>): void {
  if (hashes.size === 0) return;
  const added = `INSERT OR IGNORE INTO uses (session, hash)
    SELECT ?, hash FROM contexts WHERE hash IN (SELECT value FROM json_each(?))`;
  database.run(added, session, JSON.stringify([...hashes]));
}

/** Notes that a fork uses those contexts of its parent that it names. */
export function copyUses(database: Database, parent: string, fork: string, hashes: ReadonlySet<string>): void {
  const copied = `INSERT INTO uses (session, hash)
    SELECT ?, hash FROM uses WHERE session = ? AND hash IN (SELECT value FROM json_each(?))`;
  database.run(copied, fork, parent, JSON.stringify([...hashes]));
}

/** Contexts that these records name and that the session is not noted to use. */
export function unnotedUses(database: Database, session: string, records: unknown): string[] {
  const missed = `SELECT hash FROM contexts WHERE hash IN (SELECT value FROM json_each(?))
    AND hash NOT IN (SELECT hash FROM uses WHERE session = ?)`;
  const named = JSON.stringify([...contextHashesIn(records)]);
  return database.all(missed, named, session).map((row) => text(row, "hash"));
}

/** Notes what the sessions of an earlier build use: all that is kept of them is read. */
export function noteEarlierUses(database: Database): void {
  for (const row of database.all("SELECT id FROM sessions")) {
    const id = text(row, "id");
    let named: ReadonlySet<string>;
    try {
      named = namedIn(database, id);
    } catch {
      // The file is damaged where its texts are: gc drops nothing that it may need.
      database.run("INSERT OR IGNORE INTO uses (session, hash) SELECT ?, hash FROM contexts", id);
      continue;
    }
    addUses(database, id, named);
  }
}

function namedIn(database: Database, session: string): ReadonlySet<string> {
  const named = new Set<string>();
  for (const sql of KEPT) {
    for (const row of database.each(sql, session)) {
      for (const column of Object.keys(row)) hashesIn(unpackText(row, column), named);
    }
  }
  return named;
}

/** Texts of a session. */
const KEPT = [
  "SELECT facts, settings FROM sessions WHERE id = ?",
  "SELECT content FROM journal WHERE session = ?",
  "SELECT meta, beside FROM checkpoints WHERE n IN (SELECT checkpoint FROM reach WHERE session = ?)",
] as const;
