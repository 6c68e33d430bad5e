import { newUlid } from "../../platform/new-ulid.ts";
import {
  type BatchAnswer,
  type BatchChange,
  type BatchResult,
  type Group,
  type ProviderBatch,
  REQUEST_TRIES,
  type RequestToSend,
  type Rest,
  type Waiters,
} from "../batch-store.ts";
import {
  BATCH_COLUMNS,
  type BatchRow,
  decodeBatch,
  REQUEST_COLUMNS,
  requestOf,
  sealOfAnswered,
  sealOfBatch,
} from "../rows/batch.ts";
import { numberColumn, type Row, textColumn } from "../rows/row.ts";
import { giveUp, hasOpenRequests, lockJobs, releaseHolds, wake } from "./batch-requests.ts";
import type { Dialect } from "./dialect.ts";
import { all, get, list, oneOf, type Part, type Plan, packed, raw, run, spelled, sql, summed } from "./sql.ts";

type Handling = Pick<Dialect, "now" | "holding">;

/** Rows that are read or changed at once. */
const PAGE = 500;
/** Bytes of requests after which a page of them ends. */
const PAGE_BYTES = 16 * 2 ** 20;

const COLUMNS = raw(REQUEST_COLUMNS);

export function* groupsOf({ now }: Handling): Plan<Group[]> {
  const at = yield* clock(now);
  const growing = sql`SELECT r.id FROM runs r WHERE r.state = 'open' AND EXISTS (SELECT 1 FROM jobs j
    WHERE j.run = r.id AND j.state IN ('waiting', 'running') AND NOT ${hasOpenRequests(sql`j.session`)})`;
  const rows = yield* all(sql`SELECT account, model, count(*) AS requests, ${summed("bytes")} AS bytes,
      min(at) AS oldest, max(at) AS newest, min(CASE WHEN run IS NULL THEN 0 ELSE 1 END) AS of_runs,
      max(CASE WHEN run IN (${growing}) THEN 1 ELSE 0 END) AS grows FROM batch_requests
    WHERE state = 'waiting' AND ready_at <= ${at} GROUP BY account, model ORDER BY account, model`);
  return rows.map((row) => ({
    account: textColumn(row, "account"),
    model: textColumn(row, "model"),
    requests: numberColumn(row, "requests"),
    bytes: numberColumn(row, "bytes"),
    oldestMs: at - numberColumn(row, "oldest"),
    newestMs: at - numberColumn(row, "newest"),
    grows: row.of_runs === 1 && row.grows === 1,
  }));
}

/**
 * True if a request is not of a job that has ended: its request would be paid for, and nobody would
 * take the answer.
 */
const IS_WAITED_FOR = sql`(run IS NULL OR EXISTS (SELECT 1 FROM jobs j WHERE j.session = batch_requests.root
  AND j.run = batch_requests.run AND j.state NOT IN ('done', 'failed', 'cancelled')))`;

export function* closeBatch(
  { account, model }: Pick<Group, "account" | "model">,
  fence: number,
  most: Pick<Group, "requests" | "bytes">,
  { now, holding }: Handling,
): Plan<ProviderBatch | null> {
  if (!(yield* get(holding(account, fence)))) return null;
  const id = newUlid();
  const at = yield* clock(now);
  // The update does not go by the state: a server would find the requests by the index of waiting
  // ones, each in all of them.
  const requests = yield* run(sql`WITH ready AS (SELECT session, call, k, at, bytes, most FROM batch_requests
      WHERE state = 'waiting' AND account = ${account} AND model = ${model} AND ready_at <= ${at} AND ${IS_WAITED_FOR}
      ORDER BY at, session, call, k LIMIT ${Math.max(1, most.requests)}),
    placed AS (SELECT session, call, k, row_number() OVER oldest AS place,
      sum(CAST(bytes AS double precision)) OVER oldest AS total,
      min(most) OVER oldest AS least FROM ready WINDOW oldest AS (ORDER BY at, session, call, k))
    UPDATE batch_requests SET state = 'out', provider_batch = ${id}, n = placed.place - 1, tries = tries + 1 FROM placed
    WHERE batch_requests.session = placed.session AND batch_requests.call = placed.call AND batch_requests.k = placed.k
      AND batch_requests.account = ${account} AND batch_requests.model = ${model}
      AND (placed.place = 1 OR (placed.total <= ${most.bytes} AND placed.place <= coalesce(placed.least, placed.place)))`);
  if (requests === 0) return null;
  const closed: BatchRow = {
    id,
    account,
    model,
    requests,
    closed_at: at,
    look_at: at,
    done: 0,
    cancelled: 0,
    state: "closed",
    file: null,
    asked_at: null,
    batch: null,
    made_at: null,
    over_at: null,
    proof: null,
  };
  yield* putBatch(closed);
  return shownBatch(closed, requests, at);
}

