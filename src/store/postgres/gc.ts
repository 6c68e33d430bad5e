import { displayName } from "../../platform/ids.ts";
import type { Collected, GcRule } from "../port.ts";
import { numberColumn, textColumn } from "../rows/seal.ts";
import { deleteFamily, type Past, pastSessions, sweep } from "../sql/gc.ts";
import type { Dialect } from "../sql/planned.ts";
import type { Server, Sql } from "./connection.ts";
import type { Leases } from "./leases.ts";

/** Drops what the rule lets go and what nothing reaches. The server gives space back by itself: autovacuum. */
export async function gc(server: Server, leases: Leases, own: Dialect, rule: GcRule): Promise<Collected> {
  const before = await sizeOf(server);
  let dropped: Omit<Collected, "bytes"> | undefined;
  try {
    await server.write(async (sql) => {
      // Fences before leases: who takes a lease after both has another fence.
      const old = await sql.perform(pastSessions(rule));
      const open = new Set((await sql.all(OPEN)).map((row) => textColumn(row, "session")));
      const going: Past[] = [];
      for (const one of old) {
        if (open.has(one.id) || leases.holds(one.id) || !(await isStill(sql, one))) continue;
        going.push(one);
        await sql.perform(deleteFamily(one.id, own));
      }
      const found = await sql.perform(sweep(rule, open.size > 0));
      dropped = { sessions: going.map(displayName), ...found };
      if (rule.dryRun) throw DRY;
    });
  } catch (error) {
    if (error !== DRY) throw error;
  }
  if (!dropped) throw new Error("nothing was collected");
  return { ...dropped, bytes: rule.dryRun ? 0 : Math.max(0, before - (await sizeOf(server))) };
}

/** True if nobody has taken the session's lease since. Who wants it now waits until this transaction has ended. */
async function isStill(sql: Sql, { id, fence }: Past): Promise<boolean> {
  return (await sql.get("SELECT id FROM sessions WHERE id = $1 AND fence = $2 FOR UPDATE", id, fence)) !== undefined;
}

/** Sessions that are open. Accounts of providers have leases too. */
const OPEN = "SELECT l.session FROM leases l JOIN sessions s ON s.id = l.session WHERE l.until > clock_timestamp()";

/** Ends the transaction of a dry run. */
const DRY = new Error("a dry run");

async function sizeOf(server: Server): Promise<number> {
  const row = await server.get(
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes FROM pg_class c
      JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1 AND c.relkind = 'r'`,
    server.schema,
  );
  return row ? numberColumn(row, "bytes") : 0;
}
