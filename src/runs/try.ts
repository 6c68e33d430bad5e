import { hasCode, RlmError } from "../../runtime/index.ts";
import { onceAborted } from "../platform/signals.ts";
import type { JobOfRun, JobRow, JobState, RunRow } from "../store/index.ts";
import type { Tried, Verdict } from "./dispatcher.ts";
import { reasonOf } from "./failures.ts";
import { STORE_MS, stepAfter } from "./job-end.ts";
import { budgetReason } from "./run-state.ts";
import { type RunSpec, readSpec, specOfJob } from "./spec.ts";
import type { JobEnd, JobLease, Stops, Suspended, Taking, TryParts } from "./try-parts.ts";

/**
 * One try of a job, from its ticket to the verdict. It rejects only because of a defect of Belay.
 */
export async function tryJob(parts: TryParts, ticket: Tried): Promise<Verdict> {
  try {
    const found = await parts.jobs.read(ticket);
    const isForeign = parts.engine.isForeign(found?.job.engine ?? null);
    const early = verdictUnlessDue(found, parts.now(), isForeign);
    if (!found || early === "over") return "over";
    if (early !== null && isForeign) parts.foreign(found);
    if (early !== null) return { ...early, lapses: ticket.lapses };
    const taken = await take(parts, found, ticket);
    if (typeof taken === "string") return await pauseRun(parts, found.run, taken);
    const begun = await begunUnder(parts, ticket, found, taken);
    return typeof begun === "number" ? await refusedBy(parts, ticket, begun) : begun;
  } catch (error) {
    // The run stops until a person has repaired the store.
    if (isDamage(error)) return pauseRun(parts, { id: ticket.run, name: ticket.run }, reasonOf(error));
    if (hasCode(error, "session_busy")) return { againMs: parts.busyMs(ticket, error), lapses: ticket.lapses };
    return verdictOf(error, ticket);
  }
}

/**
 * The verdict on a try that began; the fence of its lease if the row refused it. The lease is given
 * back in both cases.
 */
async function begunUnder(
  parts: TryParts,
  ticket: Tried,
  found: JobOfRun,
  taken: { readonly spec: RunSpec; readonly lease: JobLease },
): Promise<Verdict | number> {
  await using lease = disposable(taken.lease);
  const answers = ticket.lapses === 0 ? 0 : await lease.answers();
  const taking = { ...takingOf(parts, ticket), fence: lease.fence, answers };
  if (madeProgress(ticket, answers, found.job)) return { againMs: 0 };
  if (!(lease.begun ?? (await parts.jobs.begin(found.job, taking)))) return lease.fence; // ▣ running
  return await underLease(parts, ticket, found, taken.spec, lease);
}

const takingOf = ({ engine }: TryParts, { id, lapses }: Tried): Taking => ({ ticket: id, engine: engine.own, lapses });

/**
 * The verdict on a job that refused the fence of a lease. Another try has taken or ended it, unless
 * its row is damaged. Each lease has a higher fence than those before it, so no row that was read
 * earlier can have a higher one than a new lease. No try could ever begin such a job.
 */
async function refusedBy(parts: TryParts, ticket: Tried, fence: number): Promise<Verdict> {
  const found = await parts.jobs.read(ticket);
  if (!found || found.job.fence <= fence || !WAITING.has(found.job.state)) return "over";
  await using lease = disposable(await parts.lease(found));
  if (found.job.fence <= lease.fence) return "over";
  const why = `the row of job ${JSON.stringify(found.job.id)} is damaged (store_corrupt): its fence is ${found.job.fence}, and its session's is ${lease.fence}`;
  return pauseRun(parts, found.run, `${why}. Leave this job out, and begin a new run with the others`);
}

const WAITING: ReadonlySet<JobState> = new Set<JobState>(["waiting", "parked"]);

