import { isDeepStrictEqual } from "node:util";
import { type Json, RlmError } from "../../runtime/index.ts";
import { nullIf } from "../platform/errors.ts";
import { amount, thousands } from "../platform/figures.ts";
import type { DryRun, RecordedAnswers } from "../session/index.ts";
import { nextName } from "../session/session-name.ts";
import type { Asked, Jobs, KnownJob, RunFiles, RunLimits, RunRow, Store } from "../store/index.ts";
import type { Submitted, WorkerSession } from "./api.ts";
import { choiceText, hasChoice } from "./inputs/chosen.ts";
import { type AskedJobs, type AskedParts, type InputOptions, openAskedJobs } from "./inputs/read-jobs.ts";
import type { Spool } from "./inputs/spool.ts";
import { isOver } from "./readable-jobs.ts";
import { jobsIn, overIn } from "./run-state.ts";
import type { StoreRuns } from "./runs.ts";
import { hashOfRun, modelOfRun, type RunSpec, runName } from "./spec.ts";

/** A run as a line of the command or a program asks for it. */
export interface RunAsked extends AskedJobs, Reusing {
  /** The file of the script, after which a run is named. */
  readonly script: string;
  readonly limits: RunLimits;
  /** Queue of a store on a server; null: in a folder each run has one of its own. */
  readonly queue: string | null;
  /** The inputs in messages: `--jobs mails.csv`. */
  readonly inputs: string;
  readonly own: SubmitOptions;
  readonly cures: SubmitCures;
}

interface SubmitOptions extends InputOptions {
  readonly name?: string | undefined;
  /** Begins another run although there is one of this name. */
  readonly isNew?: boolean | undefined;
  readonly share?: number | undefined;
  readonly queue?: string | undefined;
  readonly fresh?: boolean | undefined;
  readonly retryFailed?: boolean | undefined;
  readonly retryCancelled?: boolean | undefined;
  readonly retryChanged?: boolean | undefined;
}

/** The caller's words for options and remedies. */
export interface SubmitCures {
  /** An option of the run. */
  named(option: "first" | "share" | "queue"): string;
  /** For an option that the run has already: leave it out. */
  leaveOut(option: "share" | "queue"): string;
  /** For a part of the inputs, of a run that has others which are not over. */
  runAll(): string;
  /** For known jobs whose inputs have changed. */
  retryChanged(): string;
}

/** A run with the jobs that were asked for. */
export interface SubmittedRun extends Submitted {
  /** Gives these jobs again. */
  inputs(): AsyncIterable<Asked>;
  /** The model of jobs that are run again, if it is not the run's. */
  readonly model: string | null;
}

interface SubmitParts extends AskedParts {
  readonly runs: StoreRuns;
  readonly store: Store;
}

/**
 * Puts the jobs and their contexts into the store. Nothing is run yet. `inputs` gives the jobs of
 * the line.
 *
 * @throws RlmError `run_differs` and `session_busy`, before a row is written, and what loading
 * throws
 */
export async function submit(
  asked: RunAsked,
  wanted: RunSpec,
  spooled: Spool,
  parts: SubmitParts,
): Promise<SubmittedRun> {
  const { runs, store } = parts;
  const { jobs, batches } = store;
  const { own, limits } = asked;
  const { name, there, spec, model } = await runOfLine(asked, wanted, jobs);
  // In a folder each run has a queue of its own: a process works on the run that it was asked for.
  const queue = asked.queue ?? name;
  if (there) checkSame(asked, there);
  // Jobs of a process that has ended are nobody's.
  if (there && (own.retryChanged || own.fresh)) await jobs.lapse(there.id);
  const inputs = openAskedJobs(asked, spooled, parts);
  if (there && (own.first || hasChoice(own))) await checkPart(asked, there, store, runs.known(there, inputs()));
  const anew = there ? await jobsAnew(asked, runs.known(there, inputs()), spec.context !== "none") : undefined;
  const { files, isFresh: fresh } = asked;
  const run = { name, queue, share: own.share ?? 1, spec, limits, fresh, ...(files ? { files } : {}) };
  const submitted = await runs.submit(run, inputs(), { ids: anew ?? new Set(), model });
  // This line says how requests go that have not left.
  if (there && spec.delivery === "now") await batches.giveUp({ run: there.id }, "unsent");
  if (!submitted.made && !isDeepStrictEqual(limits, submitted.run.limits)) await jobs.limit(submitted.run.id, limits);
  return { ...submitted, inputs, model };
}

