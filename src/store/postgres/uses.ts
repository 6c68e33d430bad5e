import { unpackText } from "../rows/pack.ts";
import { text } from "../rows/seal.ts";
import { hashesIn } from "../rows/uses.ts";
import { addUses } from "../sql/uses.ts";
import type { Sql } from "./connection.ts";

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
    await sql.perform(addUses(id, named));
  }
}

/** Texts of a session. */
const KEPT = [
  "SELECT facts, settings FROM sessions WHERE id = $1",
  "SELECT content FROM journal WHERE session = $1",
  "SELECT meta, beside FROM checkpoints WHERE n IN (SELECT checkpoint FROM reach WHERE session = $1)",
] as const;
