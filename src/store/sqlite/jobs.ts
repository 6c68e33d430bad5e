import { LIMITS } from "../../../runtime/index.ts";
import { misuse } from "../failure.ts";
import type { Amount, DueJob, DuePage, Held, Hold, JobKey, Rate, Settled } from "../job-store.ts";
import { intervalOf, mayHold, minus, plus } from "../rows/amounts.ts";
import { fieldsOfAmount, heldBy, NOTHING } from "../rows/jobs.ts";
import { columnsOf, numberColumn, type Row, textColumn } from "../rows/row.ts";
import { atMost, checkHeld, readRun } from "../sql/runs.ts";
import { all, run as change, get, list, type Plan, raw, type Statement, sql } from "../sql/sql.ts";

/**
 * Jobs that wait for their time, or out of memory for their provider, and begun ones that nobody
 * holds, by rank.
 * @param isBusy true if a process has the session
 */
export function* dueJobs(page: DuePage, now: number, isBusy: (session: string) => boolean): Plan<DueJob[]> {
  const due: DueJob[] = [];
  const limit = atMost(page.limit);
  let after = page.after;
  while (due.length < limit) {
    const rows: readonly Row[] = yield* all(dueAfter(after, page, now));
    for (const row of rows) {
      const job = columnsOf(row, { run: textColumn, n: numberColumn, rank: numberColumn, lapses: numberColumn });
      after = { ...job, afterMs: Math.max(0, numberColumn(row, "due_at") - now) };
      const isFree = row.state === "waiting" || row.state === "parked" || !isBusy(textColumn(row, "session"));
      if (isFree && due.length < limit) due.push(after);
    }
    if (rows.length < limit) break;
  }
  return due;
}

function dueAfter(after: DuePage["after"], { queue, overdueMs, limit }: DuePage, now: number): Statement {
  const behind = after ? sql`AND (j.rank, j.run, j.n) > (${after.rank}, ${after.run}, ${after.n})` : sql``;
  const overdue = overdueMs === 0 ? sql`` : sql`AND coalesce(j.run_at, j.changed_at) <= ${now - overdueMs}`;
  // Each part by an index of its own.
  const dueIn = (jobs: Statement) => sql`SELECT j.run, j.n, j.rank, j.lapses, j.state, j.session,
      coalesce(j.run_at, 0) AS due_at
    FROM ${jobs} AND r.queue = ${queue} AND (r.state = 'open' OR j.state = 'cancelling') ${overdue} ${behind}`;
  return sql`${dueIn(sql`jobs j JOIN runs r ON r.id = j.run WHERE j.state IN ('waiting', 'running', 'cancelling')`)}
    UNION ALL ${dueIn(sql`runs r CROSS JOIN jobs j ON j.run = r.id
      WHERE j.state = 'parked' AND j.run_at IS NOT NULL
        AND (j.why IS DISTINCT FROM 'held' OR j.run_at <= ${now})`)}
    ORDER BY 3, 1, 2 LIMIT ${atMost(limit)}`;
}

/** Holds an amount of the run's before a request is sent. */
export function* reserve({ run, n, call, attempt, fence, amount }: Hold): Plan<Held> {
  const purse = yield* readRun(run);
  // A request by batch that an earlier try has made: its hold continues.
  const known = sql`UPDATE holds SET fence = ${fence} WHERE ${holdOf({ run, n, call, attempt })}`;
  if ((yield* change(known)) > 0) return "held";
  const answer = mayHold(purse, amount);
  if (answer === "wait") yield* checkHeld(run);
  if (answer !== "held") return answer;
  yield* change(sql`INSERT INTO holds (run, n, call, attempt, fence, usd, tokens, calls)
    VALUES (${list([run, n, call, attempt, fence, ...fieldsOfAmount(amount)])})`);
  yield* addSums(run, { held: amount });
  return "held";
}