/** The jobs of the line, with those that the run has. */
type Known = AsyncIterable<{ readonly id: string; readonly job: KnownJob | null }>;

/**
 * The command works on the whole run: of one with other open jobs it would not run a part alone.
 *
 * @throws RlmError `run_differs`
 */
async function checkPart(asked: RunAsked, there: RunRow, { jobs }: Store, known: Known): Promise<void> {
  const counts = await jobs.counts(there.id);
  let others = jobsIn(counts) - overIn(counts);
  for await (const { job } of known) if (job && !isOver(job.state)) others -= 1;
  if (others === 0) return;
  const open = amount(others, "further job that is", "further jobs that are");
  const { own } = asked;
  const part = own.first ? `${asked.cures.named("first")} ${own.first}` : choiceText(own);
  throw new RlmError("run_differs", `${part}: the run ${there.name} has ${open} not over`, {
    suggestion: asked.cures.runAll(),
  });
}

/**
 * Refuses another share or queue: the jobs have their ranks and tickets already.
 *
 * @throws RlmError `run_differs`
 */
function checkSame({ own, queue: asked, cures }: RunAsked, { name, queue, share }: RunRow): void {
  const isOtherShare = (own.share ?? share) !== share;
  const isOtherQueue = asked !== null && (own.queue ?? queue) !== queue;
  if (!isOtherShare && !isOtherQueue) return;
  const option = isOtherShare ? "share" : "queue";
  const has = isOtherShare ? `a share of ${share}` : `the queue ${queue}`;
  throw new RlmError("run_differs", `the run ${name} has ${has}, which ${cures.named(option)} cannot change`, {
    suggestion: cures.leaveOut(option),
  });
}

/**
 * Ids of known jobs that are run again with what is asked of them now: those that the flags name.
 *
 * @param hasContexts a context may have changed too
 * @throws RlmError `run_differs` if other inputs have changed, `session_busy` if a changed job is
 * being tried
 */
async function jobsAnew(asked: RunAsked, known: Known, hasContexts: boolean): Promise<ReadonlySet<string>> {
  const { own, inputs, cures } = asked;
  const anew = new Set<string>();
  const named: string[] = [];
  let count = 0;
  let tried = 0;
  for await (const { id, job } of known) {
    if (job === null) continue;
    if (isWanted(own, job)) anew.add(id);
    else if (job.isChanged && ++count <= NAMED) named.push(id);
    else if (own.fresh && job.reused > 0) tried += 1;
  }
  if (tried > 0) {
    const took = amount(
      tried,
      "job that took answers of earlier runs is",
      "jobs that took answers of earlier runs are",
    );
    throw beingTried(`${took} being tried; nothing was written`);
  }
  if (count === 0) return anew;
  const changed = changedText(named, count, inputs, hasContexts);
  // With --retry-changed only those are left that are being tried.
  if (own.retryChanged) throw beingTried(`${changed}, and each is being tried`);
  throw new RlmError("run_differs", `${changed}; nothing was written`, {
    suggestion: cures.retryChanged(),
  });
}

function isWanted(own: SubmitOptions, { state, isChanged, reused }: KnownJob): boolean {
  const { retryFailed, retryCancelled, retryChanged, fresh } = own;
  if (state === "running" || state === "cancelling") return false;
  if (isChanged && retryChanged) return true;
  if (fresh && reused > 0) return true;
  return (state === "failed" && retryFailed === true) || (state === "cancelled" && retryCancelled === true);
}

function beingTried(problem: string): RlmError {
  return new RlmError("session_busy", problem, {
    suggestion: "Wait until they have ended, or cancel them: belay jobs cancel RUN ID.",
  });
}

/** A run may have a million jobs: so many of them are named. */
const NAMED = 5;

function changedText(named: readonly string[], count: number, inputs: string, hasContexts: boolean): string {
  const what = hasContexts
    ? amount(count, "input or its context", "inputs or their contexts")
    : amount(count, "input", "inputs");
  const more = count > NAMED ? ` and ${thousands(count - NAMED)} more` : "";
  return `${inputs}: ${what} changed since: ${named.join(", ")}${more}`;
}

type FoundRuns = Pick<Jobs, "run" | "sameFiles" | "counts">;

