import { RlmError } from "../../index.ts";
import { age } from "../../platform/figures.ts";
import { meantBy } from "../../platform/nearest.ts";
import { jsonText } from "../../platform/visible.ts";
import { HELD_UP, isOfAnotherBuild, readableRuns } from "../../runs/index.ts";
import type { JobRow, RunRow, Store } from "../../store/index.ts";
import type { RunStore } from "../batch/run-command.ts";
import type { JobsFlags } from "../commands/jobs.ts";
import type { Arguments } from "../flags/arguments.ts";
import { commandLine } from "../flags/usage.ts";
import type { Terminal } from "../render/terminal.ts";
import type { Stop } from "../stop.ts";

/** The arguments of `belay jobs`, and its open store. */
export interface JobsAsked {
  readonly args: Arguments;
  readonly own: JobsFlags;
  readonly terminal: Terminal;
  readonly stop: Stop;
  readonly store: Store;
  readonly place: RunStore;
  readonly json: boolean;
}

/** @throws RlmError `run_not_found`; `store_corrupt` if its row is damaged */
export async function runNamed({ jobs }: Pick<Store, "jobs">, name: string, place: RunStore): Promise<RunRow> {
  const run = await jobs.run(name).catch(async (error: unknown) => {
    if (!(error instanceof RlmError) || error.code !== "store_corrupt") throw error;
    const row = (await jobs.damagedRuns()).find(({ problem }) => problem.includes(error.message));
    if (!row) throw error;
    const suggestion = `\`${jobsLine({ place }, "rm", row.id)}\` drops the run with all its jobs.`;
    throw new RlmError(error.code, row.problem, { suggestion });
  });
  if (run) return run;
  const names = (await readableRuns(jobs, 1000)).found.map((row) => row.name);
  throw new RlmError("run_not_found", `the store has no run ${name}${meantBy(name, names)}`, {
    suggestion: `\`${jobsLine({ place })}\` lists the runs.`,
  });
}

/** @param then what follows if there is none, for the message @throws RlmError `invalid_argument` */
export async function jobNamed(asked: JobsAsked, { id: run, name }: RunRow, id: string, then = ""): Promise<JobRow> {
  const job = await asked.store.jobs.find(run, id);
  if (job) return job;
  throw new RlmError("invalid_argument", `job ${JSON.stringify(id)} not found in run ${name}${then}`, {
    suggestion: `\`${jobsLine(asked, name)}\` lists its jobs.`,
  });
}

/** A line of this command about the store that was named. */
export function jobsLine({ place }: Pick<JobsAsked, "place">, ...words: string[]): string {
  return commandLine(["jobs", ...words, ...place.flags]);
}

/** `provider, goes on in 12 min`: why a job waits, and for how long; null: nothing keeps it. */
export function waitText({ state, why, run_at, engine }: JobRow): string | null {
  const ms = run_at === null ? 0 : run_at - Date.now();
  const until = ms > 0 ? [`goes on in ${age(Math.max(ms, 1000))}`] : [];
  const isOther = HELD_UP.includes(state) && isOfAnotherBuild(engine);
  const build = isOther ? ["waits for the build of Belay that began it"] : [];
  return [...(why === null ? [] : [why]), ...until, ...build].join(", ") || null;
}

/** One JSON object on stdout. */
export function printJson({ terminal }: Pick<JobsAsked, "terminal">, fields: object): void {
  terminal.stdout.writeRaw(`${jsonText({ success: true, ...fields })}\n`);
}
