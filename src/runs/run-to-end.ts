import { availableParallelism, totalmem } from "node:os";
import { setTimeout } from "node:timers/promises";
import { joinSignals } from "../platform/signals.ts";
import type { Jobs, RunRow } from "../store/index.ts";
import { isServer } from "../store/store-place.ts";
import type { WorkOptions } from "./api.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { countedRun, type Following, followRun, openPoke } from "./follow.ts";
import { openInProcess } from "./in-process.ts";
import { openPgBoss } from "./pg-boss.ts";
import type { CountedRun } from "./run-state.ts";
import { runsIn } from "./runs.ts";
import { work } from "./worker.ts";

/** A run that has been submitted, and what this process does with it. */
interface RunToEnd
  extends Pick<WorkOptions, "store" | "place" | "session" | "concurrency" | "resendsDoubtful" | "onProgress">,
    Pick<Following, "look" | "unreachable"> {
  readonly run: RunRow;
  readonly dispatcher: Dispatcher;
  /** Settles when all tickets have been taken. */
  readonly offering: Promise<void>;
  /** False if other processes work on the run. */
  readonly works: boolean;
  /** Suspends the jobs of this process. */
  readonly stop: AbortSignal;
  /**
   * True if jobs may take any time to be suspended. Default: 4 s, after which the process may end
   * without them.
   */
  readonly isPatient?: boolean;
  /** Time to wait for providers if nothing else can continue, ms. Default: to the end. */
  readonly waitMs?: number | undefined;
}

interface RunEnd {
  readonly counted: CountedRun;
  /** True if jobs are still being suspended: the process may end without them. */
  readonly isLate: boolean;
}

/** Works on a run, unless others do, and follows it until it has ended, or until `stop` aborts. */
export async function runToEnd(wanted: RunToEnd): Promise<RunEnd> {
  const { store, run, stop } = wanted;
  const failure = new AbortController();
  using ending = joinSignals(stop, failure.signal);
  const poke = openPoke(ending.signal);
  // A process that works has looked for answers of providers before it gives up waiting for them.
  let hasLooked = !wanted.works;
  const onLooked = () => {
    hasLooked = true;
  };
  const open = openJobs();
  const onIdle = () => open.mayBeOver() && poke.now();
  const working = wanted.works
    ? startWorkingOn(wanted, ending.signal, { onIdle, onLooked, onEnded: open.ended })
    : null;
  try {
    await Promise.race([
      follow(wanted, ending.signal, {
        async wait(ms) {
          await poke.wait(ms);
          open.beginLook();
        },
        waitMs: () => (hasLooked ? wanted.waitMs : undefined),
        onCounted: open.counted,
      }),
      failureOf(wanted.offering),
      ...(working ? [working.failed] : []),
    ]);
    const isLate = working !== null && !(await working.finish(wanted.isPatient ? NEVER : stop));
    return { counted: await countedRun(store, run.id), isLate };
  } catch (error) {
    failure.abort();
    await working?.finish(ending.signal).catch(() => {});
    throw error;
  }
}

const NEVER = new AbortController().signal;

/** Knows whether all jobs of a run may have ended, without looking at it. */
function openJobs() {
  let ended = 0;
  let before = 0;
  /** The number of jobs that have ended here once all have. Others may end some too, or let some wait again. */
  let all = 0;
  return {
    ended(): void {
      ended += 1;
    },
    /** A look at the run begins. A job that ends from now on may be counted as open in it. */
    beginLook(): void {
      before = ended;
    },
    counted({ waiting, running, cancelling }: CountedRun["counts"]): void {
      all = before + waiting + running + cancelling;
    },
    mayBeOver: () => ended >= all,
  };
}

interface WorkEvents {
  /** Called when no job runs here any more. */
  onIdle(): void;
  onLooked(): void;
  /** Called when a job has ended, or waits for something else than a try. */
  onEnded(): void;
}

function startWorkingOn(wanted: RunToEnd, suspend: AbortSignal, events: WorkEvents): Working {
  const { store, place, session, concurrency, resendsDoubtful, run, dispatcher } = wanted;
  let running = 0;
  return startWorking({
    store,
    place,
    session,
    concurrency,
    suspend,
    onLooked: events.onLooked,
    queues: [{ name: run.queue, dispatcher }],
    ...(resendsDoubtful === undefined ? {} : { resendsDoubtful }),
    onProgress(progress) {
      wanted.onProgress?.(progress);
      if (progress.kind === "begun") running += 1;
      if (progress.kind !== "left") return;
      running -= 1;
      if (progress.state !== null && progress.state !== "waiting") events.onEnded();
      if (running === 0) events.onIdle();
    },
  });
}