/** The amount that the request really took stays held until the record of its call. */
export function* releaseHold(hold: Omit<Hold, "amount">, spent: Amount): Plan<void> {
  const row = yield* get(sql`SELECT * FROM holds WHERE ${holdOf(hold)}`);
  if (!row) return;
  const [usd, tokens, calls] = fieldsOfAmount(spent);
  yield* change(sql`UPDATE holds SET usd = ${usd}, tokens = ${tokens}, calls = ${calls} WHERE ${holdOf(hold)}`);
  yield* addSums(hold.run, { held: minus(spent, heldBy(row)) });
}

/**
 * The record of a call is kept in the same transaction: its holds go, and run and job get what it
 * spent.
 */
export function* settle({ run, n, call, spent }: Settled): Plan<void> {
  const free = yield* take(sql`run = ${run} AND n = ${n} AND call = ${call}`);
  yield* addSums(run, { held: minus(NOTHING, free), spent });
  const [usd, tokens, calls] = fieldsOfAmount(spent);
  const changed =
    yield* change(sql`UPDATE jobs SET spent_usd = spent_usd + ${usd}, spent_tokens = spent_tokens + ${tokens},
    spent_calls = spent_calls + ${calls} WHERE run = ${run} AND n = ${n}`);
  if (changed === 0) throw misuse(`run ${run} has no job ${n}`);
}

const holdOf = ({ run, n, call, attempt }: Pick<Hold, "run" | "n" | "call" | "attempt">) =>
  sql`run = ${run} AND n = ${n} AND call = ${call} AND attempt = ${attempt}`;

/**
 * It is unknown what requests took whose holds an earlier try left. They count in full,
 * permanently. Unless the job has ended, holds by batch stay: the next try takes them over.
 */
export function* markDoubtful({ run, n }: JobKey, isOver: boolean): Plan<void> {
  const left = yield* take(sql`run = ${run} AND n = ${n} ${isOver ? sql`` : sql`AND attempt >= 0`}`);
  if (left === NOTHING) return;
  yield* addSums(run, { held: minus(NOTHING, left), doubtful: left });
}

/** Takes holds of a job away; returns their sum. */
function* take(which: Statement): Plan<Amount> {
  return (yield* all(sql`DELETE FROM holds WHERE ${which} RETURNING *`)).map(heldBy).reduce(plus, NOTHING);
}

/** Adds to sums of a run. */
function* addSums(run: string, sums: { readonly [Of in "held" | "spent" | "doubtful"]?: Amount }): Plan<void> {
  for (const [of, { nanodollars, tokens, sub_calls }] of Object.entries(sums)) {
    yield* change(sql`UPDATE runs SET ${raw(of)}_usd = ${raw(of)}_usd + ${nanodollars},
      ${raw(of)}_tokens = ${raw(of)}_tokens + ${tokens}, ${raw(of)}_calls = ${raw(of)}_calls + ${sub_calls}
      WHERE id = ${run}`);
  }
}

/**
 * Takes the next instants of a rate, unless they are too far; returns how long to wait for the
 * first of them, ms.
 */
export function* takeRateSlot({ key, perMinute }: Rate, cost: number, now: number): Plan<number> {
  const from = Math.max((yield* tatOf(key)) ?? now, now);
  const wait = from - now;
  if (wait <= LIMITS.rateWaitMs) yield* setTat(key, from + intervalOf(perMinute) * cost);
  return wait;
}

/** Nobody sends under this rate for so long. */
export function* silenceRate({ key }: Rate, ms: number, now: number): Plan<void> {
  yield* setTat(key, Math.max((yield* tatOf(key)) ?? now, now + ms));
}

function* tatOf(key: string): Plan<number | null> {
  const row = yield* get(sql`SELECT tat FROM rates WHERE key = ${key}`);
  return row ? numberColumn(row, "tat") : null;
}

function* setTat(key: string, tat: number): Plan<void> {
  yield* change(sql`INSERT OR REPLACE INTO rates (key, tat) VALUES (${key}, ${tat})`);
}
