import { displayName } from "../../platform/ids.ts";
import type { Collected, GcRule } from "../port.ts";
import { numberColumn, textColumn } from "../rows/row.ts";
import { deleteFamily, pastSessions, sweep } from "../sql/gc.ts";
import { all, get, type Plan, raw, sql } from "../sql/sql.ts";
import type { Database } from "./database.ts";
import type { Leases } from "./leases.ts";
import { beginSweep, hasTexts, sumOf, sweepLeftTexts, type TextSweep } from "./sweep-texts.ts";
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