function follow(
  wanted: RunToEnd,
  signal: AbortSignal,
  waiting: Pick<Following, "wait" | "waitMs"> & { onCounted(counts: CountedRun["counts"]): void },
): Promise<CountedRun | null> {
  const { store, place, run, dispatcher, look, unreachable } = wanted;
  const isShared = place !== null && isServer(place);
  const offerAgain = openOffering(wanted);
  const tellCancelled = openCancelling(store.jobs, run.id, dispatcher);
  const { onCounted, ...waits } = waiting;
  return followRun({
    store,
    run: run.id,
    ...waits,
    signal,
    async look(now) {
      onCounted(now.counts);
      await look(now);
      if (isShared) return;
      if (now.counts.cancelling > 0) await tellCancelled();
      offerAgain(now);
    },
    ...(isShared ? { unreachable } : { isAlone: true }),
  });
}

/**
 * `belay jobs retry` and `resume` are other processes too: what they let wait has no ticket here.
 */
function openOffering({ store, run, dispatcher, offering, concurrency }: RunToEnd): (now: CountedRun) => void {
  let isOffering = true;
  async function until(offered: Promise<void>): Promise<void> {
    await offered.catch(() => {});
    isOffering = false;
  }
  void until(offering);
  return ({ run: now, counts }) => {
    const { waiting, running, cancelling } = counts;
    const isFull = running + cancelling >= concurrency;
    if (isOffering || now.state === "paused" || waiting === 0 || isFull) return;
    isOffering = true;
    void until(runsIn(store).offer(run, dispatcher));
  };
}

/**
 * `belay jobs cancel` is another process, and reaches the tries of this one through the rows alone.
 */
function openCancelling(jobs: Pick<Jobs, "list">, run: string, dispatcher: Dispatcher): () => Promise<void> {
  const nudged = new Set<string>();
  return async () => {
    const rows = await jobs.list(run, { states: ["cancelling"], from: 0, limit: 1000 });
    const tried = rows.flatMap(({ n, rank, ticket: id }) => (id === null ? [] : [{ ticket: { run, n, rank }, id }]));
    const fresh = tried.filter(({ ticket, id }) => !nudged.has(`${ticket.n} ${id}`));
    for (const { ticket, id } of fresh) nudged.add(`${ticket.n} ${id}`);
    await dispatcher.nudge(fresh);
  };
}

/**
 * The time within which jobs are suspended, ms. The process then ends without it: records are on
 * disk anyway.
 */
const SUSPEND_MS = 4000;

/** The work of this process. */
interface Working {
  /** Rejects if the work fails; otherwise it does not settle. */
  readonly failed: Promise<never>;
  /**
   * Begins no further job. Resolves to true when those that run have ended, and to false if
   * `stopped` has aborted and suspending them takes too long. Rejects if the work has failed.
   */
  finish(stopped: AbortSignal): Promise<boolean>;
}

export function startWorking(options: Omit<WorkOptions, "signal">): Working {
  const over = new AbortController();
  const working = work({ ...options, signal: over.signal });
  return {
    failed: failureOf(working),
    finish(stopped) {
      over.abort();
      const finished = working.then(() => true);
      return stopped.aborted ? Promise.race([finished, setTimeout(SUSPEND_MS, false, { ref: false })]) : finished;
    },
  };
}

/** Rejects with the error of the work; does not settle if it succeeds. */
function failureOf(working: Promise<void>): Promise<never> {
  const failed = new Promise<never>((_, reject) => working.catch(reject));
  // Whoever awaits the work itself gets the error there.
  failed.catch(() => {});
  return failed;
}

/**
 * Opens the dispatcher of a store: in a folder this process hands out the tickets, on a server
 * pg-boss does.
 *
 * @param log receives complaints of the queue, for people
 * @throws RlmError `store_failed`, `store_too_new`
 */
export async function openDispatcher(place: string, queue: string, log: (text: string) => void): Promise<Dispatcher> {
  return isServer(place) ? openPgBoss({ url: place, queue, log }) : openInProcess();
}

/** An open job takes about 30 MB. */
const JOB_BYTES = 64 * 2 ** 20;

/** Two jobs at once for each core, and at most one for each 64 MB of memory. */
export function usualConcurrency(): number {
  return Math.max(1, Math.min(2 * availableParallelism(), Math.floor(totalmem() / JOB_BYTES)));
}
