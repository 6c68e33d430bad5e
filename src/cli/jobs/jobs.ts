import { amount } from "../../platform/figures.ts";
import { jobsIn, openReadableJobs, overIn } from "../../runs/index.ts";
import { RUN_VERBS } from "../../session/session-name.ts";
import type { Counts } from "../../store/index.ts";
import { openResults, outPlace } from "../batch/results.ts";
import { runStore, withRun } from "../batch/run-command.ts";
import type { Host } from "../commands/define.ts";
import type { JobsFlags } from "../commands/jobs.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { RUN_LIMITS, type Verb } from "../flags/runs.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Output } from "../render/terminal.ts";
import { openStoreToLook } from "../store/open-store.ts";
import { changeRun } from "./change-run.ts";
import { type JobsRequest, runNamed, showFound } from "./jobs-request.ts";
import { showCosts, showJob, showRun, showRunList, watchRun } from "./show-runs.ts";

/** `belay jobs`: shows runs and jobs, and changes them. */
export function jobsCommand(args: Arguments, host: Host, own: JobsFlags): Promise<number> {
  const work = workOf(args, own);
  return withRun(args, "jobs", async (stop, terminal) => {
    const place = runStore(args);
    await using store = await openStoreToLook(place.place, host);
    return await work({ args, own, terminal, stop, store, place, json: args.get(OUTPUT_FLAGS.json) });
  });
}

/** The work that the arguments ask for. @throws UsageError */
function workOf(args: Arguments, own: JobsFlags): (asked: JobsRequest) => Promise<number> {
  const [first, ...rest] = args.positionals;
  const verb = RUN_VERBS.find((known) => known === first);
  checkFlags(args, own, verb ?? null);
  if (verb) {
    const [run, ...ids] = rest;
    if (run === undefined)
      throw new UsageError(`jobs ${verb} takes a RUN; belay jobs lists them`, commandLine(["jobs"]));
    if (ids.length > 0 && !TAKES_IDS.includes(verb)) {
      throw new UsageError(`jobs ${verb} is about a whole run, and ${ids[0]} is one more word`, HELP);
    }
    return verb === "out" ? (asked) => writeOut(asked, run) : (asked) => changeRun(asked, verb, run, ids);
  }
  const [id, more] = rest;
  if (more !== undefined) throw new UsageError(`jobs takes a RUN and an ID, and ${more} is one more word`, HELP);
  if (first === undefined) return own.costs ? showCosts : showRunList;
  if (own.watch) return (asked) => watchRun(asked, first);
  return id === undefined ? (asked) => showRun(asked, first) : (asked) => showJob(asked, first, id);
}

const HELP = commandLine(["help", "jobs"]);
const TAKES_IDS: readonly Verb[] = ["cancel", "retry"];

function checkFlags(args: Arguments, own: JobsFlags, verb: Verb | null): void {
  const [first, id] = args.positionals;
  const isOfRun = verb === null && first !== undefined && id === undefined;
  const limits = Object.values(RUN_LIMITS).filter((limit) => args.isGiven(limit));
  const misplaced = [
    own.costs && first !== undefined ? "--costs covers all runs: use it alone" : null,
    own.fresh && verb !== "retry" ? "--fresh is of jobs retry" : null,
    own.discard && verb !== "rm" ? "--discard is of jobs rm" : null,
    (own.out ?? own.output) !== undefined && verb !== "out" ? "--out is of jobs out" : null,
    own.format !== undefined && verb !== "out" ? "--format is of jobs out" : null,
    limits.length > 0 && verb !== "resume" ? `--${limits[0]?.name} is of jobs resume` : null,
    own.state !== undefined && !isOfRun ? "--state needs a RUN alone" : null,
    own.watch && !isOfRun ? "--watch needs a RUN alone" : null,
    own.watch && own.state !== undefined ? "--watch follows the whole run, and --state is a part of it" : null,
  ].find((problem) => problem !== null);
  if (misplaced) throw new UsageError(misplaced, HELP);
}

/**
 * `jobs out`: writes the results that there are, in the order of the jobs. Gives the exit code: 1
 * if rows of jobs cannot be read, 3 if some jobs are not over.
 */
async function writeOut(asked: JobsRequest, name: string): Promise<number> {
  const { own, json, store, terminal, place } = asked;
  const out = outPlace({ output: "-", ...own }, json, "jobs");
  const run = await runNamed(store, name, place);
  const readable = openReadableJobs(store.jobs, run);
  const jobs: typeof store.jobs = { ...store.jobs, list: (_run, page) => readable.list(page) };
  // Jobs that have ended are written, also behind jobs that are not.
  const results = await openResults(out, { run: run.id, order: null, jobs, unordered: true }, terminal.stdout);
  await results.close();
  if (results.problem) throw results.problem;
  if (results.note !== null) terminal.stderr.write(`${results.note}\n`);
  const counts = await readable.counts();
  const { failed, cancelled } = counts;
  const summary = { run: run.name, results: overIn(counts), jobs: jobsIn(counts), failed, cancelled };
  const code = showFound(asked, readable.damaged(), summary, () => tellRest(counts, terminal.stderr));
  return code === 0 && summary.results < summary.jobs ? 3 : code;
}

/** Tells how many jobs have no result, and why. */
function tellRest(counts: Counts, stderr: Output): void {
  const over = overIn(counts);
  const all = jobsIn(counts);
  const { failed, cancelled } = counts;
  if (over < all) stderr.write(`${over} of ${amount(all, "job")} have finished; the others have no line\n`);
  if (failed > 0) stderr.write(`${amount(failed, "job")} failed: error_code and error of a line say why\n`);
  if (cancelled > 0) stderr.write(`${amount(cancelled, "job was", "jobs were")} cancelled\n`);
}
