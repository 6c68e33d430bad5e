import type { JobKey, JobState } from "../store/index.ts";
import { disposable } from "./try.ts";
import type { TryParts } from "./try-parts.ts";

/** ▣ Ends a job whose ticket has used up its lapses. Its session stays as it is. @throws RlmError `session_busy`, `store_failed` */
export async function giveUpJob(parts: TryParts, key: JobKey, why: string): Promise<void> {
  const found = await parts.jobs.read(key);
  if (!found || FINAL.has(found.job.state)) return;
  await using lease = disposable(await parts.lease(found));
  const { lapses, answers, session } = found.job;
  const taking = { ticket: "", fence: lease.fence, engine: null, lapses, answers };
  if (!(await parts.jobs.begin(found.job, taking))) return;
  const state = found.job.state === "cancelling" ? "cancelled" : "failed";
  const error = `the job ended the processes that tried it: ${why}`;
  const told = { error_code: "job_crashed", error, suggestion: CURE, session };
  const isFinished = await parts.jobs.finish(found.job, lease.fence, { state, result: null, told });
  parts.left(found, isFinished ? state : null, "job_crashed");
}

const FINAL: ReadonlySet<JobState> = new Set<JobState>(["done", "failed", "cancelled"]);

const CURE =
  "Look at what its session did last, then try the job again, with more memory if the process ran out of it.";
