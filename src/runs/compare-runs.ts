import { isRecord } from "../platform/json.ts";
import type { JobRow, RunRow, Store } from "../store/index.ts";
import { type DamagedOfRun, jobsOf, openReadableJobs } from "./readable-jobs.ts";

/** A job that ended otherwise in one of two runs. */
interface ComparedJob {
  readonly job: string;
  /** `state`: it ended in another state, or with another error. `result`: it is done in both. */
  readonly is: "state" | "result" | "new" | "gone";
  /** State, with the code of the error; `null` if that run does not have the job. */
  readonly before: string | null;
  readonly now: string | null;
  /** `null`: input and context are the same, or one run does not have the job. */
  readonly why: "input changed" | "context changed" | null;
}

/** The number of jobs of each kind. */
export type ComparedCounts = Readonly<Record<ComparedJob["is"] | "same", number>>;

/** A run against an older one, by the ids of their jobs. */
export interface ComparedRuns {
  /** True if script and settings are the same. */
  readonly same_work: boolean;
  /** Counts of all jobs. */
  readonly counts: ComparedCounts;
  readonly cost_usd: number;
  readonly cost_usd_before: number;
  /** The first jobs of each kind. */
  readonly jobs: readonly ComparedJob[];
  /** Rows of both runs that cannot be read. */
  readonly damaged: readonly DamagedOfRun[];
}

/** A job as the comparison keeps it: a run may have a million. */
interface EndedJob extends Pick<JobRow, "run" | "n" | "id" | "context"> {
  /** The state, with the code of the error. */
  readonly end: string;
}

/** @param listed jobs of each kind at most */
export async function compareRuns(
  { jobs }: Pick<Store, "jobs">,
  now: RunRow,
  before: RunRow,
  listed: number,
): Promise<ComparedRuns> {
  const news = openReadableJobs(jobs, now);
  const olds = openReadableJobs(jobs, before);
  const remaining = new Map<string, EndedJob>();
  for await (const job of jobsOf(olds.list)) remaining.set(job.id, endedJob(job));
  const counts = { same: 0, state: 0, result: 0, new: 0, gone: 0 };
  const compared: ComparedJob[] = [];

  async function add(is: ComparedJob["is"], job: EndedJob | null, was: EndedJob | null): Promise<void> {
    if (counts[is]++ >= listed) return;
    const why = job && was ? await otherInput(jobs, job, was) : null;
    compared.push({ job: (job ?? was)?.id ?? "", is, before: was?.end ?? null, now: job?.end ?? null, why });
  }

  for await (const row of jobsOf(news.list)) {
    const job = endedJob(row);
    const was = remaining.get(job.id) ?? null;
    remaining.delete(job.id);
    if (!was) await add("new", job, null);
    else if (job.end !== was.end) await add("state", job, was);
    else if (row.state === "done" && (await jobs.result(job)) !== (await jobs.result(was))) {
      await add("result", job, was);
    } else counts.same++;
  }
  for (const was of remaining.values()) await add("gone", null, was);
  return {
    same_work: now.hash === before.hash,
    counts,
    cost_usd: now.spent.nanodollars / 1e9,
    cost_usd_before: before.spent.nanodollars / 1e9,
    jobs: compared,
    damaged: [...news.damaged(), ...olds.damaged()],
  };
}

function endedJob({ run, n, id, context, state, told }: JobRow): EndedJob {
  const code = isRecord(told) && typeof told.error_code === "string" && state !== "done" ? ` (${told.error_code})` : "";
  return { run, n, id, context, end: `${state}${code}` };
}

async function otherInput({ input }: Store["jobs"], job: EndedJob, was: EndedJob): Promise<ComparedJob["why"]> {
  if ((await input(job)) !== (await input(was))) return "input changed";
  return job.context === was.context ? null : "context changed";
}
