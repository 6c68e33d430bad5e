import type { JobState } from "../store/index.ts";
import type { DeadLetter, Verdict } from "./dispatcher.ts";
import { isGettingOn } from "./getting-on.ts";
import { disposable } from "./try.ts";
import type { TryParts } from "./try-parts.ts";

/**
 * ▣ Ends a job whose ticket has used up its lapses, unless it was getting on. Its session stays as it is.
 * @throws RlmError `session_busy`, `store_failed`
 */
export async function giveUpJob(parts: TryParts, letter: DeadLetter): Promise<Verdict> {
  const found = await parts.jobs.read(letter);
  if (!found || FINAL.has(found.job.state)) return "over";
  await using lease = disposable(await parts.lease(found));
  const answers = await lease.answers();
  if (isGettingOn(letter, answers, found.job)) return { againMs: 0 };
  const { id: ticket, lapses } = letter;
  if (!(await parts.jobs.begin(found.job, { ticket, fence: lease.fence, engine: null, lapses, answers })))
    return "over";
  const state = found.job.state === "cancelling" ? "cancelled" : "failed";
  const error = `the job ended the processes that tried it: ${letter.why}`;
  const told = { error_code: "job_crashed", error, suggestion: CURE, session: found.job.session };
  const isFinished = await parts.jobs.finish(found.job, lease.fence, { state, result: null, told });
  parts.left(found, isFinished ? state : null, "job_crashed");
  return "over";
}

const FINAL: ReadonlySet<JobState> = new Set<JobState>(["done", "failed", "cancelled"]);

const CURE =
  "Look at what its session did last, then try the job again, with more memory if the process ran out of it.";
