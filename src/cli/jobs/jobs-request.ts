import { hasCode } from "../../../runtime/index.ts";
import { RlmError } from "../../index.ts";
import { meantBy } from "../../platform/nearest.ts";
import { type DamagedOfRun, readableRuns } from "../../runs/index.ts";
import type { JobRow, RunRow, Store } from "../../store/index.ts";
import { jobsLine, type RunStore } from "../batch/run-command.ts";
import type { JobsFlags } from "../commands/jobs.ts";
import type { Arguments } from "../flags/arguments.ts";
import { damageError, outcomeOf, showFailure } from "../render/failure.ts";
import type { Terminal } from "../render/terminal.ts";
import type { Stop } from "../stop.ts";

/** The arguments of `belay jobs`, and its open store. */
export interface JobsRequest {
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
    if (!hasCode(error, "store_corrupt")) throw error;
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

/**
 * @param then what follows if there is none, for the message
 * @throws RlmError `invalid_argument`
 */
export async function jobNamed(asked: JobsRequest, { id: run, name }: RunRow, id: string, then = ""): Promise<JobRow> {
  const job = await asked.store.jobs.find(run, id);
  if (job) return job;
  throw new RlmError("invalid_argument", `job ${JSON.stringify(id)} not found in run ${name}${then}`, {
    suggestion: `\`${jobsLine(asked, name)}\` lists its jobs.`,
  });
}

/** One JSON object on stdout. */
export function printJson({ terminal }: Pick<JobsRequest, "terminal">, fields: object): void {
  terminal.stdout.json({ success: true, ...fields });
}

/**
 * Prints what a command has found that met these rows: with --json one object, else what `show`
 * writes, and the damage. Gives the exit code, which is 1 if there are such rows.
 */
export function showFound(
  asked: JobsRequest,
  damaged: readonly DamagedOfRun[],
  json: object,
  show: () => void,
): number {
  const { stdout } = asked.terminal;
  if (asked.json) stdout.json({ ...damageJson(asked, damaged), ...json });
  else {
    show();
    showDamage(asked, damaged);
  }
  return damaged.length > 0 ? 1 : 0;
}

export function showDamage(asked: JobsRequest, damaged: readonly DamagedOfRun[]): void {
  const error = errorOf(asked, damaged);
  if (error) showFailure(error, asked.terminal);
}

/** The outcome of a command that met these rows, for programs. */
export function damageJson(asked: JobsRequest, damaged: readonly DamagedOfRun[]): object {
  return { ...outcomeOf(errorOf(asked, damaged)), ...(damaged.length > 0 ? { damaged } : {}) };
}

function errorOf(asked: JobsRequest, damaged: readonly DamagedOfRun[]): RlmError | null {
  const [first] = damaged;
  if (!first) return null;
  const lines = damaged.map(({ run, job, problem }) => (job === undefined ? problem : `run ${run}: ${problem}`));
  const cure = `\`${jobsLine(asked, "rm", first.run)}\` drops ${first.job === undefined ? "such a run" : "the run"} with all its jobs`;
  return damageError(lines, { cure });
}
