import { deadOf, lookAtQueues } from "./opening.ts";

/** Tickets of a queue, as they were within the last minute. */
export interface TicketCounts {
  readonly queue: string;
  readonly waiting: number;
  readonly active: number;
  /** No worker has taken them in yet. */
  readonly dead: number;
}

/**
 * Counts the tickets on a server. It makes and migrates nothing; null: there is no queue yet. `schemaVersion` is as pg-boss counts.
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
