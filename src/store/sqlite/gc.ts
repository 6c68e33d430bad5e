import { lstatSync, rmSync } from "node:fs";
import { join } from "node:path";
import { indexFolder } from "../../platform/home.ts";
import { displayName } from "../../platform/ids.ts";
import { isRecord } from "../../platform/json.ts";
import type { Collected, GcRule } from "../port.ts";
import { numberColumn, type Row, textColumn } from "../rows/row.ts";
import { EACH_PART, readHead, SHOWN_CONTEXT, UNUSED } from "../sql/contexts.ts";
import { deleteFamily, pastSessions, sweep } from "../sql/gc.ts";
import { all, get, oneOf, type Plan, raw, run, sql } from "../sql/sql.ts";
import { IS_LARGE, keptTexts, namesIn, strayTexts } from "../sql/texts.ts";
import type { Database } from "./database.ts";
import type { Leases } from "./leases.ts";
import { openFileLocks } from "./leases.ts";
import type { OpenTexts } from "./texts.ts";

type Dropped = Pick<Collected, "sessions" | "checkpoints" | "contexts" | "cached">;

/** The parts of a store that are swept. */
export interface Swept {
  readonly database: Database;
  readonly leases: Leases;
  readonly texts: OpenTexts;
}

/** Begins a sweep of the texts. @param isDry only says what would go */
export async function sweepOf({ database, texts }: Omit<Swept, "leases">, isDry = false): Promise<TextSweep> {
  return beginSweep(texts, await database.perform(hasTexts()), isDry);
}

/** Drops what the rule lets go and what nothing reaches, then gives the space back. */
export async function gc({ database, leases, texts }: Swept, rule: GcRule): Promise<Collected> {
  using files = await sweepOf({ database, texts }, rule.dryRun);
  const before = await database.perform(fileBytes());
  const free = (await database.perform(pastSessions(rule))).filter(({ id }) => !leases.busy(id));
  const taken = new Set(free.flatMap(({ id }) => (rule.dryRun || leases.take(id) ? id : [])));
  const drop = () => database.perform(dropPast(rule, leases, taken, files));
  const removed = () => sumOf([files.removeFiles(), sweepLeftTexts(rule.dryRun)]);
  if (rule.dryRun) {
    const { gone: _, bytes: free, ...dropped } = await database.tryOut(drop);
    const { files: texts, bytes } = removed();
    return { ...dropped, texts, texts_in_use: files.isInUse, bytes: free + bytes };
  }
  const {
    gone,
    bytes: _,
    ...dropped
  } = await database.write(drop).finally(() => {
    for (const id of taken) leases.drop(id);
  });
  for (const id of gone) leases.forget(id);
  const { files: count, bytes } = removed();
  await giveBack(database);
  const shrunk = before - (await database.perform(fileBytes()));
  return { ...dropped, texts: count, texts_in_use: files.isInUse, bytes: shrunk + bytes };
}

/**
 * Drops the sessions among `taken` that the rule still lets go, and what nothing reaches. Returns
 * the bytes that become free.
 */
function* dropPast(
  rule: GcRule,
  leases: Leases,
  taken: ReadonlySet<string>,
  texts: TextSweep,
): Plan<Dropped & { readonly gone: readonly string[]; readonly bytes: number }> {
  // Between the look and the lease another process may have continued it.
  const going = (yield* pastSessions(rule)).filter(({ id }) => taken.has(id));
  const gone: string[] = [];
  for (const { id } of going) gone.push(...(yield* deleteFamily(id, {})));
  const left = (yield* all(sql`SELECT id FROM sessions`)).map((row) => textColumn(row, "id"));
  const anyOpen = left.some((id) => !taken.has(id) && leases.busy(id));
  const found = yield* sweep(rule, anyOpen);
  // An open session names its own.
  const contexts = found.contexts + (yield* texts.drop());
  const bytes = (yield* pragma("freelist_count")) * (yield* pragma("page_size"));
  return { sessions: going.map(displayName), ...found, contexts, gone, bytes };
}

/** Pages that are given back between two turns of other work. */
const PAGES_OF_A_TURN = 256;

/** Gives space that is free back to the disk. */
export async function giveBack(database: Database): Promise<void> {
  for (let free = await freePages(database); free > 0; ) {
    await database.exec(`PRAGMA incremental_vacuum(${PAGES_OF_A_TURN})`);
    await database.endLongTurn();
    const left = await freePages(database);
    if (left >= free) break;
    free = left;
  }
  await database.emptyLog();
}

const freePages = (database: Database) => database.perform(pragma("freelist_count"));

function* fileBytes(): Plan<number> {
  return (yield* pragma("page_count")) * (yield* pragma("page_size"));
}

function* pragma(name: "page_count" | "page_size" | "freelist_count"): Plan<number> {
  const row = yield* get(raw(`PRAGMA ${name}`));
  return row ? numberColumn(row, name) : 0;
}

/** A sweep of the texts that no context needs. While it lasts no load makes any. */
interface TextSweep extends Disposable {
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
function beginSweep({ port: { folder }, lock }: OpenTexts, hasRows: boolean, isDry: boolean): TextSweep {
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
function sweepLeftTexts(isDry: boolean): SweptTexts {
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

function sumOf(swept: readonly SweptTexts[]): SweptTexts {
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
function* hasTexts(): Plan<boolean> {
  return (yield* get(sql`SELECT 1 AS there FROM texts LIMIT 1`)) !== undefined;
}

/**
 * Drops the large contexts that no session uses and no job names, with the rows of their texts. The
 * caller has the lock of the texts alone, so no load is about to name one. For a file alone: a
 * server keeps no large contexts.
 */
function* dropLargeContexts(): Plan<DroppedTexts> {
  const unused = yield* all(sql`SELECT ${SHOWN_CONTEXT} FROM contexts WHERE ${IS_LARGE} AND ${UNUSED}`);
  const keys = unused.map((row) => textColumn(row, "hash"));
  yield* run(sql`DELETE FROM contexts WHERE hash ${oneOf(keys)}`);
  yield* run(sql`DELETE FROM texts WHERE name NOT IN (${NAMED})`);
  const left = new Set((yield* all(sql`SELECT ${SHOWN_CONTEXT} FROM contexts WHERE ${IS_LARGE}`)).flatMap(hashOfText));
  return {
    contexts: keys.length,
    hashes: unused.flatMap(hashOfText).filter((hash) => !left.has(hash)),
    kept: yield* keptTexts(),
  };
}

const NAMED = sql`SELECT value FROM contexts, ${EACH_PART}`;

function hashOfText(row: Row): readonly string[] {
  const index = readHead(row)?.index;
  const stats = isRecord(index) && isRecord(index.stats) ? index.stats : {};
  return typeof stats.context_hash === "string" ? [stats.context_hash] : [];
}
