import { text } from "../rows/seal.ts";
import { contextHashesIn } from "../rows/uses.ts";
import { all, oneOf, type Plan, run, sql } from "./sql.ts";

/** Notes that a session uses those of the hashes that are contexts of the store. */
export function* addUses(session: string, hashes: ReadonlySet<string>): Plan<void> {
  if (hashes.size === 0) return;
  yield* run(sql`INSERT INTO uses (session, hash)
    SELECT ${session}, hash FROM contexts WHERE hash ${oneOf(hashes)} ON CONFLICT DO NOTHING`);
}

/** Notes that a fork uses those contexts of its parent that it names. */
export function* copyUses(parent: string, fork: string, hashes: ReadonlySet<string>): Plan<void> {
  yield* run(sql`INSERT INTO uses (session, hash)
    SELECT ${fork}, hash FROM uses WHERE session = ${parent} AND hash ${oneOf(hashes)}`);
}

/** Contexts that these records name and that the session is not noted to use. */
export function* unnotedUses(session: string, records: unknown): Plan<readonly string[]> {
  const missed = yield* all(sql`SELECT hash FROM contexts WHERE hash ${oneOf(contextHashesIn(records))}
    AND hash NOT IN (SELECT hash FROM uses WHERE session = ${session})`);
  return missed.map((row) => text(row, "hash"));
}