/**
 * Batches that are not over, the oldest first.
 *
 * @throws RlmError `store_corrupt`, unless nobody waits for a damaged one
 */
export function* openBatches({ now }: Handling): Plan<ProviderBatch[]> {
  const at = yield* clock(now);
  const rows =
    yield* all(sql`SELECT s.*, (SELECT count(*) FROM batch_requests p WHERE p.provider_batch = s.id AND p.state = 'out') AS wanted
    FROM provider_batches s WHERE s.state <> 'over' ORDER BY s.closed_at, s.id`);
  return rows.flatMap((row) => {
    const wanted = numberColumn(row, "wanted");
    return unlessUnwanted(wanted > 0, () => shownBatch(decodeBatch(row), wanted, at)) ?? [];
  });
}

/** null instead of an error if nobody wants it. */
function unlessUnwanted<T>(isWanted: boolean, read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (isWanted) throw error;
    return null;
  }
}

function shownBatch(row: BatchRow, wanted: number, now: number): ProviderBatch | null {
  const { over_at: _over, done: _done, look_at, closed_at, made_at, state, cancelled, requests, ...rest } = row;
  if (state === "over") return null;
  const since = (at: number | null) => (at === null ? null : now - at);
  return {
    ...rest,
    requests,
    state,
    wanted,
    cancelled: cancelled === 1,
    lookMs: Math.max(0, look_at - now),
    closedMs: now - closed_at,
    askedMs: since(row.asked_at),
    madeMs: since(made_at),
  };
}

export function* batchesOf(account: string): Plan<string[]> {
  const rows = yield* all(sql`SELECT batch FROM provider_batches WHERE account = ${account} AND batch IS NOT NULL`);
  return rows.map((row) => textColumn(row, "batch"));
}

export function* stepBatch(id: string, fence: number, change: BatchChange, own: Handling): Plan<boolean> {
  const batch = yield* heldBatch(id, fence, own);
  if (!batch) return false;
  const { asked, batch: name, lookMs, cancelled, ...replaced } = change;
  const now = yield* clock(own.now);
  yield* putBatch({
    ...batch,
    ...replaced,
    cancelled: cancelled ? 1 : batch.cancelled,
    ...(asked === undefined ? {} : { asked_at: asked ? now : null }),
    ...(name === undefined ? {} : { batch: name, made_at: now }),
    ...(lookMs === undefined ? {} : { look_at: now + lookMs }),
  });
  return true;
}

/**
 * Requests of a batch from a number on.
 *
 * @throws RlmError `store_corrupt` for a damaged one that is needed
 */
export function* requestsOf(id: string, from: number): Plan<RequestToSend[]> {
  const which = sql`provider_batch = ${id} AND state IN ('out', 'unwanted') AND n >= ${from}`;
  const sizes = yield* all(sql`SELECT n, bytes FROM batch_requests WHERE ${which} ORDER BY n LIMIT ${PAGE}`);
  let bytes = 0;
  const behind = sizes.find((row, at) => {
    bytes += numberColumn(row, "bytes");
    return at > 0 && bytes > PAGE_BYTES;
  });
  const end = behind ? numberColumn(behind, "n") : numberColumn(sizes.at(-1) ?? { n: 0 }, "n") + 1;
  const rows = yield* all(sql`SELECT ${COLUMNS}, body FROM batch_requests WHERE ${which} AND n < ${end} ORDER BY n`);
  return rows.flatMap((row) => unlessUnwanted(row.state === "out", () => requestOf(row)) ?? []);
}

