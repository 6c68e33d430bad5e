import { createRequire } from "node:module";
import { setTimeout } from "node:timers/promises";
import PQueue from "p-queue";
import type { JobInsert, JobWithMetadata, PgBoss, WorkOptions } from "pg-boss";
import * as v from "valibot";
import { firstly, RlmError } from "../../runtime/index.ts";
import { aborted } from "../platform/signals.ts";
import { lookAtServer } from "../store/index.ts";
import { PG_BOSS_VERSION, serverPackagesCure } from "../store/server-packages.ts";
import { readServerUrl, shownPlace } from "../store/store-place.ts";
import { type DeadLetter, type Dispatcher, MOST_LAPSES, type Ticket, type Tried, type Verdict } from "./dispatcher.ts";

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

/** The queue's schema that this build knows: pg-boss changes it between minor versions. */
const QUEUE_SCHEMA = 43;

/** Times that tests shorten, s. pg-boss refuses a heartbeat under 10. */
const PERIODS = { heartbeat: 30, touch: 10, supervise: 3, monitor: 5, poll: 1, pollDead: 5, retry: 1 };

type Periods = typeof PERIODS;

interface Opening {
  readonly url: string;
  readonly queue: string;
  readonly every: Periods;
  log(text: string): void;
}

/** pg-boss with the queue of this name. @throws RlmError `store_failed`, `store_too_new` */
async function openQueue({ url, queue, every, log }: Opening): Promise<PgBoss> {
  const name = shownPlace(url);
  const { PgBoss } = await library(name);
  const boss = new PgBoss({
    ...placeIn(url),
    max: 3,
    superviseIntervalSeconds: every.supervise,
    monitorIntervalSeconds: every.monitor,
    queueCacheIntervalSeconds: 10,
    maintenanceIntervalSeconds: 3600,
  });
  boss.on("error", (error) => log(`queue: ${withoutSecrets(String(error.message), url)}`));
  boss.on("warning", ({ message }) => log(`queue: ${withoutSecrets(message, url)}`));
  try {
    await boss.start();
    checkVersion(await boss.schemaVersion(), name);
    await makeQueues(boss, queue, every);
    return boss;
  } catch (error) {
    await boss.stop({ graceful: false }).catch(() => {});
    throw failure(error, name);
  }
}

/**
 * Has `work` look at the queues of a server, none of which is made, migrated or supervised by that;
 * null: there are none yet.
 *
 * @throws RlmError `store_failed`, `store_too_new`
 */
async function lookAtQueues<T>(url: string, work: (boss: PgBoss, version: number) => Promise<T>): Promise<T | null> {
  const name = shownPlace(url);
  const { queue: version } = await lookAtServer(url);
  if (version === null) return null;
  const { PgBoss } = await library(name);
  const boss = new PgBoss({ ...placeIn(url), max: 1, supervise: false, migrate: false, createSchema: false });
  boss.on("error", () => {});
  try {
    checkVersion(version, name);
    await boss.start();
    return await work(boss, version);
  } catch (error) {
    throw failure(error, name);
  } finally {
    await boss.stop({ graceful: false }).catch(() => {});
  }
}

function placeIn(url: string) {
  const { connectionString } = readServerUrl(url);
  return { connectionString, schema: schemaOf(url), application_name: "belay", schedule: false };
}

/** The schema of the queues, beside that of the store. */
const schemaOf = (url: string) => `${readServerUrl(url).schema}_queue`;

/** @throws RlmError `store_too_new` */
function checkVersion(version: number | null, name: string): void {
  if (version === null || version <= QUEUE_SCHEMA) return;
  const message = `the queue on ${name} is of version ${version}; this build knows ${QUEUE_SCHEMA}`;
  throw new RlmError("store_too_new", message, {
    suggestion: "Update Belay: all workers of a database run one build.",
  });
}

async function makeQueues(boss: PgBoss, queue: string, every: Periods): Promise<void> {
  const dead = { retryLimit: 1000, retryDelay: 60, deleteAfterSeconds: 2_592_000 };
  await boss.createQueue(deadOf(queue), dead);
  await boss.updateQueue(deadOf(queue), dead);
  const options = {
    retryLimit: MOST_LAPSES,
    ...(every.retry > 0 ? { retryDelay: every.retry, retryBackoff: true, retryDelayMax: 60 } : { retryDelay: 0 }),
    heartbeatSeconds: every.heartbeat,
    expireInSeconds: 86_400,
    retentionSeconds: 31_536_000,
    deleteAfterSeconds: 3600,
    deadLetter: deadOf(queue),
  };
  // The policy of a queue cannot be changed: `short` keeps one waiting ticket of a key.
  await boss.createQueue(queue, { ...options, policy: "short" });
  await boss.updateQueue(queue, options);
}

/** The queue of its dead letters. */
const deadOf = (queue: string) => `${queue}.dead`;

async function library(name: string): Promise<typeof import("pg-boss")> {
  const suggestion = serverPackagesCure();
  let found: typeof import("pg-boss");
  try {
    found = await import("pg-boss");
  } catch (cause) {
    const message = `the queue on ${name} needs the package pg-boss, which is not installed`;
    throw new RlmError("store_failed", message, { suggestion, cause });
  }
  const { version } = createRequire(import.meta.url)("pg-boss/package.json");
  if (version === PG_BOSS_VERSION) return found;
  const message = `the queue on ${name} needs pg-boss ${PG_BOSS_VERSION}, and ${version} is installed`;
  throw new RlmError("store_failed", message, { suggestion });
}

function failure(error: unknown, name: string): unknown {
  if (error instanceof RlmError || !(error instanceof Error)) return error;
  return new RlmError("store_failed", `the queue on ${name}: ${error.message}`, {
    suggestion: `${firstly("verify")}; it checks the server.`,
    cause: error,
  });
}

function withoutSecrets(text: string, url: string): string {
  const { password } = new URL(url);
  return password === "" ? text : text.replaceAll(password, "***").replaceAll(decodeURIComponent(password), "***");
}

/** Tickets of a queue, as they were within the last minute. */
export interface TicketCounts {
  readonly queue: string;
  readonly waiting: number;
  readonly active: number;
  /** No worker has taken them in yet. */
  readonly dead: number;
}

/**
 * Counts the tickets on a server. It makes and migrates nothing; null: there is no queue yet.
 * `schemaVersion` is as pg-boss counts.
 *
 * @throws RlmError `store_failed`
 */
export async function queueFigures(url: string) {
  return lookAtQueues(url, async (boss, schemaVersion) => {
    const names = (await boss.getQueues()).map(({ name }) => name);
    const queues: TicketCounts[] = [];
    for (const queue of names.filter((name) => names.includes(deadOf(name))).toSorted()) {
      const [stats] = await boss.getQueueStats(queue, { force: true });
      const [dead] = await boss.getQueueStats(deadOf(queue), { force: true });
      queues.push({
        queue,
        waiting: stats?.queuedCount ?? 0,
        active: stats?.activeCount ?? 0,
        dead: (dead?.queuedCount ?? 0) + (dead?.activeCount ?? 0),
      });
    }
    return { schemaVersion, queues };
  });
}
