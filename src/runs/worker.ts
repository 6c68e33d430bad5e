import { systemClock } from "../../runtime/index.ts";
import { messageOf } from "../platform/errors.ts";
import { aborted, joinSignals } from "../platform/signals.ts";
import { sleep } from "../platform/sleep.ts";
import type { JobState } from "../store/index.ts";
import type { WorkOptions } from "./api.ts";
import { LAPSES_APART, tryInChild } from "./child.ts";
import type { DeadLetter, Tried, Verdict } from "./dispatcher.ts";
import { offerDelivered } from "./offer-delivered.ts";
import { processParts } from "./process-parts.ts";
import { dueJobs } from "./runs.ts";
import { disposable, left, madeProgress, tryJob } from "./try.ts";
import type { TryParts } from "./try-parts.ts";

/**
 * Tries the jobs of its queues until `signal` or `suspend` aborts; resolves when the last try has
 * returned.
 *
 * @throws RlmError of a dispatcher that cannot work
 */
export async function work(options: WorkOptions): Promise<void> {
  const { queues, concurrency } = options;
  const parts = await processParts(options);
  using stop = joinSignals(options.signal, options.suspend);
  const share = Math.max(1, Math.floor(concurrency / queues.length));
  const serving = queues.map(({ name, dispatcher }) =>
    Promise.all([
      dispatcher.work({ concurrency: share, signal: stop.signal }, attemptOf(options, parts), (letter) =>
        giveUpJob(parts, letter),
      ),
      sweeping({ name, dispatcher }, options, stop.signal),
    ]),
  );
  await Promise.all([...serving, offerDelivered(options, stop.signal)]);
}

/** The try of a ticket: in this process, or apart if it has lapsed before. */
function attemptOf(options: WorkOptions, parts: TryParts): (tried: Tried) => Promise<Verdict> {
  const { place, childEntry: entry } = options;
  return (tried) => {
    if (place === null || tried.lapses < LAPSES_APART) return tryJob(parts, tried);
    const { run, n, lapses } = tried;
    const text = `job ${n} of run ${run} is tried in a process of its own: its ticket lapsed ${lapses} times`;
    parts.tell({ kind: "said", text });
    return tryInChild({ ...options, place, ...(entry ? { entry } : {}) }, tried);
  };
}

/** Jobs that nobody tries although they are due for so long have lost their tickets, ms. */
const OVERDUE_MS = 600_000;
const MOST_SWEPT = 10_000;

/** Offers what has lost its ticket: at the start, and every 9 to 11 minutes. */
async function sweeping(
  { name, dispatcher }: WorkOptions["queues"][number],
  { store, onProgress, clock = systemClock }: WorkOptions,
  signal: AbortSignal,
): Promise<void> {
  const stopped = aborted(signal);
  while (!signal.aborted) {
    const due = dueJobs(store.jobs, name, { overdueMs: OVERDUE_MS, most: MOST_SWEPT });
    const offered = dispatcher.offer(due).catch((error: unknown) => {
      onProgress?.({ kind: "said", text: `jobs without a ticket could not be offered: ${messageOf(error)}` });
    });
    // A dispatcher that is full takes the rest once there is room.
    await Promise.race([offered, stopped]);
    await sleep(clock, OVERDUE_MS + (Math.random() - 0.5) * 120_000, signal);
  }
}

/**
 * ▣ Ends a job whose ticket has used up its lapses, unless it made progress. Its session stays as
 * it is.
 *
 * @throws RlmError `session_busy`, `store_failed`
 */
export async function giveUpJob(parts: TryParts, letter: DeadLetter): Promise<Verdict> {
  const found = await parts.jobs.read(letter);
  if (!found || FINAL.has(found.job.state)) return "over";
  await using lease = disposable(await parts.lease(found));
  const answers = await lease.answers();
  if (madeProgress(letter, answers, found.job)) return { againMs: 0 };
  const { id: ticket, lapses } = letter;
  if (!(await parts.jobs.begin(found.job, { ticket, fence: lease.fence, engine: null, lapses, answers })))
    return "over";
  const state = found.job.state === "cancelling" ? "cancelled" : "failed";
  const error = `the job ended the processes that tried it: ${letter.why}`;
  const told = { error_code: "job_crashed", error, suggestion: CURE, session: found.job.session };
  const isFinished = await parts.jobs.finish(found.job, lease.fence, { state, result: null, told });
  left(parts, found, isFinished ? state : null, "job_crashed");
  return "over";
}

const FINAL: ReadonlySet<JobState> = new Set<JobState>(["done", "failed", "cancelled"]);

const CURE =
  "Look at what its session did last, then try the job again, with more memory if the process ran out of it.";