export function* answerRequests(
  id: string,
  fence: number,
  answers: readonly BatchResult[],
  own: Handling,
): Plan<boolean> {
  if (!(yield* heldBatch(id, fence, own))) return false;
  // Of repeated rows the first one counts.
  const byNumber = new Map(answers.toReversed().map((answer) => [answer.n, answer]));
  const open = sql`provider_batch = ${id} AND state = 'out'`;
  const rows = yield* all(
    sql`SELECT ${COLUMNS} FROM batch_requests WHERE ${open} AND n ${oneOf([...byNumber.keys()])}`,
  );
  const roots = rootsOf(rows);
  yield* lockJobs(roots);
  const again: number[] = [];
  for (const row of rows) {
    const n = numberColumn(row, "n");
    const answer = byNumber.get(n);
    if (!answer) continue;
    if (answer.again && numberColumn(row, "tries") < REQUEST_TRIES) {
      again.push(n);
      continue;
    }
    const content = JSON.stringify(answer.body);
    yield* run(sql`UPDATE batch_requests SET ${answered(answer.status, content)}, sha256 = ${sealOfAnswered(row, answer.status, content)}
      WHERE ${open} AND n = ${n}`);
  }
  if (again.length > 0) yield* run(sql`UPDATE batch_requests SET ${WAITING} WHERE ${open} AND n ${oneOf(again)}`);
  yield* wake(roots, own.now);
  return true;
}

export function* endBatch(id: string, fence: number, rest: Rest, own: Handling): Plan<boolean> {
  const batch = yield* heldBatch(id, fence, own);
  if (!batch) return false;
  // First: one that is wanted again meanwhile is out, and has an answer too.
  yield* run(sql`DELETE FROM batch_requests WHERE provider_batch = ${id} AND state = 'unwanted'`);
  const open = sql`provider_batch = ${id} AND state = 'out'`;
  const roots = rootsOf(yield* all(sql`SELECT DISTINCT root FROM batch_requests WHERE ${open}`));
  yield* lockJobs(roots);
  const now = yield* clock(own.now);
  if (rest.kind === "refused") {
    // It was not sent: the try does not count.
    yield* run(sql`UPDATE batch_requests SET ${WAITING}, tries = tries - 1, ready_at = ${now + rest.afterMs}, most = ${rest.most}
      WHERE ${open}`);
  } else if (rest.kind === "again") {
    yield* run(sql`UPDATE batch_requests SET ${WAITING} WHERE ${open} AND tries < ${REQUEST_TRIES}`);
    yield* answerAll(id, rest.otherwise);
  } else yield* answerAll(id, rest.answer);
  yield* putBatch({ ...batch, state: "over", over_at: now });
  yield* wake(roots, own.now);
  return true;
}

/** Gives all requests of a batch that have no answer this one, page by page. */
function* answerAll(id: string, { status, body }: BatchAnswer): Plan<void> {
  const content = JSON.stringify(body);
  const open = sql`provider_batch = ${id} AND state = 'out'`;
  for (let from = 0; ; ) {
    const rows = yield* all(
      sql`SELECT ${COLUMNS} FROM batch_requests WHERE ${open} AND n >= ${from} ORDER BY n LIMIT ${PAGE}`,
    );
    const end = rows.at(-1);
    if (!end) return;
    const numbers = rows.map((row) => numberColumn(row, "n"));
    const seals = JSON.stringify(
      Object.fromEntries(rows.map((row, at) => [numbers[at], hexOf(sealOfAnswered(row, status, content))])),
    );
    const sealed = spelled(
      sql`unhex(${seals} ->> CAST(n AS text))`,
      sql`decode(CAST(${seals} AS jsonb) ->> CAST(n AS text), 'hex')`,
    );
    yield* run(sql`UPDATE batch_requests SET ${answered(status, content)}, sha256 = ${sealed}
      WHERE ${open} AND n ${oneOf(numbers)}`);
    from = numberColumn(end, "n") + 1;
  }
}

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

/**
 * Nobody needs requests any more: all of them, or those that have not left.
 *
 * @param now the clock of the store
 */
