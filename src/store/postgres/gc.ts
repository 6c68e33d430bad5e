import { displayName } from "../../platform/ids.ts";
import type { Collected, GcRule } from "../port.ts";
import { keepMs } from "../rows/jobs.ts";
import { number, type Row, seal, text } from "../rows/seal.ts";
import { decodeSession, fieldsOf, type Session } from "../rows/session.ts";
import { isRunning } from "../running.ts";
import { dropOldAnswers } from "../sql/cache.ts";
import { dropContexts } from "../sql/contexts.ts";
import type { Server, Sql } from "./connection.ts";
import type { Leases } from "./leases.ts";

/** Drops what the rule lets go and what nothing reaches. The server gives space back by itself: autovacuum. */
export async function gc(server: Server, leases: Leases, rule: GcRule): Promise<Collected> {
  const before = await sizeOf(server);
  let dropped: Omit<Collected, "bytes"> | undefined;
  try {
    await server.write(async (sql) => {
      // Fences before leases: who takes a lease after both has another fence.
      const old = await past(sql, rule);
      const open = new Set(
        (await sql.all("SELECT session FROM leases WHERE until > clock_timestamp()")).map((row) =>
          text(row, "session"),
        ),
      );
      const going: Session[] = [];
      for (const { session, fence } of old) {
        if (open.has(session.id) || leases.holds(session.id) || !(await isStill(sql, session.id, fence))) continue;
        going.push(session);
        await deleteFamily(sql, session.id);
      }
      const found = await sweep(sql, rule, open.size > 0);
      dropped = { sessions: going.map(displayName), ...found };
      if (rule.dryRun) throw DRY;
    });
  } catch (error) {
    if (error !== DRY) throw error;
  }
  if (!dropped) throw new Error("nothing was collected");
  return { ...dropped, bytes: rule.dryRun ? 0 : Math.max(0, before - (await sizeOf(server))) };
}

/** Whether nobody has taken the session's lease since. Who wants it now waits until this transaction is over. */
async function isStill(sql: Sql, id: string, fence: number): Promise<boolean> {
  return (await sql.get("SELECT id FROM sessions WHERE id = $1 AND fence = $2 FOR UPDATE", id, fence)) !== undefined;
}

/** Ends the transaction of a dry run. */
const DRY = new Error("a dry run");

/** Drops a session and its children, with what only they need; answers their ids. */
export async function deleteFamily(sql: Sql, id: string): Promise<readonly string[]> {
  const family = (await sql.all("SELECT family($1) AS id", id)).map((row) => text(row, "id"));
  for (const table of ["journal", "reach", "uses", "leases"])
    await sql.run(`DELETE FROM ${table} WHERE session = ANY($1)`, family);
  await sql.run("DELETE FROM sessions WHERE id = ANY($1)", family);
  return family;
}

/** A session, and the fence of its newest lease. */
interface Past {
  readonly session: Session;
  readonly fence: number;
}

async function past(sql: Sql, rule: GcRule): Promise<Past[]> {
  const rows = await sql.all(
    `SELECT * FROM sessions s WHERE origin <> 'child'
      AND NOT (origin = 'batch' AND EXISTS (SELECT 1 FROM jobs WHERE session = s.id)) ORDER BY changed_at DESC, id DESC`,
  );
  const over = await sql.all(OVER);
  const old = rows.flatMap((row) => {
    const session = wholeSession(row);
    return session && isPast(session, rule) ? [{ session, fence: number(row, "fence") }] : [];
  });
  const ofJobs = over.flatMap((row) => {
    const session = wholeSession(row);
    return session && rule.now - number(row, "ended_at") > keepMs(text(row, "spec"))
      ? [{ session, fence: number(row, "fence") }]
      : [];
  });
  return [...old, ...ofJobs];
}

/** Sessions of jobs that are done. */
const OVER = `SELECT s.*, j.ended_at, r.spec FROM sessions s JOIN jobs j ON j.session = s.id JOIN runs r ON r.id = j.run
  WHERE s.origin = 'batch' AND j.state = 'done' AND j.ended_at IS NOT NULL`;

/** Drops the checkpoints of a session and of its children: it stands at its beginning then, with its journal. A damaged one keeps them. */
export async function dropImages(sql: Sql, id: string): Promise<void> {
  for (const row of await sql.all("SELECT * FROM sessions WHERE id IN (SELECT family($1))", id)) {
    const session = wholeSession(row);
    if (!session) continue;
    const reached = `DELETE FROM reach r USING checkpoints c WHERE r.session = $1 AND c.n = r.checkpoint RETURNING c.n, c.id`;
    const gone = await sql.all(reached, session.id);
    // The newest first: one is the base of those behind it.
    for (const one of gone.sort((a, b) => number(b, "n") - number(a, "n"))) {
      await sql.get("SELECT drop_unneeded($1)::text AS gone", text(one, "id"));
    }
    const bare = { ...session, head: null, checkpoints: 0 };
    await sql.run(
      "UPDATE sessions SET head = NULL, checkpoints = 0, sha256 = $2 WHERE id = $1",
      ...[session.id, seal(fieldsOf(bare))],
    );
  }
}

/** A damaged session stays: only `remove` drops it. */
function wholeSession(row: Row): Session | null {
  try {
    return decodeSession(row);
  } catch {
    return null;
  }
}

function isPast(session: Session, rule: GcRule): boolean {
  const age = rule.now - session.changed_at;
  if (session.origin === "pi" && !rule.pi) return false;
  if (session.origin === "pi" || session.name !== null) return rule.namedMs !== null && age > rule.namedMs;
  return !isRunning(JSON.parse(session.facts)) && age > rule.anonymousMs;
}

/** A session that is open somewhere may be about to name a context or a baseline: then these stay. */
async function sweep(sql: Sql, rule: GcRule, anyOpen: boolean) {
  const checkpoints = await dropUnreached(sql);
  const contexts = anyOpen ? 0 : await sql.perform(dropContexts());
  if (!anyOpen) {
    await dropCheckpoints(
      sql,
      `session IS NULL AND id NOT IN (SELECT id FROM needed)
        AND n < (SELECT max(n) FROM checkpoints WHERE session IS NULL)`,
    );
  }
  return { checkpoints, contexts, cached: await sql.perform(dropOldAnswers(rule)) };
}

/** Drops checkpoints that no session reaches and that no reached one is based on. */
export function dropUnreached(sql: Sql): Promise<number> {
  return dropCheckpoints(sql, "session IS NOT NULL AND id NOT IN (SELECT id FROM needed)");
}

async function dropCheckpoints(sql: Sql, which: string): Promise<number> {
  const rows = await sql.all(`${NEEDED} DELETE FROM checkpoints WHERE ${which} RETURNING n`);
  await sql.run(
    "DELETE FROM pages WHERE checkpoint = ANY($1::bigint[])",
    rows.map((row) => number(row, "n")),
  );
  return rows.length;
}

const NEEDED = `WITH RECURSIVE needed (id) AS (
  SELECT id FROM checkpoints WHERE n IN (SELECT checkpoint FROM reach)
  UNION SELECT c.base FROM checkpoints c JOIN needed d ON c.id = d.id WHERE c.base IS NOT NULL)`;

async function sizeOf(server: Server): Promise<number> {
  const row = await server.get(
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS bytes FROM pg_class c
      JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = $1 AND c.relkind = 'r'`,
    server.schema,
  );
  return row ? number(row, "bytes") : 0;
}
