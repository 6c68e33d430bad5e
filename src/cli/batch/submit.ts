import { isDeepStrictEqual } from "node:util";
import { RlmError } from "../../index.ts";
import { amount, thousands } from "../../platform/figures.ts";
import type { RunSpec, Runs } from "../../runs/index.ts";
import type { KnownJob, RunRow, Store } from "../../store/index.ts";
import type { AskedRun } from "./asked.ts";
import { choiceText, hasChoice } from "./chosen.ts";
import { type AskedParts, openAskedJobs } from "./read-jobs.ts";
import { isOver } from "./result-lines.ts";
import { runOfLine } from "./run-of-line.ts";
import { jobsIn, overIn } from "./run-state.ts";
import type { Spool } from "./spool.ts";

/**
 * Puts the jobs and their contexts into the store. Nothing is run yet. `inputs` gives the jobs of the line.
 * @throws RlmError `run_differs` and `session_busy`, before a row is written, and what loading throws
 */
export async function submit(asked: AskedRun, wanted: RunSpec, spooled: Spool, parts: SubmitParts) {
  const { runs, store } = parts;
  const { jobs, shipping } = store;
  const { own, limits } = asked;
  const { name, there, spec, model } = await runOfLine(asked, wanted, jobs);
  // In a folder each run has a queue of its own: a command works on the run that it was asked for.
  const queue = asked.store.isServer ? asked.queue : name;
  if (there) checkSame(asked, there);
  // Jobs of a process that has ended are nobody's.
  if (there && (own.retryChanged || own.fresh)) await jobs.lapse(there.id);
  const inputs = openAskedJobs(asked, spooled, parts);
  if (there && (own.first || hasChoice(own))) await checkPart(asked, there, store, runs.known(there, inputs()));
  const anew = there ? await jobsAnew(asked, runs.known(there, inputs()), spec.context !== "none") : undefined;
  const { files, isFresh: fresh } = asked;
  const run = { name, queue, share: own.share ?? 1, spec, limits, fresh, ...(files ? { files } : {}) };
  const submitted = await runs.submit(run, inputs(), { ids: anew ?? new Set(), model });
  // This line says how parcels go that have not left.
  if (there && spec.delivery === "now") await shipping.giveUp({ run: there.id }, "unsent");
  if (!submitted.made && !isDeepStrictEqual(limits, submitted.run.limits)) await jobs.limit(submitted.run.id, limits);
  return { ...submitted, inputs, model };
}

type SubmitParts = AskedParts & { readonly runs: Runs; readonly store: Store };

/** The jobs of the line that the run has. */
type Known = ReturnType<Runs["known"]>;

/** The command works on the whole run: of one with other open jobs it would not run a part alone. @throws RlmError `run_differs` */
async function checkPart(asked: AskedRun, there: RunRow, { jobs }: Store, known: Known): Promise<void> {
  const counts = await jobs.counts(there.id);
  let others = jobsIn(counts) - overIn(counts);
  for await (const { job } of known) if (job && !isOver(job.state)) others -= 1;
  if (others === 0) return;
  const open = amount(others, "further job that is", "further jobs that are");
  const { own } = asked;
  const part = own.first ? `--first ${own.first}` : choiceText(own);
  throw new RlmError("run_differs", `${part}: the run ${there.name} has ${open} not over`, {
    suggestion: `Run them all: \`${asked.whole()}\`. --new begins another run.`,
  });
}

/** Refuses another share or queue: the jobs have their ranks and tickets already. @throws RlmError `run_differs` */
function checkSame({ own, store }: AskedRun, { name, queue, share }: RunRow): void {
  const isOtherShare = (own.share ?? share) !== share;
  const isOtherQueue = store.isServer && (own.queue ?? queue) !== queue;
  if (!isOtherShare && !isOtherQueue) return;
  const [flag, is] = isOtherShare ? ["--share", `a share of ${share}`] : ["--queue", `the queue ${queue}`];
  throw new RlmError("run_differs", `the run ${name} has ${is}, which ${flag} cannot change`, {
    suggestion: `Leave out ${flag}, or begin another run with --new.`,
  });
}

/**
 * Ids of known jobs that are run again with what is asked of them now: those that the flags name.
 * @param hasContexts a context may have changed too
 * @throws RlmError `run_differs` if other inputs have changed, `session_busy` if a changed job is being tried
 */
async function jobsAnew(asked: AskedRun, known: Known, hasContexts: boolean): Promise<ReadonlySet<string>> {
  const { own, inputs, line } = asked;
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
  if (own.retryChanged) {
    throw beingTried(`${changed}, and each is being tried`);
  }
  throw new RlmError("run_differs", `${changed}; nothing was written`, {
    suggestion: `Run what has changed again: \`${line("--retry-changed")}\`. --new begins another run, and --name NAME gives it a name.`,
  });
}

function isWanted(own: AskedRun["own"], { state, isChanged, reused }: KnownJob): boolean {
  const { retryFailed, retryCancelled, retryChanged, fresh } = own;
  if (state === "running" || state === "cancelling") return false;
  if (isChanged && retryChanged) return true;
  if (fresh && reused > 0) return true;
  return (state === "failed" && retryFailed === true) || (state === "cancelled" && retryCancelled === true);
}

function beingTried(problem: string): RlmError {
  return new RlmError("session_busy", problem, {
    suggestion: "Wait until they are over, or cancel them: belay jobs cancel RUN ID.",
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
