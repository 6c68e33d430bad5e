import { RlmError, systemClock } from "../../runtime/index.ts";
import { messageOf } from "../platform/errors.ts";
import { aborted, joinSignals, sleep } from "../platform/signals.ts";
import { collectUntil } from "../provider-batches/index.ts";
import type { JobState } from "../store/index.ts";
import { isServer } from "../store/store-place.ts";
import type { WorkOptions } from "./api.ts";
import { tryInChild } from "./child.ts";
import type { DeadLetter, Tried, Verdict } from "./dispatcher.ts";
import { reasonOf } from "./failures.ts";
import { modelsBy, onlyThese } from "./job-session.ts";
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

/**
 * A ticket that has lapsed so often is tried in a process of its own: it may be the job that ends
 * processes.
 */
const LAPSES_APART = 2;

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
  const report = { error_code: "job_crashed", error, suggestion: CURE, session: found.job.session };
  const isFinished = await parts.jobs.finish(found.job, lease.fence, { state, result: null, told: report });
  left(parts, found, isFinished ? state : null, "job_crashed");
  return "over";
}

const FINAL: ReadonlySet<JobState> = new Set<JobState>(["done", "failed", "cancelled"]);

const CURE =
  "Look at what its session did last, then try the job again, with more memory if the process ran out of it.";

/** Time between two looks for jobs whose answers have come, ms. */
const LOOK_MS = 1000;
const IDLE_LOOK_MS = 5000;

/**
 * Sends what jobs have given to batches, takes in the answers, and offers the jobs that may
 * continue, until the signal aborts.
 */
async function offerDelivered(options: WorkOptions, signal: AbortSignal): Promise<void> {
  const { store, place, queues, session: own, onProgress = () => {}, onLooked: looked } = options;
  const isShared = place !== null && isServer(place);
  const sentTexts = new Set<string>();
  const stopped = aborted(signal);

  function tellOnce(kind: "said" | "paused", text: string): void {
    if (!sentTexts.has(text)) onProgress({ kind, text });
    sentTexts.add(text);
  }

  /**
   * The run says why it does not continue. A worker without the key of an account leaves it to
   * others.
   */
  async function hindered(account: string, error: RlmError, isOurs: boolean): Promise<void> {
    const reason = reasonOf(error);
    const isLeft = isShared && !isOurs;
    const names = queues.map(({ name }) => name);
    if (!isLeft && (await store.batches.pause(account, names, reason)) === 0) return;
    tellOnce(isLeft ? "said" : "paused", reason);
  }

  /**
   * Offers jobs that waited for batches and wait for nothing any more. One that has a ticket gets
   * no second one.
   */
  async function offer(): Promise<void> {
    for (const { name, dispatcher } of queues) await dispatcher.offer(await store.batches.delivered(name));
  }

  const parts = {
    store,
    models: onlyThese(modelsBy(own, process.env)(null), own.models),
    clock: options.clock ?? systemClock,
    random: Math.random,
    resendsDoubtful: options.resendsDoubtful ?? false,
    looked,
    lookMs: LOOK_MS,
    idleMs: IDLE_LOOK_MS,
    async look() {
      if (signal.aborted) return true;
      // A dispatcher that is full takes the rest once there is room.
      await Promise.race([offer().catch(ifStoreFailed), stopped]);
      return null;
    },
    hindered: (account: string, error: RlmError, isOurs: boolean) =>
      void hindered(account, error, isOurs).catch((failed) => onProgress({ kind: "said", text: messageOf(failed) })),
    failing: (_account: string, error: RlmError) => onProgress({ kind: "said", text: reasonOf(error) }),
    damaged: (error: RlmError) => tellOnce("said", reasonOf(error)),
  };
  await collectUntil(parts, signal);
}

function ifStoreFailed(error: unknown): void {
  if (!(error instanceof RlmError) || error.code !== "store_failed") throw error;
}
