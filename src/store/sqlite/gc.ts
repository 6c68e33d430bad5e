import { RlmError } from "../../../runtime/errors.ts";
import { displayName } from "../../platform/ids.ts";
import type { Collected, GcRule } from "../port.ts";
import { keepMs } from "../rows/jobs.ts";
import { number, text } from "../rows/seal.ts";
import type { Session } from "../rows/session.ts";
import { isRunning } from "../running.ts";
import { dropOldAnswers } from "../sql/cache.ts";
import { dropContexts } from "../sql/contexts.ts";
import { deleteCheckpoint, letGo, reachedBy } from "./checkpoints.ts";
import type { Database } from "./database.ts";
import type { Leases } from "./lease.ts";
import { ALL, familyOf, listedIds, readSession, sessionIds, updateSession } from "./sessions.ts";

/** Drops what the rule lets go and what nothing reaches, then gives the space back. */
export function gc(database: Database, leases: Leases, rule: GcRule): Collected {
  const before = fileBytes(database);
  const past = listedIds(database, ALL).filter((id) => isPast(database, id, rule) && !leases.busy(id));
  const taken = rule.dryRun ? past : past.filter((id) => leases.take(id));
  let dropped: Omit<Collected, "bytes">;
  let gone: readonly string[] = [];
  let free = 0;
  try {
    dropped = rolledBack(database, rule.dryRun, () => {
      // Between the look and the lease another process may have gone on with it.
      const going = taken.filter((id) => isPast(database, id, rule)).map((id) => readSession(database, id));
      gone = going.flatMap(({ id }) => deleteFamily(database, id));
      const anyOpen = sessionIds(database).some((id) => !taken.includes(id) && leases.busy(id));
      const found = sweep(database, rule, anyOpen);
      free = pragma(database, "freelist_count") * pragma(database, "page_size");
      return { sessions: going.map(displayName), ...found };
    });
    if (!rule.dryRun) for (const id of gone) leases.forget(id);
  } finally {
    if (!rule.dryRun) for (const id of taken) leases.drop(id);
  }
  if (rule.dryRun) return { ...dropped, bytes: free };
  giveBack(database);
  return { ...dropped, bytes: before - fileBytes(database) };
}

/** Drops a session and its children, with what only they need; answers their ids. The caller has its lease. */
export function removeSession(database: Database, id: string): readonly string[] {
  const gone = database.write(() => {
    const family = deleteFamily(database, id);
    dropUnreached(database);
    return family;
  });
  giveBack(database);
  return gone;
}

export function deleteFamily(database: Database, id: string): readonly string[] {
  const family = familyOf(database, id);
  for (const one of family) database.run("DELETE FROM sessions WHERE id = ?", one);
  return family;
}

/** Drops the checkpoints of a session and of its children: it stands at its beginning then, with its journal. A damaged one keeps them. */
export function dropImages(database: Database, id: string): void {
  for (const one of familyOf(database, id)) {
    try {
      const session = readSession(database, one);
      letGo(
        database,
        one,
        reachedBy(database, session).map((checkpoint) => checkpoint.id),
      );
      updateSession(database, { ...session, head: null, checkpoints: 0 });
    } catch (error) {
      if (!(error instanceof RlmError)) throw error;
    }
  }
}

/** Whether the rule drops a session. A damaged session stays: only `remove` drops it. */
function isPast(database: Database, id: string, rule: GcRule): boolean {
  let session: Session;
  try {
    session = readSession(database, id);
  } catch {
    return false;
  }
  const age = rule.now - session.changed_at;
  if (session.origin === "pi" && !rule.pi) return false;
  const job = session.origin === "batch" ? database.get(JOB_OF_SESSION, id) : undefined;
  // The jobs that are not done keep everything.
  if (job) return job.state === "done" && rule.now - number(job, "ended_at") > keepMs(text(job, "spec"));
  if (session.origin === "pi" || session.name !== null) return rule.namedMs !== null && age > rule.namedMs;
  return !isRunning(JSON.parse(session.facts)) && age > rule.anonymousMs;
}

const JOB_OF_SESSION = `SELECT j.state, j.ended_at, r.spec FROM jobs j JOIN runs r ON r.id = j.run WHERE j.session = ?`;

/** A session that is open somewhere may be about to name a context or a baseline: then these stay. */
function sweep(database: Database, rule: GcRule, anyOpen: boolean) {
  const checkpoints = dropUnreached(database);
  const contexts = anyOpen ? 0 : database.perform(dropContexts());
  if (!anyOpen) dropBaselines(database);
  return { checkpoints, contexts, cached: database.perform(dropOldAnswers(rule)) };
}

/** Drops checkpoints that no session reaches and that no reached one is based on. */
function dropUnreached(database: Database): number {
  const unreached = database.all(`${NEEDED} SELECT n FROM checkpoints
    WHERE session IS NOT NULL AND id NOT IN (SELECT id FROM needed)`);
  for (const row of unreached) deleteCheckpoint(database, number(row, "n"));
  return unreached.length;
}

/** Drops baselines that no checkpoint is based on, but not the newest: the next session starts from it. */
function dropBaselines(database: Database): void {
  const unused = database.all(`${NEEDED} SELECT n FROM checkpoints
    WHERE session IS NULL AND id NOT IN (SELECT id FROM needed)
    AND n < (SELECT max(n) FROM checkpoints WHERE session IS NULL)`);
  for (const row of unused) deleteCheckpoint(database, number(row, "n"));
}

const NEEDED = `WITH RECURSIVE needed (id) AS (
  SELECT id FROM checkpoints WHERE n IN (SELECT checkpoint FROM reach)
  UNION SELECT base FROM checkpoints JOIN needed USING (id) WHERE base IS NOT NULL)`;

function rolledBack<T>(database: Database, back: boolean, work: () => T): T {
  if (!back) return database.write(work);
  database.exec("BEGIN IMMEDIATE");
  try {
    return work();
  } finally {
    database.exec("ROLLBACK");
  }
}

function giveBack(database: Database): void {
  database.exec("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)");
}

function fileBytes(database: Database): number {
  return pragma(database, "page_count") * pragma(database, "page_size");
}

function pragma(database: Database, name: "page_count" | "page_size" | "freelist_count"): number {
  const row = database.get(`PRAGMA ${name}`);
  return row ? number(row, name) : 0;
}
