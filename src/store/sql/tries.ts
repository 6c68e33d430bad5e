import { newUlid } from "../../platform/new-ulid.ts";
import type { Back, Change, JobKey, NewJob, Outcome, Tried, Try } from "../job-store.ts";
import { mayAskAgain } from "../rows/amounts.ts";
import { heldBy, sumOfAsked, triedOf } from "../rows/jobs.ts";
import { numberColumn, type Row, textColumn } from "../rows/row.ts";
import { giveBackAnswers } from "./answers.ts";
import { giveUp, hasOpenRequests } from "./batch-requests.ts";
import type { Dialect } from "./dialect.ts";
import { dropImages } from "./gc.ts";
import { readRun } from "./runs.ts";
import { BUSY } from "./sessions.ts";
import { all, get, oneOf, type Part, type Plan, packed, raw, run, type Statement, spelled, sql } from "./sql.ts";

/**
 * A try takes the job; what earlier tries held becomes doubtful. false: the job is final, or parked
 * until it is resumed.
 */
export function* begin(job: JobKey, taking: Try, { now, doubting }: Dialect): Plan<boolean> {
  const { ticket, fence, engine, lapses, answers } = taking;
  return yield* doubting(
    sql`UPDATE jobs SET state = CASE state WHEN 'cancelling' THEN state ELSE 'running' END, why = NULL, run_at = NULL,
        ticket = ${ticket}, fence = ${fence}, engine = coalesce(${engine}, engine), lapses = ${lapses}, answers = ${answers},
        begun_at = coalesce(begun_at, ${now}), changed_at = ${now}
      WHERE run = ${job.run} AND n = ${job.n} AND fence <= ${fence} ${notNewer(fence)}
        AND (state IN ('waiting', 'running', 'cancelling') OR (state = 'parked' AND run_at IS NOT NULL))`,
    job,
    false,
  );
}

/** false: another try has taken the job, or it is final. */
export function* finish(job: JobKey, fence: number, outcome: Outcome, own: Dialect): Plan<boolean> {
  const result = outcome.result === null ? null : packed(outcome.result);
  const isFinished = yield* own.doubting(
    sql`UPDATE jobs SET state = ${outcome.state}, why = NULL, result = ${result},
      told = ${packed(JSON.stringify(outcome.told))}, ended_at = ${own.now}, changed_at = ${own.now} ${underFence(job, fence)}`,
    job,
    true,
  );
  if (!isFinished) return false;
  if (own.seal) yield* own.seal(job);
  const row = yield* get(sql`SELECT session FROM jobs WHERE run = ${job.run} AND n = ${job.n}`);
  if (row) yield* giveUp([textColumn(row, "session")]);
  if (row && outcome.dropsImages) yield* dropImages(textColumn(row, "session"), own);
  return true;
}

/**
 * The try gives the job back. One that is being cancelled stays so. One that would wait for
 * requests by batch, all of which are answered by now, waits for a try. false: another try has
 * taken it.
 */
export function* putBack(job: JobKey, fence: number, back: Back, { now }: Dialect): Plan<boolean> {
  const isDelivery = back.why === DELIVERY;
  // Who answers requests by batch locks the job too: then the statement below sees what was
  // answered.
  if (isDelivery)
    yield* get(sql`SELECT n FROM jobs WHERE run = ${job.run} AND n = ${job.n} ${spelled(sql``, sql`FOR UPDATE`)}`);
  const told = back.told === undefined ? sql`told` : sql`${packed(JSON.stringify(back.told))}`;
  const isReady = isDelivery ? sql`NOT ${hasOpenRequests(sql`jobs.session`)}` : sql`1 = 0`;
  const changed = yield* run(sql`UPDATE jobs SET
      state = CASE WHEN state = 'cancelling' THEN state WHEN ${isReady} THEN 'waiting' ELSE ${back.state} END,
      why = ${back.why}, told = ${told}, run_at = ${back.afterMs > 0 ? sql`${now} + ${back.afterMs}` : null},
      attempts = attempts + ${back.counts ? 1 : 0}, changed_at = ${now} ${underFence(job, fence)}`);
  return changed === 1;
}

/** Why a job is parked whose calls wait for a provider batch. */
const DELIVERY = "delivery";

const underFence = (job: JobKey, fence: number) => sql`WHERE run = ${job.run} AND n = ${job.n} AND fence = ${fence}
  AND state IN ('running', 'cancelling') ${notNewer(fence)}`;

/** A server goes by the fence of the job's session too, if that is there. */
const notNewer = (fence: number) =>
  spelled(sql``, sql`AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = jobs.session AND s.fence > ${fence})`);

/**
 * Counts a lapse of each job that runs although nobody has its session. Returns how many they are.
 */
export function* countLapses(id: string, { now, busy }: Dialect): Plan<number> {
  const running = yield* all(sql`SELECT j.n, j.session AS id, ${BUSY} AS busy
    FROM jobs j LEFT JOIN sessions s ON s.id = j.session WHERE j.run = ${id} AND j.state IN ('running', 'cancelling')`);
  const lapsed = running.filter((row) => !busy(row)).map((row) => numberColumn(row, "n"));
  return yield* run(sql`UPDATE jobs SET lapses = lapses + 1, changed_at = ${now},
    state = CASE state WHEN 'cancelling' THEN state ELSE 'waiting' END WHERE run = ${id} AND n ${oneOf(lapsed)}`);
}