/** The job is this try's as long as the lease lasts. */
async function underLease(
  parts: TryParts,
  ticket: Tried,
  before: JobOfRun,
  spec: RunSpec,
  lease: JobLease,
): Promise<Verdict> {
  const { jobs } = parts;
  const wasTried = before.job.state !== "waiting";
  const found = wasTried ? ((await jobs.read(ticket)) ?? before) : before;
  const { run, n, id, begun_at } = found.job;
  parts.tell({ kind: "begun", key: { run, n }, id, resumed: begun_at !== null });
  using stops = openStops(parts, ticket, lease.fence);
  const end = await sessionEnd(found, spec, lease, stops);
  const by = { retries: spec.retries, suspended: stops.suspended(), now: parts.now(), random: parts.random };
  const step = stepAfter(end, found.job, by);
  switch (step.kind) {
    case "finish": {
      const { state } = step.outcome;
      const dropsImages = state === "done" && !spec.keep_sessions;
      const outcome = { ...step.outcome, dropsImages };
      const isFinished = await jobs.finish(found.job, lease.fence, outcome); // ▣ done, failed or cancelled
      if (state === "done") parts.troubles.done(found.run.id);
      left(parts, found, isFinished ? state : null, isFinished ? codeIn(end) : null);
      return isFinished && state === "failed" ? await failFast(parts, found, spec) : "over";
    }
    case "put": {
      const { state, why } = step.back;
      await pauseWithoutMoney(parts, found, stops); // ▣ before the job: it comes again with the run
      await pauseInTrouble(parts, found, stops); // ▣ before the job
      if (step.damage) await pauseRun(parts, found.run, reasonOf(step.damage)); // ▣ before the job
      const isPut = await jobs.put(found.job, lease.fence, step.back); // ▣ waiting or parked
      left(parts, found, isPut ? state : null, isPut ? why : null);
      return isPut && step.afterMs !== null ? { dueMs: step.afterMs } : "over";
    }
    case "again":
      left(parts, found, null, codeIn(end));
      return { againMs: step.afterMs, lapses: ticket.lapses };
  }
}

/** Tells what the try has left the job in; null: it changed nothing. */
export function left({ tell }: TryParts, { job }: JobOfRun, state: JobState | null, why: string | null): void {
  tell({ kind: "left", key: { run: job.run, n: job.n }, id: job.id, state, why });
}

/** Opens the session and runs it to its end, or until it is stopped. */
async function sessionEnd(found: JobOfRun, spec: RunSpec, lease: JobLease, stops: Stops): Promise<JobEnd> {
  try {
    const session = await lease.open(spec, stops);
    try {
      if (found.job.state === "cancelling") return { ...CANCELLED, told: await session.discard() };
      return await session.run({ signal: stops.cancel, suspend: stops.suspend });
    } finally {
      await session.close();
    }
  } catch (error) {
    if (!(error instanceof RlmError) || GIVEN_BACK.has(error.code)) throw error;
    const { code, message, suggestion } = error;
    return { kind: "over", code, result: null, told: { error_code: code, error: message, suggestion } };
  }
}

/** Pauses the run after so many failures as it allows. */
async function failFast(parts: TryParts, found: JobOfRun, { fail_fast }: RunSpec): Promise<Verdict> {
  if (fail_fast === null) return "over";
  const { failed } = await parts.jobs.counts(found.run.id);
  return failed < fail_fast ? "over" : pauseRun(parts, found.run, `${failed} of its jobs have failed`);
}

/** Pauses the run if a limit of it is spent. */
async function pauseWithoutMoney({ jobs }: TryParts, { run }: JobOfRun, stops: Stops): Promise<void> {
  const suspended = stops.suspended();
  if (suspended?.why === "budget") await jobs.change(run.id, { to: "pause", why: budgetReason(suspended.limit) });
}

/** Pauses the run if so many calls in a row failed for the same reason, and tells of it once. */
async function pauseInTrouble(parts: TryParts, { job }: JobOfRun, stops: Stops): Promise<void> {
  const suspended = stops.suspended();
  if (suspended?.why !== "trouble") return;
  if (!parts.troubles.wentBack(job, suspended.error.code, suspended.model)) return;
  await parts.troubles.pausing(job.run, async () => {
    const now = await parts.jobs.read(job);
    if (now?.run.state === "open") await pauseRun(parts, now.run, reasonOf(suspended.error));
  });
}

const CANCELLED = { kind: "over", code: "cancelled", result: null } as const;

const codeIn = (end: JobEnd) => (end.kind === "over" ? end.code : null);

/**
 * The work of the run, with the lease of the job's session; or the reason why no worker of the
 * queue runs it.
 */
async function take(parts: TryParts, found: JobOfRun, by: Tried): Promise<{ spec: RunSpec; lease: JobLease } | string> {
  try {
    const spec = readSpec(found.run.spec);
    return parts.refusal(specOfJob(spec, found.job)) ?? { spec, lease: await parts.lease(found, takingOf(parts, by)) };
  } catch (error) {
    // The rows were changed, or a later version has written them.
    if (isDamage(error)) return error.message;
    throw error;
  }
}

const isDamage = (error: unknown): error is RlmError => hasCode(error, "store_corrupt");

/** The workers of a queue allow the same models, so none of them would run it. */
async function pauseRun({ jobs, tell }: TryParts, run: Pick<RunRow, "id" | "name">, why: string): Promise<Verdict> {
  await jobs.change(run.id, { to: "pause", why });
  tell({ kind: "paused", text: `run ${run.name} is paused: ${why}` });
  return "over";
}

