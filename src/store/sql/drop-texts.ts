import { isRecord } from "../../platform/json.ts";
import { type Row, textColumn } from "../rows/row.ts";
import { readHead, UNUSED } from "./contexts.ts";
import { all, get, oneOf, type Plan, raw, run, sql } from "./sql.ts";
import { IS_LARGE, keptTexts } from "./texts.ts";

/** Large contexts that were dropped, and the files that stay. Their rows have gone, and their files have not. */
export interface DroppedTexts {
  /** The number of contexts. */
  readonly contexts: number;
  /** Hashes of P of those contexts, unless another one has it. Search indexes are named after them. */
  readonly hashes: readonly string[];
  /** Names of the texts and tables that other contexts need. */
  readonly kept: ReadonlySet<string>;
}

/** True if the store has had large contexts. */
export function* hasTexts(): Plan<boolean> {
  return (yield* get(sql`SELECT 1 AS there FROM texts LIMIT 1`)) !== undefined;
}

/**
 * Drops the large contexts that no session uses and no job names, with the rows of their texts. The
 * caller has the lock of the texts alone, so no load is about to name one. For a file alone: a
 * server keeps no large contexts.
 */
export function* dropLargeContexts(): Plan<DroppedTexts> {
  const unused = yield* all(sql`SELECT * FROM contexts WHERE ${IS_LARGE} AND ${UNUSED}`);
  const keys = unused.map((row) => textColumn(row, "hash"));
  yield* run(sql`DELETE FROM contexts WHERE hash ${oneOf(keys)}`);
  yield* run(sql`DELETE FROM texts WHERE name NOT IN (${NAMED})`);
  const left = new Set((yield* all(sql`SELECT * FROM contexts WHERE ${IS_LARGE}`)).flatMap(hashOfText));
  return {
    contexts: keys.length,
    hashes: unused.flatMap(hashOfText).filter((hash) => !left.has(hash)),
    kept: yield* keptTexts(),
  };
}

/** The list of a damaged context may be no JSON. */
const NAMED = raw(`SELECT value FROM contexts,
  json_each(CASE WHEN json_valid(contexts.parts) THEN contexts.parts ELSE '[]' END)`);

function hashOfText(row: Row): readonly string[] {
  const index = readHead(row)?.index;
  const stats = isRecord(index) && isRecord(index.stats) ? index.stats : {};
  return typeof stats.context_hash === "string" ? [stats.context_hash] : [];
}
