import type { RlmError } from "../../index.ts";
import { jsonText } from "../../platform/visible.ts";
import type { DamagedOfRun } from "../../runs/index.ts";
import { damageError, outcomeOf, showFailure } from "../render/failure.ts";
import { type JobsAsked, jobsLine } from "./jobs-asked.ts";

/**
 * Prints what a command has found that met these rows: with --json one object, else what `show` writes, and the damage. Gives the
 * exit code, which is 1 if there are such rows.
 */
export function showFound(asked: JobsAsked, damaged: readonly DamagedOfRun[], json: object, show: () => void): number {
  const { stdout } = asked.terminal;
  if (asked.json) stdout.writeRaw(`${jsonText({ ...damageJson(asked, damaged), ...json })}\n`);
  else {
    show();
    showDamage(asked, damaged);
  }
  return damaged.length > 0 ? 1 : 0;
}

export function showDamage(asked: JobsAsked, damaged: readonly DamagedOfRun[]): void {
  const error = errorOf(asked, damaged);
  if (error) showFailure(error, asked.terminal);
}

/** The outcome of a command that met these rows, for programs. */
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
