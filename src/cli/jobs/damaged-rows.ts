import type { RlmError } from "../../index.ts";
import type { RunRow } from "../../store/index.ts";
import { damageError, outcomeOf } from "../render/damage.ts";
import { showFailure } from "../render/failure.ts";
import { type JobsAsked, jobsLine } from "./jobs-asked.ts";
import type { ReadableJobs } from "./readable-jobs.ts";

/** A row of a run or of one of its jobs that cannot be read. */
export interface DamagedOfRun {
  /** Its name; of a run whose row is damaged its id. */
  readonly run: string;
  readonly job?: string;
  readonly problem: string;
}

export function damagedJobs({ name }: RunRow, jobs: Pick<ReadableJobs, "damaged">): DamagedOfRun[] {
  return jobs.damaged().map(({ id, problem }) => ({ run: name, job: id, problem }));
}

export function showDamage(asked: JobsAsked, damaged: readonly DamagedOfRun[]): void {
  const error = errorOf(asked, damaged);
  if (error) showFailure(error, asked.terminal);
}

/** How a command ended that came upon these rows, for programs. */
export function damageJson(asked: JobsAsked, damaged: readonly DamagedOfRun[]): object {
  return { ...outcomeOf(errorOf(asked, damaged)), ...(damaged.length > 0 ? { damaged } : {}) };
}

function errorOf(asked: JobsAsked, damaged: readonly DamagedOfRun[]): RlmError | null {
  const [first] = damaged;
  if (!first) return null;
  const lines = damaged.map(({ run, job, problem }) => (job === undefined ? problem : `run ${run}: ${problem}`));
  const cure = `\`${jobsLine(asked, "rm", first.run)}\` drops ${first.job === undefined ? "such a run" : "the run"} with all its jobs`;
  return damageError(lines, { cure });
}
