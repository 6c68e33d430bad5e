import { nullIf } from "../../platform/errors.ts";
import { nextName } from "../../platform/session-name.ts";
import { hashOfRun, type RunSpec } from "../../runs/index.ts";
import type { Jobs, RunRow } from "../../store/index.ts";
import { modelIn } from "../jobs/jobs-asked.ts";
import type { AskedRun } from "./asked.ts";
import { runName } from "./spec.ts";

/** The run that a line is about. */
export interface RunOfLine {
  readonly name: string;
  /** `null`: it is to be made. */
  readonly there: RunRow | null;
  /** The work of its jobs. */
  readonly spec: RunSpec;
  /** The model of jobs that the line runs again, if it is another one than the run's. */
  readonly model: string | null;
}

type Runs = Pick<Jobs, "run" | "sameFiles" | "counts">;

/**
 * Finds the run by its name, or by what its jobs do. With `--retry-failed` another model is that of the jobs that are tried again:
 * then the run is the newest one of the script and table that differs in its model alone, and has failed jobs.
 */
export async function runOfLine(asked: AskedRun, spec: RunSpec, jobs: Runs): Promise<RunOfLine> {
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
  const model = modelIn(run);
  const own = { ...spec, model };
  if (model === spec.model || hashOfRun(own) !== run.hash) return null;
  return { name: run.name, there: run, spec: own, model: spec.model };
}

const hasFailed = async ({ id }: RunRow, jobs: Runs) => (await jobs.counts(id)).failed > 0;
