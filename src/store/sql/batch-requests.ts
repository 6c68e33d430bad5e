import { RlmError } from "../../../runtime/errors.ts";
import { remedy } from "../../../runtime/remedies.ts";
import { amount } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import type { BatchRequest, NewBatchRequest, Waiters, Waits } from "../batch-store.ts";
import type { DueJob } from "../job-store.ts";
import { plus } from "../rows/amounts.ts";
import { decodeRequest, REQUEST_COLUMNS, sealsOfRequest } from "../rows/batch.ts";
import { heldBy, NOTHING } from "../rows/jobs.ts";
import { columnsOf, numberColumn, textColumn, textColumnOrNull } from "../rows/row.ts";
import { labelOf } from "./sessions.ts";
import { all, get, list, oneOf, type Part, type Plan, packed, raw, run, type Statement, spelled, sql } from "./sql.ts";

/** Keeps a request. @param now the clock of the store */
export function* keepRequest(request: NewBatchRequest, now: Part): Plan<BatchRequest> {
  const { session, call, k, root, run: of, account, model, proof } = request;
  const body = JSON.stringify(request.body);
  const { sum, sha256 } = sealsOfRequest(request, body);
  const changing = ["root", "run", "account", "model", "bytes", "body_sum", "proof", "sha256", "body"];
  const key = sql`session = ${session} AND call = ${call} AND k = ${k}`;
  yield* run(sql`UPDATE batch_requests SET state = 'out' WHERE ${key} AND state = 'unwanted'`);
  yield* run(sql`INSERT INTO batch_requests (session, call, k, state, at, ${raw(changing.join(", "))})
    VALUES (${list([session, call, k, "waiting", now])},
      ${list([root, of, account, model, Buffer.byteLength(body), sum, proof, sha256, packed(body)])})
    ON CONFLICT (session, call, k) DO UPDATE SET ${raw(changing.map((one) => `${one} = excluded.${one}`).join(", "))}
    WHERE batch_requests.state = 'waiting'`);
  const [kept] = yield* shownRequests(sql`${key}`);
  if (kept) return kept;
  throw new RlmError("store_failed", `request ${k} of call ${call} was not kept`, { suggestion: "Try again." });
}

/** The requests of a call, in the order of their numbers. @throws RlmError `store_corrupt` */
export function* requestsOfCall(session: string, call: string): Plan<BatchRequest[]> {
  return yield* shownRequests(sql`session = ${session} AND call = ${call} AND p.state <> 'unwanted'`);
}

function* shownRequests(which: Statement): Plan<BatchRequest[]> {
  const columns = raw(REQUEST_COLUMNS.replaceAll(/\w+/g, "p.$&"));
  const rows = yield* all(sql`SELECT ${columns}, p.at, p.answer, s.made_at, s.batch FROM batch_requests p
    LEFT JOIN provider_batches s ON s.id = p.provider_batch WHERE ${which} ORDER BY k`);
  return rows.map(decodeRequest);
}

/**
 * True if a root session has a request that nobody has answered.
 *
 * @param root its id, as a statement has it
 */
export const hasOpenRequests = (root: Statement) =>
  sql`EXISTS (SELECT 1 FROM batch_requests o WHERE o.root = ${root} AND o.state IN ('waiting', 'out'))`;

/** The records of these calls are kept in the same transaction: their requests go. */
export function* dropDelivered(session: string, calls: readonly string[]): Plan<void> {
  yield* drop(sql`session = ${session} AND call ${oneOf(calls)}`);
}

/** Nobody needs the requests of these root sessions any more. */
export function* giveUp(roots: readonly string[]): Plan<void> {
  const some = yield* get(sql`SELECT k FROM batch_requests WHERE root ${oneOf(roots)} AND state <> 'unwanted' LIMIT 1`);
  if (!some) return;
  yield* releaseHolds(roots, ["waiting"]);
  yield* releaseHolds(roots, ["out", "answered"]);
  yield* drop(sql`root ${oneOf(roots)}`);
}