export function* giveUpWhich(of: Waiters, which: "all" | "unsent", now: Part): Plan<void> {
  const rows = "root" in of ? [] : yield* all(sql`SELECT DISTINCT root FROM batch_requests WHERE run = ${of.run}`);
  const roots = "root" in of ? [of.root] : rows.map((row) => textColumn(row, "root"));
  if (which === "all") return yield* giveUp(roots);
  yield* endUnasked(roots, now);
  yield* lockJobs(roots);
  yield* releaseHolds(roots, ["waiting"]);
  yield* run(sql`DELETE FROM batch_requests WHERE root ${oneOf(roots)} AND state = 'waiting'`);
  yield* wake(roots, now);
}

/**
 * Ends the batches of these root sessions that their provider was never asked for: their requests
 * have not left, and wait again. A process that is about to ask keeps that first, finds the batch
 * over, and does not ask.
 */
function* endUnasked(roots: readonly string[], now: Part): Plan<void> {
  const found = yield* all(
    sql`SELECT DISTINCT provider_batch FROM batch_requests WHERE root ${oneOf(roots)} AND state = 'out'`,
  );
  if (found.length === 0) return;
  const ids = found.map((row) => textColumn(row, "provider_batch"));
  const unasked = yield* all(sql`SELECT * FROM provider_batches WHERE id ${oneOf(ids)}
    AND state = 'closed' AND asked_at IS NULL ORDER BY id ${LOCKED}`);
  for (const batch of unasked.map(decodeBatch)) {
    const ofBatch = sql`provider_batch = ${batch.id}`;
    yield* lockJobs(rootsOf(yield* all(sql`SELECT DISTINCT root FROM batch_requests WHERE ${ofBatch}`)));
    yield* run(sql`DELETE FROM batch_requests WHERE ${ofBatch} AND state = 'unwanted'`);
    yield* run(sql`UPDATE batch_requests SET ${WAITING}, tries = tries - 1 WHERE ${ofBatch} AND state = 'out'`);
    yield* putBatch({ ...batch, state: "over", over_at: yield* clock(now) });
  }
}

export function* pauseRuns(account: string, queues: readonly string[], why: string): Plan<number> {
  return yield* run(sql`UPDATE runs SET state = 'paused', why = ${why} WHERE state = 'open' AND queue ${oneOf(queues)}
    AND EXISTS (SELECT 1 FROM batch_requests WHERE run = runs.id AND account = ${account} AND state IN ('waiting', 'out'))`);
}

/** A batch is ended by whoever has the lease of its account, and by whoever gives up its requests. */
const LOCKED = spelled(sql``, sql`FOR UPDATE`);

const WAITING = sql`state = 'waiting', provider_batch = NULL, n = NULL`;

/** The request is not needed any more. */
const answered = (status: number, content: string) =>
  sql`state = 'answered', status = ${status}, answer = ${packed(content)}, body = NULL`;

const rootsOf = (rows: readonly Row[]) => [...new Set(rows.map((row) => textColumn(row, "root")))];

/** A batch that is not over and whose account this store has. @throws RlmError `store_corrupt` */
function* heldBatch(id: string, fence: number, { holding }: Handling): Plan<BatchRow | null> {
  const row = yield* get(sql`SELECT * FROM provider_batches WHERE id = ${id} AND state <> 'over' ${LOCKED}`);
  return row && (yield* get(holding(textColumn(row, "account"), fence))) ? decodeBatch(row) : null;
}

function* putBatch(batch: BatchRow): Plan<void> {
  const changes = [...BATCH_COLUMNS, "sha256"].map((column) => `${column} = excluded.${column}`).join(", ");
  yield* run(sql`INSERT INTO provider_batches (${raw(BATCH_COLUMNS.join(", "))}, sha256)
    VALUES (${list(BATCH_COLUMNS.map((column) => batch[column]))}, ${sealOfBatch(batch)})
    ON CONFLICT (id) DO UPDATE SET ${raw(changes)}`);
}

function* clock(now: Part): Plan<number> {
  return numberColumn((yield* get(sql`SELECT ${now} AS now`)) ?? {}, "now");
}
