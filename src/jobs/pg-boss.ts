import { createRequire } from "node:module";
import type { JobInsert, JobWithMetadata, PgBoss } from "pg-boss";
import * as v from "valibot";
import { firstly, RlmError } from "../../runtime/index.ts";
import { aborted } from "../signals.ts";
import { readServerUrl } from "../store/index.ts";
import { shownPlace } from "../store-place.ts";
import type { DeadLetter, Dispatcher, Ticket, Tried } from "./dispatcher.ts";

/** Of pg-boss: other versions have other tables and compare other things. */
const VERSION = "12.35.0";
/** The queue's schema that this build knows: pg-boss changes it between minor versions. */
const QUEUE_SCHEMA = 43;

/** How a queue stands, for people. */
export interface QueueFigures {
  readonly waiting: number;
  readonly active: number;
  readonly dead: number;
  /** Of pg-boss. */
  readonly schemaVersion: number;
}

/** A dispatcher over a server, which many processes share. */
export interface ServerDispatcher extends Dispatcher {
  figures(): Promise<QueueFigures>;
}

export interface PgBossOptions {
  /** The URL of the store, `postgres://…`. */
  readonly url: string;
  readonly queue: string;
  /** What goes wrong in the background, as a sentence without a password. */
  readonly log?: (text: string) => void;
  /** What tests shorten, s. pg-boss refuses a heartbeat under 10. */
  readonly periods?: Partial<typeof PERIODS>;
}

const PERIODS = { heartbeat: 30, touch: 10, supervise: 3, monitor: 5, poll: 1, pollDead: 5, retry: 1 };

/** Tickets of one insert. */
const PIECE = 1000;

/**
 * Opens the queue, which makes and migrates its own schema, beside that of the store.
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function openPgBoss({
  url,
  queue,
  log = () => {},
  periods = {},
}: PgBossOptions): Promise<ServerDispatcher> {
  const name = shownPlace(url);
  const every = { ...PERIODS, ...periods };
  const boss = await start(url, name, every, log);
  try {
    await makeQueues(boss, queue, every);
  } catch (error) {
    await boss.stop({ graceful: false });
    throw failure(error, name);
  }

  async function offer(tickets: Iterable<Ticket> | AsyncIterable<Ticket>): Promise<void> {
    let piece: JobInsert[] = [];
    for await (const ticket of tickets) {
      piece.push(rowOf(ticket));
      if (piece.length < PIECE) continue;
      await boss.insert(queue, piece);
      piece = [];
    }
    if (piece.length > 0) await boss.insert(queue, piece);
  }

  return {
    offer,
    async work({ concurrency, signal }, attempt, dead) {
      const tries = openTries(concurrency);
      const trying = async ([job]: JobWithMetadata[]) => {
        const tried = job && triedOf(job);
        if (!tried) return log(`queue: what has the id ${job?.id} names no job, and is dropped`);
        const verdict = await tries.run(async () => {
          // It was fetched, or waited here, while the worker stopped: somebody else tries it.
          return signal.aborted ? { againMs: 0 } : attempt(tried);
        });
        // A death between the two leaves two tickets, which is harmless.
        if (verdict !== "over") await offer([{ ...tried, afterMs: verdict.againMs }]);
      };
      const burials = openTries(1);
      const burying = async ([job]: JobWithMetadata[]) => {
        const letter = job && letterOf(job);
        const verdict = letter ? await burials.run(() => dead(letter)) : "over";
        if (letter && verdict !== "over") await offer([{ ...letter, afterMs: verdict.againMs }]);
      };
      const often = { pollingIntervalSeconds: every.poll, burstWhenReadyExceeds: 1 };
      const beats = { heartbeatRefreshSeconds: every.touch };
      await boss.work(queue, { ...often, ...beats, localConcurrency: concurrency, includeMetadata: true }, trying);
      const seldom = { localConcurrency: 1, pollingIntervalSeconds: every.pollDead };
      await boss.work(deadOf(queue), { ...seldom, includeMetadata: true }, burying);
      await aborted(signal);
      await Promise.all([boss.offWork(queue), boss.offWork(deadOf(queue))]);
      await Promise.all([tries.ended(), burials.ended()]);
    },
    async nudge(tries) {
      const ids = tries.map(({ id }) => id).filter((id) => UUID.test(id));
      if (ids.length > 0) await boss.cancel(queue, ids);
      await offer(tries.map(({ ticket }) => ticket));
    },
    async figures() {
      const [[stats], [dead], version] = await Promise.all([
        boss.getQueueStats(queue, { force: true }),
        boss.getQueueStats(deadOf(queue), { force: true }),
        boss.schemaVersion(),
      ]);
      return {
        waiting: stats?.queuedCount ?? 0,
        active: stats?.activeCount ?? 0,
        dead: (dead?.queuedCount ?? 0) + (dead?.activeCount ?? 0),
        schemaVersion: version ?? 0,
      };
    },
    [Symbol.asyncDispose]: () => boss.stop({ graceful: true, timeout: 30_000 }),
  };
}

/** The ids of pg-boss. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** pg-boss takes a job whose signal aborts for ended while its try goes on: tries are counted and awaited here. */
function openTries(most: number) {
  const running = new Set<Promise<void>>();
  return {
    async run<T>(work: () => Promise<T>): Promise<T> {
      while (running.size >= most) await Promise.race(running);
      const ended = Promise.withResolvers<void>();
      running.add(ended.promise);
      try {
        return await work();
      } finally {
        running.delete(ended.promise);
        ended.resolve();
      }
    },
    ended: () => Promise.all(running),
  };
}