/** In this order: what leaves meanwhile is out afterwards. */
function* drop(which: Statement): Plan<void> {
  yield* run(sql`DELETE FROM batch_requests WHERE ${which} AND state IN ('waiting', 'answered')`);
  yield* run(sql`UPDATE batch_requests SET state = 'unwanted' WHERE ${which} AND state = 'out'`);
}

/**
 * Releases what requests hold. If they have left, it becomes doubtful: it counts in full,
 * permanently.
 */
export function* releaseHolds(roots: readonly string[], states: readonly BatchRequest["state"][]): Plan<void> {
  const runs = yield* all(sql`SELECT DISTINCT run FROM batch_requests
    WHERE root ${oneOf(roots)} AND state ${oneOf(states)} AND run IS NOT NULL`);
  if (runs.length === 0) return;
  const ids = runs.map((row) => textColumn(row, "run"));
  // As when a call is settled, the runs are locked first.
  yield* all(sql`SELECT id FROM runs WHERE id ${oneOf(ids)} ORDER BY id ${spelled(sql``, sql`FOR UPDATE`)}`);
  const gone = yield* all(sql`DELETE FROM holds WHERE (run, n, call, attempt) IN (
    SELECT j.run, j.n, p.call, -1 - p.k FROM batch_requests p JOIN jobs j ON j.session = p.root
    WHERE p.root ${oneOf(roots)} AND p.state ${oneOf(states)}) RETURNING *`);
  for (const id of ids) {
    const held = gone.flatMap((row) => (row.run === id ? heldBy(row) : [])).reduce(plus, NOTHING);
    const doubtful = states.includes("waiting") ? NOTHING : held;
    yield* run(sql`UPDATE runs SET held_usd = held_usd - ${held.nanodollars}, held_tokens = held_tokens - ${held.tokens},
      held_calls = held_calls - ${held.sub_calls}, doubtful_usd = doubtful_usd + ${doubtful.nanodollars},
      doubtful_tokens = doubtful_tokens + ${doubtful.tokens}, doubtful_calls = doubtful_calls + ${doubtful.sub_calls}
      WHERE id = ${id}`);
  }
}

/**
 * Locks the jobs of root sessions, so that of two that answer the last requests of a job the second
 * one sees it.
 */
export function* lockJobs(roots: readonly string[]): Plan<void> {
  yield* all(sql`SELECT n FROM jobs WHERE session ${oneOf(roots)} ORDER BY run, n ${spelled(sql``, sql`FOR UPDATE`)}`);
}

/**
 * Jobs of these root sessions that waited for requests, and for none any more, wait for a try. They
 * are locked.
 */
export function* wake(roots: readonly string[], now: Part): Plan<void> {
  yield* run(sql`UPDATE jobs SET state = 'waiting', changed_at = ${now}
    WHERE session ${oneOf(roots)} AND state = 'parked' AND why = 'delivery' AND NOT ${hasOpenRequests(sql`jobs.session`)}`);
}

/**
 * Jobs that waited for requests and wait for a try. They say why until it begins, since their
 * tickets may get lost.
 */
export function* deliveredJobs(queue: string): Plan<DueJob[]> {
  const rows = yield* all(sql`SELECT j.run, j.n, j.rank, j.lapses FROM runs r JOIN jobs j ON j.run = r.id
    WHERE r.queue = ${queue} AND r.state = 'open' AND j.state = 'waiting' AND j.why = 'delivery' ORDER BY j.rank LIMIT 1000`);
  return rows.map((row) => ({
    ...columnsOf(row, { run: textColumn, n: numberColumn, rank: numberColumn, lapses: numberColumn }),
    afterMs: 0,
  }));
}

