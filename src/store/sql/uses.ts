import { textColumn } from "../rows/seal.ts";
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
  const missed = yield* all(sql`SELECT hash FROM contexts WHERE hash ${oneOf(contextKeysIn(records))}
    AND hash NOT IN (SELECT hash FROM uses WHERE session = ${session})`);
  return missed.map((row) => textColumn(row, "hash"));
}

const HASH = /\b[0-9a-f]{64}\b/g;
const HASH_UNITS = 64;

/** All in texts and names of JSON that may be the key of a context. The contexts of the store tell which are. */
export function hashesIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value === "string") {
    if (value.length >= HASH_UNITS) for (const [hash] of value.matchAll(HASH)) found.add(hash);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, one] of Object.entries(value)) {
      hashesIn(name, found);
      hashesIn(one, found);
    }
  }
  return found;
}

/** Keys of contexts in JSON: the texts that are named `context_key`. */
function contextKeysIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== "object" || value === null) return found;
  for (const [name, one] of Object.entries(value)) {
    if (name === "context_key" && typeof one === "string") found.add(one);
    contextKeysIn(one, found);
  }
  return found;
}

/** The finding of verify about a session whose journal names contexts that gc would drop. */
export function missedUses(hashes: readonly string[]): string {
  return `its journal names contexts that it is not known to use, so that gc would drop them: ${hashes.join(", ")}`;
}
