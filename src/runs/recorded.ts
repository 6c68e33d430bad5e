import type { Json } from "../../runtime/index.ts";
import type { DryRun, RecordedAnswers } from "../session/index.ts";
import type { Asked, RunFiles, Store } from "../store/index.ts";
import type { WorkerSession } from "./api.ts";
import { type AskedJobs, type AskedParts, openAskedJobs } from "./inputs/read-jobs.ts";
import type { Spool } from "./inputs/spool.ts";
import type { StoreRuns } from "./runs.ts";
import type { RunSpec } from "./spec.ts";

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
