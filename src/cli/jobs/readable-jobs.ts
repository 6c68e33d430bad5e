import type { RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { jsonText } from "../../platform/visible.ts";
import { type DamagedRow, type JobPage, type JobRow, type Jobs, type RunRow, readablePart } from "../../store/index.ts";
import { damageError, outcomeOf, showFailure } from "../render/failure.ts";
import { hasLoss, isAboutReplies, jobWarnings, jobWarningText } from "../render/warnings.ts";
import { type JobsAsked, jobsLine } from "./jobs-asked.ts";
import { refusalJson, refusalOf, toldOf } from "./refusals.ts";

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

/** Attempts that were begun: those that failed in a way that counts, and the one that runs or ended it. */
export function attemptsOf({ attempts, begun_at, state }: JobRow): number {
  const isBeingTried = begun_at !== null && state !== "waiting" && state !== "parked";
  return attempts + (isBeingTried ? 1 : 0);
}

/** Lines about the warnings of jobs that are done. */
export interface WarningLines {
  /** The line about jobs without a part of what was asked for; null: there are none. */
  readonly loss: string | null;
  /** The line about jobs whose models replied otherwise than asked; null: there are none. */
  readonly replies: string | null;
}

export async function warningLines(list: (page: JobPage) => Promise<readonly JobRow[]>): Promise<WarningLines> {
  const losses: string[] = [];
  const replies: string[] = [];
  for await (const job of jobsOf((page) => list({ ...page, states: ["done"] }))) {
    const warnings = jobWarnings(toldOf(job));
    const note = (noted: string[], warning: string | undefined) => {
      // The first is shown, and the others are counted.
      if (warning !== undefined) noted.push(noted.length > 0 ? "" : `${job.id}: ${jobWarningText(warning)}`);
    };
    note(
      losses,
      warnings.find((warning) => hasLoss([warning], false)),
    );
    note(replies, warnings.find(isAboutReplies));
  }
  const lack = amount(losses.length, "job lacks", "jobs lack");
  const warn = amount(replies.length, "job warns", "jobs warn");
  return {
    loss: losses.length === 0 ? null : `${lack} a part of what was asked for, such as ${losses[0]}`,
    replies: replies.length === 0 ? null : `${warn} about replies of models, such as ${replies[0]}`,
  };
}

/** A job for programs, without its input and its result. */
export function jobJson(job: JobRow): object {
  const told = toldOf(job);
  const refusal = job.state === "failed" ? null : refusalJson(refusalOf(job));
  return {
    job: job.id,
    n: job.n,
    status: job.state,
    why: job.why,
    ...(told.error_code === undefined
      ? {}
      : { error_code: told.error_code, error: told.error, suggestion: told.suggestion }),
    ...(refusal ? { refusal } : {}),
    ...(told.warnings === undefined ? {} : { warnings: told.warnings }),
    ...(job.model === null ? {} : { model: job.model }),
    sub_calls: job.spent.sub_calls,
    ...(told.reused === undefined ? {} : { reused: told.reused }),
    tokens: job.spent.tokens,
    cost_usd: job.spent.nanodollars / 1e9,
    attempts: attemptsOf(job),
    lapses: job.lapses,
    run_at: job.run_at,
    begun_at: job.begun_at,
    ended_at: job.ended_at,
    session: job.session,
  };
}
