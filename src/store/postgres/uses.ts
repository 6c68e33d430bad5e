import { unpackText } from "../rows/pack.ts";
import { text } from "../rows/seal.ts";
import { contextHashesIn, hashesIn } from "../rows/uses.ts";
import type { Sql } from "./connection.ts";

/** Notes that a session uses those of the hashes that are contexts of the store. */
export async function addUses(sql: Sql, session: string, hashes: ReadonlySet<string>): Promise<void> {
  if (hashes.size === 0) return;
  const added = `INSERT INTO uses (session, hash) SELECT $1, hash FROM contexts WHERE hash = ANY($2)
    ON CONFLICT DO NOTHING`;
  await sql.run(added, session, [...hashes]);
}

/** Notes that a fork uses those contexts of its parent that it names. */
export async function copyUses(sql: Sql, parent: string, fork: string, hashes: ReadonlySet<string>): Promise<void> {
  const copied = "INSERT INTO uses (session, hash) SELECT $2, hash FROM uses WHERE session = $1 AND hash = ANY($3)";
  await sql.run(copied, parent, fork, [...hashes]);
}

/** Contexts that these records name and that the session is not noted to use. */
export async function unnotedUses(sql: Sql, session: string, records: unknown): Promise<string[]> {
  const missed = `SELECT hash FROM contexts WHERE hash = ANY($2)
    AND hash NOT IN (SELECT hash FROM uses WHERE session = $1)`;
  return (await sql.all(missed, session, [...contextHashesIn(records)])).map((row) => text(row, "hash"));
}

/** Notes what the sessions of an earlier build use: all that is kept of them is read. */
export async function noteEarlierUses(sql: Sql): Promise<void> {
  for (const row of await sql.all("SELECT id FROM sessions")) {
    const id = text(row, "id");
    const named = new Set<string>();
    for (const kept of KEPT) {
      for (const one of await sql.all(kept, id)) {
        for (const column of Object.keys(one)) hashesIn(unpackText(one, column), named);
      }
    }
    await addUses(sql, id, named);
  }
}

/** Texts of a session. */
const KEPT = [
  "SELECT facts, settings FROM sessions WHERE id = $1",
  "SELECT content FROM journal WHERE session = $1",
  "SELECT meta, beside FROM checkpoints WHERE n IN (SELECT checkpoint FROM reach WHERE session = $1)",
] as const;
