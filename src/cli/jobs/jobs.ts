import { RlmError } from "../../index.ts";
import { openRunStore, runStore } from "../batch/run-store.ts";
import type { JobsFlags } from "../commands/jobs.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { RUN_LIMITS } from "../flags/runs.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { failureJson, showFailure } from "../render/failure.ts";
import { processTerminal, type Terminal } from "../render/terminal.ts";
import { type Stop, untilStopped } from "../stop.ts";
import { changeRun } from "./change-run.ts";
import { type JobsAsked, VERBS, type Verb } from "./jobs-asked.ts";
import { listRuns } from "./list-runs.ts";
import { showCosts } from "./show-costs.ts";
import { showJob } from "./show-job.ts";
import { showRun } from "./show-run.ts";
import { watchRun } from "./watch-run.ts";
import { writeOut } from "./write-out.ts";

/** `belay jobs`: shows runs and jobs, and changes them. Gives the exit code. */
export function jobsCommand(args: Arguments, host: Host, own: JobsFlags): Promise<number> {
  return untilStopped(async (stop) => {
    const terminal = processTerminal(stop.close);
    const work = workOf(args, own);
    try {
      const place = runStore(args);
      await using store = await openRunStore(place, host);
      return await work({ args, own, terminal, stop, store, place, json: args.get(JSON_OUTPUT) });
    } catch (error) {
      if (!(error instanceof RlmError)) throw error;
      report(error, terminal, args, stop);
      return 1;
    }
  });
}

function report(error: RlmError, terminal: Terminal, args: Arguments, { exitCode }: Stop): void {
  if (exitCode === 0) return;
  if (args.get(JSON_OUTPUT)) terminal.stdout.writeRaw(`${failureJson(error, null)}\n`);
  else showFailure(error, terminal);
}

/** What the arguments ask for. @throws UsageError */
function workOf(args: Arguments, own: JobsFlags): (asked: JobsAsked) => Promise<number> {
  const [first, ...rest] = args.positionals;
  const verb = VERBS.find((known) => known === first);
  checkFlags(args, own, verb ?? null);
  if (verb) {
    const [run, ...ids] = rest;
    if (run === undefined)
      throw new UsageError(`jobs ${verb} takes a RUN; belay jobs lists them`, commandLine(["jobs"]));
    if (ids.length > 0 && !TAKES_IDS.includes(verb)) {
      throw new UsageError(`jobs ${verb} is about a whole run, and ${ids[0]} is one more word`, HELP);
    }
    return verb === "out" ? (asked) => writeOut(asked, run) : (asked) => changeRun(asked, { verb, run, ids });
  }
  const [id, more] = rest;
  if (more !== undefined) throw new UsageError(`jobs takes a RUN and an ID, and ${more} is one more word`, HELP);
  if (first === undefined) return own.costs ? showCosts : listRuns;
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
    own.costs && first !== undefined ? "--costs is of all runs, and stands alone" : null,
    own.fresh && verb !== "retry" ? "--fresh is of jobs retry" : null,
    (own.out ?? own.output) !== undefined && verb !== "out" ? "--out is of jobs out" : null,
    own.format !== undefined && verb !== "out" ? "--format is of jobs out" : null,
    limits.length > 0 && verb !== "resume" ? `--${limits[0]?.name} is of jobs resume` : null,
    own.state !== undefined && !isOfRun ? "--state needs a RUN alone" : null,
    own.watch && !isOfRun ? "--watch needs a RUN alone" : null,
    own.watch && own.state !== undefined ? "--watch follows the whole run, and --state is a part of it" : null,
  ].find((problem) => problem !== null);
  if (misplaced) throw new UsageError(misplaced, HELP);
}