/** The run that a line is about. */
interface RunOfLine {
  readonly name: string;
  /** `null`: it is to be made. */
  readonly there: RunRow | null;
  /** The work of its jobs. */
  readonly spec: RunSpec;
  /** The model of jobs that the line runs again, if it is another one than the run's. */
  readonly model: string | null;
}

/**
 * Finds the run by its name, or by what its jobs do. With `--retry-failed` another model is that of
 * the jobs that are tried again: then the run is the newest one of the script and table that
 * differs in its model alone, and has failed jobs.
 */
async function runOfLine(asked: RunAsked, spec: RunSpec, jobs: FoundRuns): Promise<RunOfLine> {
  const { own } = asked;
  const base = own.name ?? runName(asked.script, hashOfRun(spec));
  const isThere = async (name: string) => (await jobs.run(name)) !== null;
  const name = own.isNew && (await isThere(base)) ? await nextName(base, isThere) : base;
  const there = await jobs.run(name);
  const plain = { name, there, spec, model: null };
  if (!own.retryFailed || own.isNew) return plain;
  if (own.name !== undefined) return (there && ofOtherModel(there, spec)) ?? plain;
  if (there && (await hasFailed(there, jobs))) return plain;
  for (const { id } of asked.files ? await jobs.sameFiles(asked.files, there?.id ?? null) : []) {
    // A run whose row is damaged is not the one.
    const run = await nullIf("store_corrupt", jobs.run(id));
    const isOfLine = run?.files?.script === asked.files?.script && run?.files?.table === asked.files?.table;
    const other = run && isOfLine ? ofOtherModel(run, spec) : null;
    if (run && other && (await hasFailed(run, jobs))) return other;
  }
  return plain;
}

/** `null` if the run differs in more than its model, or not even in that. */
function ofOtherModel(run: RunRow, spec: RunSpec): RunOfLine | null {
  const model = modelOfRun(run);
  const own = { ...spec, model };
  if (model === spec.model || hashOfRun(own) !== run.hash) return null;
  return { name: run.name, there: run, spec: own, model: spec.model };
}

const hasFailed = async ({ id }: RunRow, jobs: FoundRuns) => (await jobs.counts(id)).failed > 0;

/** Answers of earlier runs of the same script or table. */
interface Recorded {
  /** Names of these runs, the newest first. */
  readonly from: readonly string[];
  readonly find: RecordedAnswers;
}

/** The files by which earlier runs are known, unless nothing is taken over from them. */
export interface Reusing {
  readonly isFresh: boolean;
  readonly files?: RunFiles | undefined;
}

/**
 * `null` if the line takes nothing over, or no earlier run has its script or table.
 *
 * @param without the id of its own run
 */
export async function recordedFor(
  { isFresh, files }: Reusing,
  store: Store,
  without: string | null,
): Promise<Recorded | null> {
  if (isFresh || files === undefined) return null;
  const runs = await store.jobs.sameFiles(files, without);
  if (runs.length === 0) return null;
  const ids = runs.map(({ id }) => id);
  const left = new Map<string, Json[]>();
  return {
    from: runs.map(({ name }) => name),
    async find(question) {
      const answers = left.get(question) ?? [...(await store.jobs.answersTo(question, ids))];
      left.set(question, answers);
      return answers.shift();
    },
  };
}

/** Inputs that run with placeholders for answers. */
interface DryRuns extends AskedParts {
  readonly asked: AskedJobs;
  readonly spooled: Spool;
  readonly runs: StoreRuns;
  readonly spec: RunSpec;
  readonly session: WorkerSession;
  readonly recorded: Recorded | null;
}

/** Runs inputs with placeholders, or with answers that are on record. */
export async function* dryRuns(wanted: DryRuns): AsyncIterable<{ readonly job: Asked; readonly dry: DryRun }> {
  const { asked, spooled, runs, spec, session, recorded } = wanted;
  for await (const job of openAskedJobs(asked, spooled, wanted)()) {
    yield { job, dry: await runs.dryRun(spec, job, session, recorded?.find) };
  }
}

/**
 * Inputs that are run with placeholders if answers are on record: few jobs at the beginning would
 * say little of the others.
 */
const MOST_SAMPLED = 100;

/**
 * True for inputs spread over all of them.
 *
 * @param count how many there are
 * @param first of those that are looked at
 */
export function spread(count: number, first = 0): (at: number) => boolean {
  const rest = count - first;
  const step = Math.max(1, rest / MOST_SAMPLED);
  return (at) => at >= first && Math.floor((at - first) / step) !== Math.floor((at - first - 1) / step);
}