/**
 * The verdict after an error. A fault of the store or another holder does not count: the ticket
 * comes again, with the lapses that it has. Anything else is a defect.
 */
export function verdictOf(error: unknown, { lapses }: Pick<Tried, "lapses">): Verdict {
  if (!(error instanceof RlmError)) throw error;
  if (GIVEN_BACK.has(error.code)) return { againMs: STORE_MS, lapses };
  throw error;
}

const GIVEN_BACK: ReadonlySet<string> = new Set(["lease_lost", "store_failed", "session_busy"]);

/** A lease whose release fails lapses by itself. */
export function disposable(lease: JobLease): JobLease & AsyncDisposable {
  return { ...lease, [Symbol.asyncDispose]: () => lease.release().catch(() => {}) };
}

/** Before this many lapses nobody looks for their cause. */
const LAPSES_LOOKED_AT = 3;

/**
 * True if the job of a ticket that lapsed often has made progress: something else ended the
 * processes that tried it. The ticket becomes a new one, without lapses.
 *
 * @param answers recorded answers of the job's session
 */
export function madeProgress(ticket: Pick<Tried, "id" | "lapses">, answers: number, job: JobRow): boolean {
  return ticket.lapses >= LAPSES_LOOKED_AT && (answers > job.answers || wasGivenBack(ticket, job));
}

/**
 * Its last try put the job back in order: only then was the worker gone that would have said so to
 * the queue.
 */
function wasGivenBack({ id, lapses }: Pick<Tried, "id" | "lapses">, job: JobRow): boolean {
  return (job.state === "waiting" || job.state === "parked") && job.ticket === id && job.lapses === lapses - 1;
}

/**
 * Time that a ticket waits if another build has begun its job, ms: a worker of that build may fetch
 * it.
 */
const OTHER_BUILD_MS = 60_000;

/**
 * The verdict on a job that is not due; null if it is to be tried.
 *
 * @param isForeign another build has begun it, whose images this one cannot read
 */
function verdictUnlessDue(found: JobOfRun | null, now: number, isForeign: boolean): Verdict | null {
  if (!found) return "over";
  const { job, run } = found;
  switch (job.state) {
    case "done":
    case "failed":
    case "cancelled":
      return "over";
    case "cancelling":
      // Nobody begins a job of a paused run; this one is only to be ended.
      return null;
    case "parked":
      // Its run is to be resumed; one that waits for its provider continues by itself.
      if (job.run_at === null) return "over";
      break;
    case "waiting":
    case "running":
  }
  if (run.state === "paused") return "over";
  // The store offers it once there is room. A ticket that waits for its instant would prevent that.
  if (job.state === "parked" && job.why === "held" && (job.run_at ?? 0) > now) return "over";
  if (job.run_at !== null && job.run_at > now) return { dueMs: job.run_at - now };
  if (isForeign) return { againMs: OTHER_BUILD_MS };
  return null;
}

/** A try lasts at most so long, ms; the ticket's expiry after 24 h is the net below. */
const DAY_MS = 23 * 3600_000;
/**
 * A ticket tells once that its job has changed. From then on the row is read as often as this, ms.
 */
const LOOK_MS = 10_000;

/** Reasons to stop a try while its cell runs. */
function openStops(
  { jobs, stopped, after }: Pick<TryParts, "jobs" | "stopped" | "after">,
  ticket: Tried,
  fence: number,
): Stops {
  const cancel = new AbortController();
  const suspend = new AbortController();
  let isOver = false;
  let why: Suspended | null = null;
  let callOffLook = () => {};
  const stop = (reason: Suspended) => {
    if (isOver) return;
    why ??= reason;
    // Agents of the user's work on after a terminal that closes.
    suspend.abort(stopped.reason);
  };

  /** The ticket's signal is a hint alone: the row says whether the job continues. */
  async function look(): Promise<void> {
    const found = await jobs.read(ticket).catch(() => undefined);
    if (isOver) return;
    if (found?.job.state === "cancelling") cancel.abort();
    else if (found !== undefined && !isOurs(found)) stop({ why: "left" });
    callOffLook = after(LOOK_MS, () => void look());
  }
  const isOurs = (found: JobOfRun | null) =>
    found?.job.state === "running" && found.job.ticket === ticket.id && found.job.fence === fence;

  const callOffs = [
    after(DAY_MS, () => stop({ why: "day" })),
    onceAborted(stopped, () => stop({ why: "stopped" })),
    onceAborted(ticket.changed, () => void look()),
  ];
  return {
    cancel: cancel.signal,
    suspend: suspend.signal,
    suspended: () => why,
    park: stop,
    [Symbol.dispose]() {
      isOver = true;
      for (const callOff of [...callOffs, callOffLook]) callOff();
    },
  };
}