type Periods = typeof PERIODS;

async function start(url: string, name: string, every: Periods, log: (text: string) => void): Promise<PgBoss> {
  const { PgBoss } = await library(name);
  const { connectionString, schema } = readServerUrl(url);
  const boss = new PgBoss({
    connectionString,
    schema: `${schema}_queue`,
    application_name: "belay",
    max: 3,
    schedule: false,
    superviseIntervalSeconds: every.supervise,
    monitorIntervalSeconds: every.monitor,
    queueCacheIntervalSeconds: 10,
    maintenanceIntervalSeconds: 3600,
  });
  boss.on("error", (error) => log(`queue: ${withoutSecrets(String(error.message), url)}`));
  boss.on("warning", ({ message }) => log(`queue: ${withoutSecrets(message, url)}`));
  try {
    await boss.start();
    const version = await boss.schemaVersion();
    if (version === null || version <= QUEUE_SCHEMA) return boss;
    throw new RlmError(
      "store_too_new",
      `the queue on ${name} is of version ${version}; this build knows ${QUEUE_SCHEMA}`,
      {
        suggestion: "Update Belay: all workers of a database run one build.",
      },
    );
  } catch (error) {
    await boss.stop({ graceful: false }).catch(() => {});
    throw failure(error, name);
  }
}

async function makeQueues(boss: PgBoss, queue: string, every: Periods): Promise<void> {
  const dead = { retryLimit: 1000, retryDelay: 60, deleteAfterSeconds: 2_592_000 };
  await boss.createQueue(deadOf(queue), dead);
  await boss.updateQueue(deadOf(queue), dead);
  const options = {
    retryLimit: 5,
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

const deadOf = (queue: string) => `${queue}.dead`;

/** Each ticket has a priority of its own: those of one insert have one age, and a lapsed one would stand behind all of them. */
function rowOf({ run, n, rank, afterMs = 0 }: Ticket): JobInsert {
  const after = afterMs > 0 ? { startAfter: Math.ceil(afterMs / 1000) } : {};
  return { data: { run, n }, singletonKey: `${run}/${n}`, priority: -rank, ...after };
}

/** What the queue holds of a job, and nothing else. */
const Data = v.object({ run: v.string(), n: v.pipe(v.number(), v.safeInteger(), v.minValue(0)) });

/** null: whoever wrote it into the queue was not Belay. */
function triedOf({ id, data, priority, retryCount, signal }: JobWithMetadata): Tried | null {
  const read = v.safeParse(Data, data);
  return read.success ? { ...read.output, rank: 0 - priority, id, lapses: retryCount, changed: signal } : null;
}

/** A dead letter is a ticket of its own, which names the one that lapsed. */
function letterOf(job: JobWithMetadata): DeadLetter | null {
  const tried = triedOf(job);
  if (!tried) return null;
  const { run, n, rank } = tried;
  return { run, n, rank, id: job.sourceId ?? job.id, lapses: (job.sourceRetryCount ?? 0) + 1, why: whyOf(job) };
}

/** What the last try of a dead letter left. */
function whyOf(job: JobWithMetadata): string {
  const output: unknown = Reflect.get(job, "sourceOutput") ?? job.output;
  const message: unknown = typeof output === "object" && output !== null ? Reflect.get(output, "message") : output;
  return typeof message === "string" ? message : "its process died";
}

async function library(name: string): Promise<typeof import("pg-boss")> {
  const suggestion = `Run \`npm install pg pg-boss@${VERSION}\` where belay-rlm is installed.`;
  let found: typeof import("pg-boss");
  try {
    found = await import("pg-boss");
  } catch (cause) {
    const message = `the queue on ${name} needs the package pg-boss, which is not installed`;
    throw new RlmError("store_failed", message, { suggestion, cause });
  }
  const { version } = createRequire(import.meta.url)("pg-boss/package.json");
  if (version === VERSION) return found;
  const message = `the queue on ${name} needs pg-boss ${VERSION}, and ${version} is installed`;
  throw new RlmError("store_failed", message, { suggestion });
}

function failure(error: unknown, name: string): unknown {
  if (error instanceof RlmError || !(error instanceof Error)) return error;
  return new RlmError("store_failed", `the queue on ${name}: ${error.message}`, {
    suggestion: `${firstly("verify")}; it tells whether the server can be used.`,
    cause: error,
  });
}

function withoutSecrets(text: string, url: string): string {
  const { password } = new URL(url);
  return password === "" ? text : text.replaceAll(password, "***").replaceAll(decodeURIComponent(password), "***");
}
