import type { JobInsert, JobWithMetadata } from "pg-boss";
import * as v from "valibot";
import { type DeadLetter, MOST_LAPSES, type Ticket, type Tried } from "../dispatcher.ts";

/** Each ticket has a priority of its own: those of one insert have one age, and a lapsed one would stand behind all of them. */
export function rowOf({ run, n, rank, afterMs = 0, lapses = 0 }: Ticket): JobInsert {
  const after = afterMs > 0 ? { startAfter: Math.ceil(afterMs / 1000) } : {};
  const counted = lapses > 0 ? { retryLimit: Math.max(0, MOST_LAPSES - lapses) } : {};
  const data = lapses > 0 ? { run, n, lapses } : { run, n };
  return { data, singletonKey: `${run}/${n}`, priority: -rank, ...after, ...counted };
}

const Count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** The queue's data about a job, and nothing else. `lapses` are those of tickets before this one. */
const Data = v.object({ run: v.string(), n: Count, lapses: v.optional(Count, 0) });

/** null: whoever wrote it into the queue was not Belay. */
export function triedOf({ id, data, priority, retryCount, signal }: JobWithMetadata): Tried | null {
  const read = v.safeParse(Data, data);
  if (!read.success) return null;
  const { run, n, lapses } = read.output;
  return { run, n, rank: 0 - priority, id, lapses: lapses + retryCount, changed: signal };
}

/** A dead letter is a ticket of its own, which names the one that lapsed. */
export function letterOf(job: JobWithMetadata): DeadLetter | null {
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
