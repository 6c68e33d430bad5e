import { setTimeout } from "node:timers/promises";
import { RlmError } from "../../runtime/index.ts";
import { hasWaited, type ProviderWait, waitsFor } from "../provider-batches/index.ts";
import { everyRun, type JobPage, type Jobs, type RunRow, type Store } from "../store/index.ts";
import { refusalOfRun } from "./failures.ts";
import { isOfAnotherBuild } from "./process-parts.ts";
import { jobsOf } from "./readable-jobs.ts";
import { type CountedRun, type HeldJobs, heldJobs, isLeftToProviders, jobsIn, overIn } from "./run-state.ts";

/** Follows a run in the store, whoever works on it. */
export interface Following {
  readonly store: FollowedStore;
  /** The run's id. */
  readonly run: string;
  /** Monotonic, ms. Default: that of the process. */
  readonly clock?: { now(): number };
  /** Resolves after `ms`, or when something has happened here, or the signal aborts. */
  wait(ms: number): Promise<void>;
  readonly signal: AbortSignal;
  /** Receives each look at the run. */
  look(now: Look & { readonly at: number }): Promise<void>;
  /**
   * Nobody else works on this store: a run has ended too when only jobs are left that another build
   * has begun.
   */
  readonly isAlone?: boolean;
  /** So long it waits for providers if nothing else can continue, ms. Default: to the end. */
  waitMs?(): number | undefined;
  /**
   * A server does not answer, since so many ms. Without it the first failure ends the following.
   */
  readonly unreachable?: ((error: RlmError, ms: number) => void) | undefined;
}

/**
 * `next`: the instant at which the first parked job continues by itself, as far as that is known.
 */
type Look = CountedRun & { readonly next: number | null; readonly held_back: HeldJobs | null };

const LOOK_MS = 1000;
const SLOWEST_MS = 30_000;

type FollowedStore = Pick<Store, "batches"> & { readonly jobs: Pick<Jobs, "run" | "counts" | "list" | "reused"> };

/**
 * Resolves when the run has ended, or nothing continues in it; null if the signal aborted before it
 * was looked at.
 */
export async function followRun(following: Following): Promise<CountedRun | null> {
  const { clock = performance, signal, wait } = following;
  let counted: CountedRun | null = null;
  let goneSince: number | null = null;
  let pause = LOOK_MS;
  let leftSince: number | null = null;
  for (;;) {
    try {
      const found = await countedRun(following.store, following.run);
      const { counts, waits } = found;
      const refusal = await refusalOfRun((page) => following.store.jobs.list(following.run, page), counts);
      counted = { ...found, refusal };
      const parked = await lookAtParked(following.store.jobs, found);
      const { next } = parked;
      const held_back = await heldJobs(following.store.jobs, counted.run, counts.parked);
      await following.look({ at: clock.now(), ...counted, next, held_back });
      goneSince = null;
      pause = LOOK_MS;
      leftSince = isLeftToProviders(counted) ? (leftSince ?? clock.now()) : null;
      const waitMs = following.waitMs?.() ?? Number.POSITIVE_INFINITY;
      if (leftSince !== null && hasWaited(waits, clock.now() - leftSince - waitMs)) return counted;
      if (await isOver(following, counted, parked)) return counted;
    } catch (error) {
      if (!(error instanceof RlmError) || error.code !== "store_failed" || !following.unreachable) throw error;
      goneSince ??= clock.now();
      following.unreachable(error, clock.now() - goneSince);
      pause = Math.min(2 * pause, SLOWEST_MS);
    }
    if (signal.aborted) return counted;
    await wait(pause);
    if (signal.aborted) return counted;
  }
}

/** A run and its counts now. @throws RlmError if there is none */
export async function countedRun(store: FollowedStore, id: string): Promise<CountedRun> {
  const run = await store.jobs.run(id);
  if (run) return { run, ...(await countsAndWaits(store, id)), reused: await store.jobs.reused(id) };
  throw new RlmError("invalid_argument", "the run was removed while it was followed", {
    suggestion: "Submit it again.",
  });
}

/**
 * Counts of a run, and the batches that its jobs wait for. An answer that arrives between the two
 * reads would leave parked jobs that wait for nothing, so counts are read until they are the same
 * after as before.
 */
export async function countsAndWaits(
  store: Pick<Store, "batches"> & { readonly jobs: Pick<Jobs, "counts"> },
  id: string,
): Promise<Pick<CountedRun, "counts" | "waits">> {
  for (let counts = await store.jobs.counts(id); ; ) {
    const waits = overIn(counts) < jobsIn(counts) ? await waitsFor(store, { run: id }) : [];
    if (counts.parked === 0 || waits.length > 0) return { counts, waits };
    const after = await store.jobs.counts(id);
    if (after.parked === counts.parked) return { counts: after, waits };
    counts = after;
  }
}

