import { createRequire } from "node:module";
import type { PgBoss } from "pg-boss";
import { firstly, RlmError } from "../../../runtime/index.ts";
import { lookAtServer } from "../../store/index.ts";
import { PG_BOSS_VERSION, serverPackagesCure } from "../../store/server-packages.ts";
import { readServerUrl, shownPlace } from "../../store/store-place.ts";
import { MOST_LAPSES } from "../dispatcher.ts";

/** The queue's schema that this build knows: pg-boss changes it between minor versions. */
const QUEUE_SCHEMA = 43;

/** Times that tests shorten, s. pg-boss refuses a heartbeat under 10. */
export const PERIODS = { heartbeat: 30, touch: 10, supervise: 3, monitor: 5, poll: 1, pollDead: 5, retry: 1 };

export type Periods = typeof PERIODS;

interface Opening {
  readonly url: string;
  readonly queue: string;
  readonly every: Periods;
  log(text: string): void;
}

/** pg-boss with the queue of this name. @throws RlmError `store_failed`, `store_too_new` */
export async function openQueue({ url, queue, every, log }: Opening): Promise<PgBoss> {
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
export const schemaOf = (url: string) => `${readServerUrl(url).schema}_queue`;

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
export const deadOf = (queue: string) => `${queue}.dead`;

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
