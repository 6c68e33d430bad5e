import {
  type DamagedRow,
  type JobPage,
  type JobRow,
  type JobState,
  type Jobs,
  type RunRow,
  readablePart,
  type Store,
} from "../store/index.ts";
import { refusalJson, refusalOf, toldOf } from "./failures.ts";

/** States of jobs that have ended. */
export const FINAL: readonly JobState[] = ["done", "failed", "cancelled"];

/** States of jobs that nobody tries, and that may have been begun. */
export const HELD_UP: readonly JobState[] = ["waiting", "parked"];

export const isOver = (state: JobState) => FINAL.includes(state);

/** Reads the newest runs without those whose rows are damaged. */
export function readableRuns(jobs: Store["jobs"], limit: number) {
  const damaged = () => jobs.damagedRuns();
  return readablePart((without) => jobs.runs({ after: null, limit, without }), damaged);
}

/** Reads of the jobs of one run that leave out those whose rows are damaged. */
export function openReadableJobs(jobs: Pick<Jobs, "counts" | "damaged" | "list">, { id: run, name }: RunRow) {
  let left: readonly DamagedRow[] = [];
  async function read<Found>(work: (without: readonly string[]) => Promise<Found>): Promise<Found> {
    if (left.length > 0) return work(left.map(({ id }) => id));
    const { found, damaged } = await readablePart(work, () => jobs.damaged(run));
    left = damaged;
    return found;
  }
  return {
    list: (page: JobPage) => read((without) => jobs.list(run, { ...page, without })),
    counts: () => read((without) => jobs.counts(run, without)),
    /** Rows that the reads have left out. */
    damaged: (): DamagedOfRun[] => left.map(({ id, problem }) => ({ run: name, job: id, problem })),
  };
}

/** Jobs of a list from this number on, read page by page. */
export async function* jobsOf(list: (page: JobPage) => Promise<readonly JobRow[]>, first = 0): AsyncIterable<JobRow> {
  const limit = 1000;
  for (let from = first, page = await list({ from, limit }); page.length > 0; page = await list({ from, limit })) {
    yield* page;
    from = (page.at(-1)?.n ?? 0) + 1;
  }
}

/** A row of a run or of one of its jobs that cannot be read. */
export interface DamagedOfRun {
  /** Name of the run; if its row is damaged, its id. */
  readonly run: string;
  readonly job?: string;
  readonly problem: string;
}

/**
 * Attempts that were begun: those that failed in a way that counts, and the one that runs or ended
 * it.
 */
export function attemptsOf({ attempts, begun_at, state }: JobRow): number {
  const isBeingTried = begun_at !== null && state !== "waiting" && state !== "parked";
  return attempts + (isBeingTried ? 1 : 0);
}

/** A job for programs, without its input and its result. */
export function jobJson(job: JobRow): object {
  const report = toldOf(job);
  const refusal = job.state === "failed" ? null : refusalJson(refusalOf(job));
  return {
    job: job.id,
    n: job.n,
    status: job.state,
    why: job.why,
    ...(report.error_code === undefined
      ? {}
      : { error_code: report.error_code, error: report.error, suggestion: report.suggestion }),
    ...(refusal ? { refusal } : {}),
    ...(report.warnings === undefined ? {} : { warnings: report.warnings }),
    ...(job.model === null ? {} : { model: job.model }),
    sub_calls: job.spent.sub_calls,
    ...(report.reused === undefined ? {} : { reused: report.reused }),
    tokens: job.spent.tokens,
    cost_usd: job.spent.nanodollars / 1e9,
    ...(report.estimated === undefined ? {} : { estimated: report.estimated }),
    ...(report.estimated_usd === undefined ? {} : { estimated_usd: report.estimated_usd }),
    attempts: attemptsOf(job),
    lapses: job.lapses,
    run_at: job.run_at,
    begun_at: job.begun_at,
    ended_at: job.ended_at,
    session: job.session,
  };
}