/** True if no job runs, and none will by itself. */
async function isOver(
  { store: { jobs }, run: id, isAlone }: Following,
  { run, counts, waits }: CountedRun,
  parked: Parked,
): Promise<boolean> {
  const isPaused = run.state === "paused";
  // Rows of jobs that could not be put back say that they run: nobody holds their sessions.
  if (isPaused && isAlone === true && counts.workers === 0) return true;
  if (counts.running + counts.cancelling > 0) return false;
  if (isPaused) return true;
  if (waits.length > 0) return false;
  if (counts.waiting === 0 && !parked.continue) return true;
  return isAlone === true && (await leftToOtherBuild(jobs, id)) > 0;
}

/** The parked jobs of a run that waits for no provider. */
interface Parked {
  /** The instant at which the first continues by itself, such as when its provider may be asked again; null: none does. */
  readonly next: number | null;
  /** Some continue: at that instant, or because they have been offered since they were counted. */
  readonly continue: boolean;
}

async function lookAtParked(
  jobs: Pick<Jobs, "list">,
  { run, counts, waits }: Pick<CountedRun, "counts" | "waits"> & { readonly run: Pick<RunRow, "id"> },
): Promise<Parked> {
  if (counts.parked === 0 || waits.length > 0) return { next: null, continue: false };
  const parked = await jobs.list(run.id, { states: ["parked"], from: 0, limit: PARKED_PAGE });
  const instants = parked.flatMap(({ run_at }) => run_at ?? []);
  const next = instants.length > 0 ? Math.min(...instants) : null;
  return { next, continue: next !== null || parked.length < Math.min(counts.parked, PARKED_PAGE) };
}

const PARKED_PAGE = 1000;

/**
 * The number of jobs that wait for the build of Belay that began them, if these alone are left. 0
 * if this build can continue with others, or if no job waits.
 */
export async function leftToOtherBuild(jobs: Pick<Jobs, "list">, run: string): Promise<number> {
  let left = 0;
  const list = (page: JobPage) => jobs.list(run, { ...page, states: ["waiting", "parked"] });
  for await (const { state, run_at, engine } of jobsOf(list)) {
    // SuspensionReason without an instant: it continues when its run is resumed.
    if (state === "parked" && run_at === null) continue;
    if (!isOfAnotherBuild(engine)) return 0;
    left += 1;
  }
  return left;
}

/** Waits that end when something happens. */
export function openPoke(signal: AbortSignal) {
  let happening = new AbortController();
  return {
    /** Something has happened. If nobody waits, the next wait ends at once. */
    now: () => happening.abort(),
    /** Resolves after `ms`, when something has happened, or when the signal aborts. */
    async wait(ms: number): Promise<void> {
      await setTimeout(ms, undefined, { signal: AbortSignal.any([signal, happening.signal]) }).catch(() => {});
      happening = new AbortController();
    },
  };
}

interface Idling {
  readonly store: Pick<Store, "batches"> & { readonly jobs: Pick<Jobs, "runs" | "counts" | "list"> };
  readonly queues: readonly string[];
  /** True if a job runs here. */
  isBusy(): boolean;
  readonly signal: AbortSignal;
  /**
   * ms in which only providers could continue, after which that is no work any more. Default: none
   * is too long.
   */
  readonly waitMs?: number | undefined;
  /** True once this process has looked for answers of providers. */
  hasLooked(): boolean;
}

/** Work that a queue has left: jobs can continue, or wait for a provider alone. */
type Left = "jobs" | "providers" | null;

/**
 * Resolves when no open run of the queues has anything left that is waited for, or the signal
 * aborts. Answers what is left.
 */
export async function untilIdle({ waitMs = Number.POSITIVE_INFINITY, ...idling }: Idling): Promise<Left> {
  let waited = 0;
  while (!idling.signal.aborted) {
    const waits: ProviderWait[] = [];
    const left = idling.isBusy() ? "jobs" : await leftIn(idling, waits);
    if (left === null) return null;
    if (left === "providers" && hasWaited(waits, waited - waitMs, idling.hasLooked())) return left;
    await setTimeout(LOOK_MS, undefined, { signal: idling.signal }).catch(() => {});
    waited = left === "providers" ? waited + LOOK_MS : 0;
  }
  return null;
}

/** A server that does not answer may have work. @param waited gets the waits for providers */
async function leftIn({ store, queues }: Pick<Idling, "store" | "queues">, waited: ProviderWait[]): Promise<Left> {
  const { jobs } = store;
  let left: Left = null;
  try {
    for await (const run of everyRun(jobs)) {
      if (run.state !== "open" || !queues.includes(run.queue)) continue;
      const { counts, waits } = await countsAndWaits(store, run.id);
      const { waiting, running, cancelling, parked } = counts;
      if (waiting + running + cancelling > 0) return "jobs";
      waited.push(...waits);
      if (parked > 0 && waits.length > 0) left = "providers";
      else if ((await lookAtParked(jobs, { run, counts, waits })).continue) return "jobs";
    }
    return left;
  } catch (error) {
    if (error instanceof RlmError && error.code === "store_failed") return "jobs";
    throw error;
  }
}
