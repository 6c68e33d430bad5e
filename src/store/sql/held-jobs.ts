import { mayAskAgain } from "../jobs/money.ts";
import { heldBy } from "../rows/jobs.ts";
import { numberColumn, type Row, textColumn } from "../rows/seal.ts";
import { hasOpenRequests } from "./batch-requests.ts";
import { readRun } from "./runs.ts";
import { all, get, type Part, type Plan, raw, run, type Statement, sql } from "./sql.ts";

/** A job that waits for money which requests by batch hold. */
const HELD = sql`state = 'parked' AND why = 'held'`;
/** As many as are offered at a time. */
const MOST = 1000;

/**
 * Lets jobs that wait for held money wait for a try: as many as may have room by now, and those whose own answers are there.
 * @param now the clock of the store
 */
export function* wakeHeld(queue: string, now: Part): Plan<void> {
  const open = sql`SELECT id FROM runs WHERE queue = ${queue} AND state = 'open'`;
  const runs = yield* all(sql`SELECT DISTINCT run FROM jobs WHERE ${HELD} AND run IN (${open})`);
  for (const row of runs) {
    const id = textColumn(row, "run");
    yield* wake(
      sql`run = ${id} AND ${HELD} AND NOT ${hasOpenRequests(sql`jobs.session`)}
      AND EXISTS (SELECT 1 FROM batch_requests a WHERE a.root = jobs.session AND a.state = 'answered')`,
      now,
    );
    const count = Math.min(MOST, mayAskAgain(yield* readRun(id), yield* holdsOf(id)));
    const first = sql`SELECT n FROM jobs WHERE run = ${id} AND ${HELD} ORDER BY rank, n LIMIT ${count}`;
    if (count > 0) yield* wake(sql`run = ${id} AND n IN (${first})`, now);
  }
}

function* holdsOf(id: string) {
  const extreme = function* (which: "min" | "max"): Plan<Row> {
    const of = (column: string) => `coalesce(${which}(${column}), 0) AS ${column}`;
    const columns = ["usd", "tokens", "calls"].map(of).join(", ");
    return (yield* get(sql`SELECT count(*) AS count, ${raw(columns)} FROM holds WHERE run = ${id}`)) ?? {};
  };
  const largest = yield* extreme("max");
  return { count: numberColumn(largest, "count"), smallest: heldBy(yield* extreme("min")), largest: heldBy(largest) };
}

function* wake(which: Statement, now: Part): Plan<void> {
  yield* run(
    sql`UPDATE jobs SET state = 'waiting', why = 'delivery', run_at = NULL, changed_at = ${now} WHERE ${which}`,
  );
}