/** The open requests of a run or a root session, by batch; those without one first. */
export function* waitsOf(of: Waiters): Plan<Waits[]> {
  const whose = "run" in of ? sql`run = ${of.run}` : sql`root = ${of.root}`;
  const rows =
    yield* all(sql`SELECT g.*, s.batch, s.state, coalesce(s.done, 0) AS done, coalesce(s.made_at, g.oldest) AS since
    FROM (SELECT account, model, provider_batch, count(*) AS calls, min(at) AS oldest FROM batch_requests
      WHERE ${whose} AND state IN ('waiting', 'out') GROUP BY account, model, provider_batch) g
    LEFT JOIN provider_batches s ON s.id = g.provider_batch ORDER BY g.provider_batch IS NOT NULL, since, g.account, g.model`);
  const waits: Waits[] = [];
  for (const row of rows) {
    const account = textColumn(row, "account");
    const earlier = waits.find((one) => one.account === account)?.earlier ?? (yield* tookOf(account));
    waits.push({
      account,
      model: textColumn(row, "model"),
      batch: textColumnOrNull(row, "batch"),
      earlier,
      calls: numberColumn(row, "calls"),
      done: numberColumn(row, "done"),
      since: numberColumn(row, "since"),
      state: (["closed", "out", "doubt"] as const).find((one) => one === row.state) ?? "waiting",
    });
  }
  return waits;
}

/** ms that the last batches of an account took. */
function* tookOf(account: string): Plan<number[]> {
  const rows = yield* all(sql`SELECT over_at - made_at AS took FROM provider_batches
    WHERE account = ${account} AND over_at IS NOT NULL AND made_at IS NOT NULL ORDER BY over_at DESC LIMIT 9`);
  return rows.map((row) => numberColumn(row, "took"));
}

/**
 * Refuses to drop a session whose requests are out.
 *
 * @throws RlmError `session_busy`, naming a batch
 */
export function* refuseSession(id: string): Plan<void> {
  yield* refuseOut(sql`p.root = ${id}`, `session ${displayName(yield* labelOf(id))}`);
}

/** Refuses to drop a run whose requests are out. @throws RlmError `session_busy`, naming a batch */
export function* refuseRun(id: string, name: string): Plan<void> {
  yield* refuseOut(sql`p.run = ${id}`, `the run ${name}`);
}

function* refuseOut(which: Statement, label: string): Plan<void> {
  const row = yield* get(sql`SELECT count(*) AS calls, min(s.batch) AS batch FROM batch_requests p
    LEFT JOIN provider_batches s ON s.id = p.provider_batch WHERE ${which} AND p.state = 'out'`);
  if (!row || row.calls === 0) return;
  const batch = textColumnOrNull(row, "batch");
  const where = batch === null ? "a batch that is about to be made" : `the batch ${batch}`;
  throw new RlmError("session_busy", `${label} waits for ${amount(numberColumn(row, "calls"), "call")} in ${where}`, {
    suggestion: `Wait for the answers, or ${remedy("giveUpCalls")}: they are paid for all the same.`,
  });
}

/**
 * Drops batches that have been over for long, and what was given up and has ended or closed long
 * ago.
 *
 * @param now ms since the epoch
 */
export function* dropOver(now: number): Plan<void> {
  const before = now - OVER_MS;
  const open = sql`SELECT id FROM provider_batches WHERE state <> 'over' AND (closed_at >= ${before}
    OR EXISTS (SELECT 1 FROM batch_requests p WHERE p.provider_batch = provider_batches.id AND p.state <> 'unwanted'))`;
  yield* run(sql`DELETE FROM batch_requests WHERE state = 'unwanted' AND provider_batch NOT IN (${open})`);
  yield* run(sql`DELETE FROM provider_batches WHERE id NOT IN (${open}) AND (state <> 'over' OR over_at < ${before})
    AND NOT EXISTS (SELECT 1 FROM batch_requests p WHERE p.provider_batch = provider_batches.id)`);
}

const OVER_MS = 7 * 24 * 3600_000;
