import { displayName } from "../../platform/ids.ts";
import type { Collected, GcRule } from "../port.ts";
import { numberColumn, textColumn } from "../rows/seal.ts";
import { deleteFamily, pastSessions, sweep } from "../sql/gc.ts";
import { all, get, type Plan, raw, sql } from "../sql/sql.ts";
import type { Database } from "./database.ts";
import type { Leases } from "./lease.ts";

type Dropped = Omit<Collected, "bytes">;

/** Drops what the rule lets go and what nothing reaches, then gives the space back. */
export async function gc(database: Database, leases: Leases, rule: GcRule): Promise<Collected> {
  const before = await database.perform(fileBytes());
  const free = (await database.perform(pastSessions(rule))).filter(({ id }) => !leases.busy(id));
  const taken = new Set(free.flatMap(({ id }) => (rule.dryRun || leases.take(id) ? id : [])));
  const drop = () => database.perform(dropPast(rule, leases, taken));
  if (rule.dryRun) {
    const { gone: _, bytes, ...dropped } = await database.tryOut(drop);
    return { ...dropped, bytes };
  }
  const {
    gone,
    bytes: _,
    ...dropped
  } = await database.write(drop).finally(() => {
    for (const id of taken) leases.drop(id);
  });
  for (const id of gone) leases.forget(id);
  await giveBack(database);
  return { ...dropped, bytes: before - (await database.perform(fileBytes())) };
}

/** Drops the sessions among `taken` that the rule still lets go, and what nothing reaches. Returns the bytes that become free. */
function* dropPast(
  rule: GcRule,
  leases: Leases,
  taken: ReadonlySet<string>,
): Plan<Dropped & { readonly gone: readonly string[]; readonly bytes: number }> {
  // Between the look and the lease another process may have continued it.
  const going = (yield* pastSessions(rule)).filter(({ id }) => taken.has(id));
  const gone: string[] = [];
  for (const { id } of going) gone.push(...(yield* deleteFamily(id, {})));
  const left = (yield* all(sql`SELECT id FROM sessions`)).map((row) => textColumn(row, "id"));
  const anyOpen = left.some((id) => !taken.has(id) && leases.busy(id));
  const found = yield* sweep(rule, anyOpen);
  const bytes = (yield* pragma("freelist_count")) * (yield* pragma("page_size"));
  return { sessions: going.map(displayName), ...found, gone, bytes };
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
