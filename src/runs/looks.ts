import type { Json } from "../../runtime/index.ts";
import { nullIf } from "../platform/errors.ts";
import { parseJson } from "../platform/json.ts";
import { readJson, type WrittenJson } from "../platform/written-json.ts";
import { type ProviderWait, waitsFor } from "../provider-batches/index.ts";
import {
  type Amount,
  everyRun,
  type JobPage,
  type JobRow,
  type JobState,
  type Jobs,
  type RunRow,
  type Store,
} from "../store/index.ts";
import { refusalOfRun, toldOf } from "./failures.ts";
import { type DamagedOfRun, jobsOf, openReadableJobs, readableRuns } from "./readable-jobs.ts";
import { type CountedRun, type HeldJobs, heldJobs } from "./run-state.ts";
import { modelOfRun } from "./spec.ts";

// Looks at the runs of a store, for people and programs. Rows that cannot be read are left out and listed.

/** The newest runs of a store. */
interface RunList {
  readonly runs: readonly ListedRun[];
  /** True if there are more of them. */
  readonly hasMore: boolean;
  readonly damaged: readonly DamagedOfRun[];
}

/** A run, its counts, and the last refusal of a provider. */
export type ListedRun = Pick<CountedRun, "run" | "counts" | "refusal">;

/** @param most runs in the list */
export async function listRuns(jobs: Jobs, most: number): Promise<RunList> {
  const { found, damaged } = await readableRuns(jobs, most + 1);
  const damage: DamagedOfRun[] = damaged.map(damagedRun);
  const runs: ListedRun[] = [];
  for (const run of found.slice(0, most)) {
    const own = openReadableJobs(jobs, run);
    const counts = await own.counts();
    runs.push({ run, counts, refusal: await refusalOfRun(own.list, counts) });
    damage.push(...own.damaged());
  }
  return { runs, hasMore: found.length > most, damaged: damage };
}

const damagedRun = ({ id, problem }: { readonly id: string; readonly problem: string }): DamagedOfRun => ({
  run: id,
  problem,
});

/** The cost of the jobs that ended on one day, of runs with one model. */
export interface DayCost extends Amount {
  /** `2026-11-23`, in UTC. */
  readonly day: string;
  /** Model of the runs; `null` if they name none. */
  readonly model: string | null;
  readonly jobs: number;
}

/** Sums what all runs of a store have spent, by day and by model: the newest day first. */
export async function costsByDay(
  jobs: Jobs,
): Promise<{ readonly costs: readonly DayCost[]; readonly damaged: readonly DamagedOfRun[] }> {
  const byKey = new Map<string, DayCost>();
  const damaged = (await jobs.damagedRuns()).map(damagedRun);
  const without = damaged.map(({ run }) => run);
  for await (const run of everyRun(jobs, without)) {
    const own = openReadableJobs(jobs, run);
    for await (const job of jobsOf(own.list)) addCost(byKey, run, job);
    damaged.push(...own.damaged());
  }
  const costs = [...byKey.values()].sort((a, b) => b.day.localeCompare(a.day) || b.nanodollars - a.nanodollars);
  return { costs, damaged };
}

/** A job that has not ended counts on the day on which it began. */
function addCost(costs: Map<string, DayCost>, run: RunRow, job: JobRow): void {
  const { spent } = job;
  if (spent.sub_calls === 0 && spent.nanodollars === 0 && spent.tokens === 0) return;
  const day = new Date(job.ended_at ?? job.begun_at ?? run.created_at).toISOString().slice(0, 10);
  const model = job.model ?? modelOfRun(run);
  const key = JSON.stringify([day, model]);
  const cost = costs.get(key) ?? { jobs: 0, sub_calls: 0, tokens: 0, nanodollars: 0 };
  const of = (name: keyof Amount) => cost[name] + spent[name];
  const sums = { sub_calls: of("sub_calls"), tokens: of("tokens"), nanodollars: of("nanodollars") };
  costs.set(key, { day, model, jobs: cost.jobs + 1, ...sums });
}

/** A run with all that is known of it, and its jobs. */
export interface RunLook extends CountedRun {
  readonly held_back: HeldJobs | null;
  /** The first jobs of the state that was asked for. */
  readonly rows: readonly JobRow[];
  /** All jobs of that state, read page by page. */
  readonly jobs: AsyncIterable<JobRow>;
  /** Rows that the reads have left out until now. */
  damaged(): readonly DamagedOfRun[];
}

/**
 * @param state `undefined`: jobs of every state
 * @param most rows
 */
export async function lookAtRun(
  store: Store,
  run: RunRow,
  state: JobState | undefined,
  most: number,
): Promise<RunLook> {
  const own = openReadableJobs(store.jobs, run);
  const list = (page: JobPage) => own.list(state === undefined ? page : { ...page, states: [state] });
  // The first page tells whether some are not to be counted.
  const rows = await list({ from: 0, limit: most });
  const counts = await own.counts();
  return {
    run,
    counts,
    rows,
    jobs: jobsOf(list),
    waits: await waitsFor(store, { run: run.id }),
    reused: await store.jobs.reused(run.id),
    held_back: await nullIf("store_corrupt", heldJobs(store.jobs, run, counts.parked)),
    refusal: await refusalOfRun(own.list, counts),
    damaged: own.damaged,
  };
}

/** The texts of a job, and the batches that it waits for. */
export interface JobLook {
  readonly input: WrittenJson;
  /** Text that its cell printed. */
  readonly output: string;
  /** The result as JSON; `null` if there is none. */
  readonly result: string | null;
  /** The result; `null` if there is none, and `undefined` if the row is not JSON. */
  readonly value: Json | null | undefined;
  readonly waits: readonly ProviderWait[];
}

export async function lookAtJob(store: Store, job: JobRow): Promise<JobLook> {
  const input = readJson(await store.jobs.input(job));
  const result = job.state === "done" ? await store.jobs.result(job) : null;
  const { output } = toldOf(job);
  return {
    input,
    output: typeof output === "string" ? output : "",
    result,
    // A row was checked when it was sealed, but it may not be JSON.
    value: result === null ? null : parseJson(result),
    waits: await waitsFor(store, { root: job.session }),
  };
}