/** Returns the jobs that are being tried now. @throws RlmError `run_not_found` */
export function* changeRun(id: string, change: Change, own: Dialect): Plan<readonly Tried[]> {
  yield* readRun(id);
  switch (change.to) {
    case "cancel":
      return yield* cancel(id, change.ids, own);
    case "retry":
      yield* retry(id, change, own);
      return [];
    case "pause":
      yield* run(sql`UPDATE runs SET state = 'paused', why = ${change.why} WHERE id = ${id}`);
      return [];
    case "resume":
      yield* run(sql`UPDATE runs SET state = 'open', why = NULL WHERE id = ${id}`);
      yield* run(sql`UPDATE jobs SET state = 'waiting', why = NULL, run_at = NULL, changed_at = ${own.now}
        WHERE run = ${id} AND (state = 'parked' OR (state = 'waiting' AND run_at IS NOT NULL))
          AND NOT (coalesce(why, '') = ${DELIVERY} AND ${hasOpenRequests(sql`jobs.session`)})`);
      return [];
  }
}

function* cancel(id: string, ids: readonly string[] | null, { now, seal }: Dialect): Plan<readonly Tried[]> {
  const cancelled = yield* all(sql`UPDATE jobs
    SET state = 'cancelled', why = NULL, run_at = NULL, ended_at = ${now}, changed_at = ${now}
    WHERE ${chosen(id, ids)} AND state IN ('waiting', 'parked') RETURNING n, session`);
  yield* giveUp(cancelled.map((row) => textColumn(row, "session")));
  if (seal) for (const row of cancelled) yield* seal({ run: id, n: numberColumn(row, "n") });
  const running = yield* all(sql`UPDATE jobs SET state = 'cancelling', changed_at = ${now}
    WHERE ${chosen(id, ids)} AND state IN ('running', 'cancelling') RETURNING run, n, rank, ticket`);
  return running.flatMap(triedOf);
}

type Retry = Extract<Change, { to: "retry" }>;

/**
 * Gives each job an attempt of its own: a fresh session, and counts from 0. With `fresh` also those
 * that were begun and wait.
 */
function* retry(id: string, { ids, states, fresh, model }: Retry, { now }: Dialect): Plan<void> {
  const other = model === undefined ? sql`` : sql`, model = ${model}`;
  const begun = fresh ? sql`OR (state IN ('waiting', 'parked') AND begun_at IS NOT NULL)` : sql``;
  const again =
    yield* all(sql`SELECT n, session FROM jobs WHERE ${chosen(id, ids)} AND (state ${oneOf(states)} ${begun})
    ${spelled(sql``, sql`FOR UPDATE`)}`);
  yield* giveUp(again.map((row) => textColumn(row, "session")));
  for (const row of again) {
    const n = numberColumn(row, "n");
    yield* giveBackAnswers({ run: id, n });
    yield* run(sql`UPDATE jobs SET ${anew(newUlid(), now)} ${other} WHERE run = ${id} AND n = ${n}`);
  }
}

/** Jobs that nobody tries wait for what is asked of them now. Returns how many they are. */
export function* replaceJobs(
  id: string,
  { jobs, model }: { readonly jobs: readonly NewJob[]; readonly model: string | null },
  { now }: Dialect,
): Plan<number> {
  const free = sql`run = ${id} AND state NOT IN ('running', 'cancelling')`;
  const before =
    yield* all(sql`SELECT n, session FROM jobs WHERE ${free} AND id ${oneOf(jobs.map(({ id: one }) => one))}
    ${spelled(sql``, sql`FOR UPDATE`)}`);
  yield* giveUp(before.map((row) => textColumn(row, "session")));
  for (const row of before) yield* giveBackAnswers({ run: id, n: numberColumn(row, "n") });
  let replaced = 0;
  for (const job of jobs) {
    const input = packed(job.input);
    replaced += yield* run(sql`UPDATE jobs SET ${anew(job.session, now)}, input = ${input}, context = ${job.context},
        model = ${model}, asked = ${sumOfAsked(id, job)} WHERE ${free} AND id = ${job.id}`);
  }
  return replaced;
}

/** @param ids null: all of them */
const chosen = (id: string, ids: readonly string[] | null) =>
  sql`run = ${id} ${ids === null ? sql`` : sql`AND id ${oneOf(ids)}`}`;

const anew = (session: string, now: Part) => sql`state = 'waiting', why = NULL, run_at = NULL, ticket = NULL, fence = 0,
  session = ${session}, engine = NULL, attempts = 0, lapses = 0, answers = 0, result = NULL, told = NULL, begun_at = NULL,
  ended_at = NULL, sha256 = NULL, changed_at = ${now}`;

/** A job that waits for money which requests by batch hold. */
const HELD = sql`state = 'parked' AND why = 'held'`;
/** As many as are offered at a time. */
const MOST = 1000;

/**
 * Lets jobs that wait for held money wait for a try: as many as may have room by now, and those
 * whose own answers are there.
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
