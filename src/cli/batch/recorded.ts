import { existsSync } from "node:fs";
import { type DryRun, type Json, RlmError } from "../../index.ts";
import { inLine } from "../../platform/visible.ts";
import type { RunSpec, Runs } from "../../runs/index.ts";
import type { RecordedAnswers } from "../../session/index.ts";
import type { Asked, Store } from "../../store/index.ts";
import { openStoreIn } from "../store/opened-store.ts";
import type { AskedRun } from "./asked.ts";
import type { ReadyRun } from "./batch.ts";
import { openAskedJobs } from "./read-jobs.ts";
import { workerSession } from "./working.ts";

/** Answers of earlier runs of the same script or table. */
export interface Recorded {
  /** Names of these runs, the newest first. */
  readonly from: readonly string[];
  readonly find: RecordedAnswers;
}

/** `null` if the line takes nothing over, or no earlier run has its script or table. @param without the id of its own run */
export async function recordedFor(asked: AskedRun, store: Store, without: string | null): Promise<Recorded | null> {
  if (asked.isFresh || asked.files === undefined) return null;
  const runs = await store.jobs.sameFiles(asked.files, without);
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

/** The store of the line, if it is there: a dry run makes none. A server that does not answer is told of. */
export async function storeOfLine({ asked, host, terminal }: ReadyRun): Promise<Store | null> {
  const { place, isServer } = asked.store;
  if (asked.isFresh || !(isServer || existsSync(place))) return null;
  try {
    return await openStoreIn(place, host);
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    terminal.stderr.write(`${inLine(`answers on record are not counted: ${error.message}`)}\n`, "dim");
    return null;
  }
}

/** Inputs of a line that run with placeholders. */
interface DryRuns {
  readonly runs: Runs;
  readonly spec: RunSpec;
  readonly recorded: Recorded | null;
  /** True for an input that is run, by its number from 0. */
  chosen(at: number): boolean;
  leftOut(why: string): void;
}

/** Runs inputs of the line with placeholders, or with answers that are on record. */
export async function* dryRuns(
  { asked, spooled, stop }: Pick<ReadyRun, "asked" | "spooled" | "stop">,
  { runs, spec, recorded, chosen, leftOut }: DryRuns,
): AsyncIterable<{ readonly job: Asked; readonly dry: DryRun }> {
  const own = workerSession(asked.settings, null);
  for await (const job of openAskedJobs(asked, spooled, { runs, signal: stop.signal, leftOut, chosen })()) {
    yield { job, dry: await runs.dryRun(spec, job, own, recorded?.find) };
  }
}

/** Inputs that are run with placeholders if answers are on record: few jobs at the beginning would say little of the others. */
const MOST_SAMPLED = 100;

/** True for inputs spread over all of them. @param count how many there are @param first of those that are looked at */
export function spread(count: number, first = 0): (at: number) => boolean {
  const rest = count - first;
  const step = Math.max(1, rest / MOST_SAMPLED);
  return (at) => at >= first && Math.floor((at - first) / step) !== Math.floor((at - first - 1) / step);
}
