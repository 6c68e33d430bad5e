import { unpackText } from "../rows/pack.ts";
import { text } from "../rows/seal.ts";
import { hashesIn } from "../rows/uses.ts";
import { addUses } from "../sql/uses.ts";
import type { Database } from "./database.ts";

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
    database.perform(addUses(id, named));
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
