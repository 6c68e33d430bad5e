import { lstatSync, rmSync } from "node:fs";
import { join } from "node:path";
import { indexFolder } from "../../platform/home.ts";
import { isRecord } from "../../platform/json.ts";
import { type Row, textColumn } from "../rows/row.ts";
import { readHead, UNUSED } from "../sql/contexts.ts";
import type { Plan } from "../sql/sql.ts";
import { all, get, oneOf, raw, run, sql } from "../sql/sql.ts";
import { IS_LARGE, keptTexts, namesIn, strayTexts } from "../sql/texts.ts";
import { openFileLocks } from "./leases.ts";
import type { OpenTexts } from "./texts.ts";

/** A sweep of the texts that no context needs. While it lasts no load makes any. */
export interface TextSweep extends Disposable {
  /** True if nothing can be removed, because a load is under way. */
  readonly isInUse: boolean;
  /**
   * Drops contexts that nothing needs, and removes their search indexes, within a transaction.
   * Returns the number of contexts.
   */
  drop(): Plan<number>;
  /** Removes the files of what was dropped, once the transaction has ended, and files that a killed load has left. */
  removeFiles(): SweptTexts;
}

/** Files that were removed, or would be. */
interface SweptTexts {
  readonly files: number;
  /** Bytes that they took. */
  readonly bytes: number;
}

const NOTHING_SWEPT: SweptTexts = { files: 0, bytes: 0 };

/** Begins a sweep. @param hasRows the store has had large contexts @param isDry only says what would go */
export function beginSweep({ port: { folder }, lock }: OpenTexts, hasRows: boolean, isDry: boolean): TextSweep {
  const isNeeded = hasRows || namesIn(folder).length > 0;
  const alone = isNeeded ? lock.alone() : null;
  let dropped: DroppedTexts | null = null;
  let indexes = NOTHING_SWEPT;
  return {
    isInUse: isNeeded && alone === null,
    *drop() {
      if (!alone) return 0;
      dropped = yield* dropLargeContexts();
      // If the process ends before the rows are gone, they are made again.
      indexes = sweepIndexes(dropped.hashes, isDry);
      return dropped.contexts;
    },
    removeFiles: () =>
      dropped ? sumOf([indexes, removeAll(folder, strayTexts(folder, dropped.kept), isDry)]) : NOTHING_SWEPT,
    [Symbol.dispose]: () => alone?.[Symbol.dispose](),
  };
}

/** Removes the search indexes of texts with these hashes. They are made again if they are needed. */
function sweepIndexes(hashes: readonly string[], isDry: boolean): SweptTexts {
  const folder = indexFolder(process.env);
  if (folder === undefined || hashes.length === 0) return NOTHING_SWEPT;
  const those = namesIn(folder).filter((name) => hashes.some((hash) => name.startsWith(hash)));
  return removeAll(folder, those, isDry);
}

/** The folder of the texts of a store in memory, and the file of its lock. */
const OWN_TEXTS = /^(texts\.[0-9a-f-]{36})(?:\.db)?$/;

/** Removes the texts of stores in memory whose processes were killed: nobody has their lock. */
export function sweepLeftTexts(isDry: boolean): SweptTexts {
  const folder = indexFolder(process.env);
  if (folder === undefined) return NOTHING_SWEPT;
  using locks = openFileLocks();
  const left = new Set(namesIn(folder).flatMap((name) => OWN_TEXTS.exec(name)?.[1] ?? []));
  return [...left].reduce((swept, name) => {
    const lock = locks.take(join(folder, `${name}.db`), 0);
    if (lock === null) return swept;
    const within = join(folder, name);
    const some = removeAll(within, namesIn(within), isDry);
    if (!isDry) rmSync(within, { recursive: true, force: true });
    lock.remove();
    return sumOf([swept, some]);
  }, NOTHING_SWEPT);
}

export function sumOf(swept: readonly SweptTexts[]): SweptTexts {
  return {
    files: swept.reduce((sum, { files }) => sum + files, 0),
    bytes: swept.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function removeAll(folder: string, names: readonly string[], isDry: boolean): SweptTexts {
  let bytes = 0;
  for (const name of names) {
    const path = join(folder, name);
    bytes += lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (!isDry) rmSync(path, { force: true });
  }
  return { files: names.length, bytes };
}

/** Large contexts that were dropped, and the files that stay. Their rows have gone, and their files have not. */
interface DroppedTexts {
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
function* dropLargeContexts(): Plan<DroppedTexts> {
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
