import type { JobInsert, JobWithMetadata } from "pg-boss";
import * as v from "valibot";
import type { DeadLetter, Ticket, Tried } from "../dispatcher.ts";

/** Each ticket has a priority of its own: those of one insert have one age, and a lapsed one would stand behind all of them. */
export function rowOf({ run, n, rank, afterMs = 0 }: Ticket): JobInsert {
  const after = afterMs > 0 ? { startAfter: Math.ceil(afterMs / 1000) } : {};
  return { data: { run, n }, singletonKey: `${run}/${n}`, priority: -rank, ...after };
}

/** What the queue holds of a job, and nothing else. */
const Data = v.object({ run: v.string(), n: v.pipe(v.number(), v.safeInteger(), v.minValue(0)) });

/** null: whoever wrote it into the queue was not Belay. */
export function triedOf({ id, data, priority, retryCount, signal }: JobWithMetadata): Tried | null {
  const read = v.safeParse(Data, data);
  return read.success ? { ...read.output, rank: 0 - priority, id, lapses: retryCount, changed: signal } : null;
}

/** A dead letter is a ticket of its own, which names the one that lapsed. */
export function letterOf(job: JobWithMetadata): DeadLetter | null {
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
