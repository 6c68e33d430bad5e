import { setTimeout } from "node:timers/promises";
import PQueue from "p-queue";
import type { JobInsert, JobWithMetadata, WorkOptions } from "pg-boss";
import * as v from "valibot";
import { aborted } from "../../platform/signals.ts";
import { type DeadLetter, type Dispatcher, MOST_LAPSES, type Ticket, type Tried, type Verdict } from "../dispatcher.ts";
import { deadOf, openQueue, PERIODS, type Periods, schemaOf } from "./opening.ts";

interface PgBossOptions {
  /** The URL of the store, `postgres://…`. */
  readonly url: string;
  readonly queue: string;
  /** Reports a failure in the background, as a sentence without a password. */
  readonly log?: (text: string) => void;
  /** Times that tests shorten, s. pg-boss refuses a heartbeat under 10. */
  readonly periods?: Partial<Periods>;
}

/** Tickets of one insert. */
const PIECE = 1000;

/**
 * Opens the queue, which makes and migrates its own schema, beside that of the store.
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function openPgBoss(options: PgBossOptions): Promise<Dispatcher> {
  const { queue, log = () => {} } = options;
  const every = { ...PERIODS, ...options.periods };
  const boss = await openQueue({ ...options, log, every });
  const bringForward = bringForwardIn(schemaOf(options.url));

  async function offer(tickets: Iterable<Ticket> | AsyncIterable<Ticket>): Promise<void> {
    let piece: JobInsert[] = [];
    for await (const ticket of tickets) {
      piece.push(rowOf(ticket));
      if (piece.length < PIECE) continue;
      await insert(piece);
      piece = [];
    }
    if (piece.length > 0) await insert(piece);
  }

  /** Inserts tickets. One whose job has a later one gives it its own time. */
  async function insert(piece: JobInsert[]): Promise<void> {
    await boss.insert(queue, piece);
    const times = piece.map(({ singletonKey, startAfter = 0 }) => ({ key: singletonKey, s: startAfter }));
    await boss.getDb().executeSql(bringForward, [queue, JSON.stringify(times)]);
  }

  /** Gives a ticket back, once the server is there. Until then the old one stays active. */
  async function giveBack(ticket: Ticket, verdict: Exclude<Verdict, "over">, stopped: AbortSignal): Promise<void> {
    const { run, n, rank } = ticket;
    const { lapses = 0 } = verdict;
    const isDue = "dueMs" in verdict;
    const row = rowOf({ run, n, rank, lapses, afterMs: isDue ? verdict.dueMs : verdict.againMs }, !isDue);
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MOST_WAIT_MS)) {
      try {
        return await insert([row]);
      } catch (error) {
        if (stopped.aborted) throw error;
        await setTimeout(waitMs, undefined, { signal: stopped }).catch(() => {});
      }
    }
  }

  /**
   * A loop that looks for tickets. Where it found one it looks again at once: pg-boss's own would
   * wait for its time.
   */
  async function look(name: string, how: WorkOptions, then: (jobs: JobWithMetadata[]) => Promise<void>): Promise<void> {
    let id = "";
    id = await boss.work(name, { ...how, includeMetadata: true }, async (jobs: JobWithMetadata[]) => {
      try {
        await then(jobs);
      } finally {
        boss.notifyWorker(id);
      }
    });
  }

  return {
    offer,
    async work({ concurrency, signal }, attempt, dead) {
      // pg-boss takes a job whose signal aborts for ended while its try continues: tries are
      // counted and awaited here.
      const tries = new PQueue({ concurrency });
      const trying = async ([job]: JobWithMetadata[]): Promise<void> => {
        const tried = job && triedOf(job);
        if (!tried) return log(`queue: what has the id ${job?.id} names no job, and is dropped`);
        const verdict = await tries.add(async () => {
          // It was fetched, or waited here, while the worker stopped: another worker tries it.
          return signal.aborted ? { againMs: 0 } : attempt(tried);
        });
        // A death between the two leaves two tickets, which is harmless.
        if (verdict !== "over") await giveBack(tried, verdict, signal);
      };
      const burials = new PQueue({ concurrency: 1 });
      const burying = async ([job]: JobWithMetadata[]) => {
        const letter = job && letterOf(job);
        const verdict = letter ? await burials.add(() => dead(letter)) : "over";
        if (letter && verdict !== "over") await giveBack(letter, verdict, signal);
      };
      const often = { pollingIntervalSeconds: every.poll, heartbeatRefreshSeconds: every.touch };
      for (let loop = 0; loop < concurrency; loop++) await look(queue, often, trying);
      await look(deadOf(queue), { pollingIntervalSeconds: every.pollDead }, burying);
      await aborted(signal);
      await Promise.all([boss.offWork(queue), boss.offWork(deadOf(queue))]);
      await Promise.all([tries.onIdle(), burials.onIdle()]);
    },
    async nudge(tries) {
      const ids = tries.map(({ id }) => id).filter((id) => UUID.test(id));
      if (ids.length > 0) await boss.cancel(queue, ids);
      await offer(tries.map(({ ticket }) => ticket));
    },
    [Symbol.asyncDispose]: () => boss.stop({ graceful: true, timeout: 30_000 }),
  };
}

/** Time to wait for a server that is away. The time doubles. */
const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;

/** The ids of pg-boss. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Gives tickets that wait for their jobs' time an earlier one. pg-boss inserts no second ticket of a
 * job.
 */
const bringForwardIn = (schema: string) => `
  UPDATE ${schema}.job SET start_after = offered.at
  FROM (
    SELECT key, now() + s * interval '1 s' AS at FROM jsonb_to_recordset($2::jsonb) AS o(key text, s float8)
  ) AS offered
  WHERE name = $1 AND state = 'created' AND policy = 'short' AND coalesce(singleton_key, '') = offered.key
    AND start_after > offered.at AND NOT data ? 'keep'`;

/**
 * Each ticket has a priority of its own: those of one insert have one age, and a lapsed one would
 * stand behind all of them.
 *
 * @param isKept it waits for as long as it says, even if its job is offered meanwhile
 */
function rowOf({ run, n, rank, afterMs = 0, lapses = 0 }: Ticket, isKept = false): JobInsert {
  const after = afterMs > 0 ? { startAfter: Math.ceil(afterMs / 1000) } : {};
  const counted = lapses > 0 ? { retryLimit: Math.max(0, MOST_LAPSES - lapses) } : {};
  const data = { run, n, lapses: lapses > 0 ? lapses : undefined, keep: isKept ? true : undefined };
  return { data, singletonKey: `${run}/${n}`, priority: -rank, ...after, ...counted };
}

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/**
 * The queue's data about a job, and nothing else. `lapses` are those of tickets before this one.
 */
const Data = v.object({ run: v.string(), n: Count, lapses: v.optional(Count, 0) });

/** null: whoever wrote it into the queue was not Belay. */
function triedOf({ id, data, priority, retryCount, signal }: JobWithMetadata): Tried | null {
  const read = v.safeParse(Data, data);
  if (!read.success) return null;
  const { run, n, lapses } = read.output;
  return { run, n, rank: 0 - priority, id, lapses: lapses + retryCount, changed: signal };
}

/** A dead letter is a ticket of its own, which names the one that lapsed. */
function letterOf(job: JobWithMetadata): DeadLetter | null {
  const { sourceId, sourceRetryCount } = job;
  const tried = triedOf({ ...job, retryCount: sourceRetryCount ?? 0 });
  if (!tried) return null;
  const { run, n, rank, lapses } = tried;
  return { run, n, rank, id: sourceId ?? job.id, lapses: lapses + 1, why: whyOf(job) };
}

/** The reason that the last try of a dead letter left. */
function whyOf(job: JobWithMetadata): string {
  const output: unknown = Reflect.get(job, "sourceOutput") ?? job.output;
  const message: unknown = typeof output === "object" && output !== null ? Reflect.get(output, "message") : output;
  return typeof message === "string" ? message : "its process died";
}
