import type { ProviderWait } from "../provider-batches/index.ts";
import { type HeldBack, roundedUp } from "../session/index.ts";
import type { Amount, Counts, Jobs, ReusedAnswers, RunLimits, RunRow } from "../store/index.ts";
import type { CountedReason, Refusal } from "./failures.ts";

/** A run, its counts, and the provider batches that its jobs wait for. */
export interface CountedRun {
  readonly run: RunRow;
  readonly counts: Counts;
  readonly waits: readonly ProviderWait[];
  /** Answers that it took from earlier runs. */
  readonly reused: ReusedAnswers;
  /** The last refusal of a provider; null or absent: none is known. */
  readonly refusal?: Refusal | null;
}

/** A look at a run, at an instant of a clock of this process (ms). */
export interface RunState
  extends Pick<CountedRun, "counts">,
    Partial<Pick<CountedRun, "waits" | "reused" | "refusal">> {
  readonly at: number;
  readonly run: Pick<RunRow, "spent" | "held" | "doubtful" | "limits">;
  /** The reason why most of the failed jobs failed; null or absent: it is not known. */
  readonly reason?: CountedReason | null;
  /**
   * The instant at which the first parked job continues by itself; null or absent: it is not known.
   */
  readonly next?: number | null;
  /** Jobs that wait for what calls by batch hold; null or absent: none do. */
  readonly held_back?: HeldJobs | null;
}

export const jobsIn = ({ waiting, running, parked, cancelling, done, failed, cancelled }: Counts) =>
  waiting + running + parked + cancelling + done + failed + cancelled;

/** Jobs that have ended. */
export const overIn = ({ done, failed, cancelled }: Counts) => done + failed + cancelled;

/** A run in figures, by its wire names. */
export interface RunFigures {
  readonly jobs: JobCounts;
  /** The last refusal of a provider. */
  readonly refusal?: Refusal;
  /** Batches of providers that jobs wait for. */
  readonly waits?: readonly ProviderWait[];
  readonly reused?: ReusedFigures;
  /** Jobs that wait for what calls by batch hold. */
  readonly held_back?: HeldJobs;
  readonly spent: RunAmount;
  /** Held by requests in flight. */
  readonly held: RunAmount;
  /** Held by requests whose usage is unknown. */
  readonly doubtful: RunAmount;
  /** `null` for what is not limited. */
  readonly limits: { readonly [name in keyof RunAmount]: number | null };
}

/** The number of jobs in each state, and of all. */
export interface JobCounts {
  readonly all: number;
  readonly waiting: number;
  readonly running: number;
  readonly parked: number;
  readonly cancelling: number;
  readonly done: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Processes that hold sessions of the run's jobs. */
  readonly workers: number;
}

/** Answers that a run took from earlier runs, and what they had cost. */
export interface ReusedFigures {
  readonly answers: number;
  /** Names of the earlier runs. */
  readonly from: readonly string[];
  readonly saved: Omit<RunAmount, "sub_calls">;
}

export interface RunAmount {
  readonly cost_usd: number;
  readonly tokens: number;
  readonly sub_calls: number;
}

/** A run, its state and its figures, by wire names. */
export interface RunStatus extends RunFigures {
  readonly id: string;
  readonly name: string;
  /** Queue whose workers try its jobs. */
  readonly queue: string;
  /** 1 to 8: how fast it advances beside other runs. */
  readonly share: number;
  readonly state: RunWord;
  /** Why it is paused; `null` if it is not, or a person paused it. */
  readonly why: string | null;
  /** ms since the epoch. */
  readonly created_at: number;
}

/**
 * `over`: all jobs have ended. `paused`: `why` has the reason. `interrupted`: the process of its
 * running jobs has ended, and no process continues them. `parked`: jobs wait for a provider, or for
 * money.
 */
export type RunWord = "over" | "paused" | "running" | "interrupted" | "waiting" | "parked";

export function runStateJson(state: Omit<RunState, "at">): RunFigures {
  const { counts, run, waits = [], reused, held_back, refusal } = state;
  const { workers, ...states } = counts;
  return {
    jobs: { all: jobsIn(counts), ...states, workers },
    ...(refusal ? { refusal } : {}),
    ...(waits.length > 0 ? { waits } : {}),
    ...(reused ? { reused: reusedJson(reused) } : {}),
    ...(held_back ? { held_back } : {}),
    spent: amountJson(run.spent),
    held: amountJson(run.held),
    doubtful: amountJson(run.doubtful),
    limits: limitsJson(run.limits),
  };
}

const reusedJson = ({ answers, tokens, nanodollars, from }: ReusedAnswers): ReusedFigures => ({
  answers,
  from,
  saved: { tokens, cost_usd: nanodollars / 1e9 },
});

const amountJson = ({ nanodollars, tokens, sub_calls }: Amount): RunAmount => ({
  cost_usd: nanodollars / 1e9,
  tokens,
  sub_calls,
});

const limitsJson = ({ nanodollars, tokens, sub_calls }: RunLimits): RunFigures["limits"] => ({
  cost_usd: nanodollars === null ? null : nanodollars / 1e9,
  tokens,
  sub_calls,
});

export function runJson(
  now: Pick<RunState, "counts" | "waits" | "reused" | "held_back" | "refusal"> & { readonly run: RunRow },
): RunStatus {
  const { id, name, queue, share, why, created_at } = now.run;
  return { id, name, queue, share, state: stateOf(now), why, created_at, ...runStateJson(now) };
}

/** True if no job can continue before a provider answers. */
export function isLeftToProviders({ counts, waits }: Pick<CountedRun, "counts" | "waits">): boolean {
  return waits.length > 0 && counts.waiting + counts.running + counts.cancelling === 0;
}

/** The state of a run in a word, for people and programs. */
export function stateOf({ run, counts }: Pick<CountedRun, "run" | "counts">): RunWord {
  if (overIn(counts) === jobsIn(counts)) return "over";
  if (run.state === "paused") return "paused";
  // Their process has ended, and nobody has continued them.
  if (counts.running + counts.cancelling > 0) return counts.workers > 0 ? "running" : "interrupted";
  return counts.waiting > 0 ? "waiting" : "parked";
}

/** Jobs of a run that wait for what calls by batch hold of its limit. */
export interface HeldJobs {
  /** The number of them, among the first 1,000 that are parked. */
  readonly jobs: number;
  /** Calls that hold something. */
  readonly by: number;
  readonly of: HeldBack["of"] | "sub-calls";
  /** The limit under which all of them would go at once, by what a call holds now. */
  readonly raise_to: number;
}

/** null: no job waits for that. */
export async function heldJobs(jobs: Pick<Jobs, "list">, run: RunRow, parked: number): Promise<HeldJobs | null> {
  if (parked === 0 || run.held.sub_calls === 0) return null;
  const rows = await jobs.list(run.id, { states: ["parked"], from: 0, limit: 1000 });
  const waiting = rows.filter(({ why }) => why === "held").length;
  return waiting === 0 ? null : heldJobsOf(run, waiting);
}

/** @param jobs that wait */
function heldJobsOf({ limits, spent, held, doubtful }: Purse, jobs: number): HeldJobs | null {
  const by = Math.max(1, held.sub_calls);
  const wanted = (kind: keyof Amount) => spent[kind] + held[kind] + doubtful[kind] + (jobs * held[kind]) / by;
  const short = KINDS.find((kind) => wanted(kind) > (limits[kind] ?? Number.POSITIVE_INFINITY));
  if (short === undefined) return null;
  return { jobs, by: held.sub_calls, of: NAMES[short], raise_to: limitFor(short, wanted(short)) };
}

/** The value of the flag under which so much has room, in dollars or in what it counts. */
const limitFor = (kind: keyof Amount, wanted: number) =>
  kind === "nanodollars" ? Math.ceil(wanted / 1e7) / 100 : roundedUp(wanted);

type Purse = Pick<RunRow, "limits" | "spent" | "held" | "doubtful">;

const KINDS = ["tokens", "nanodollars", "sub_calls"] as const;
const NAMES = { tokens: "tokens", nanodollars: "dollars", sub_calls: "sub-calls" } as const;

/** A limit of a run that has no room for what calls by batch of all jobs would hold at once. */
export interface HeldByAll {
  readonly of: keyof Amount;
  /** Percent of the calls that have room. */
  readonly share: number;
  /** The limit under which all of them would have room. */
  readonly raise_to: number;
}

/** Compares the first requests of all jobs with the limits. `null` if there is room for them. */
export function heldByAll(limits: RunLimits, all: Amount): HeldByAll | null {
  const short = KINDS.find((kind) => all[kind] > (limits[kind] ?? Number.POSITIVE_INFINITY));
  if (short === undefined) return null;
  const share = Math.floor((100 * (limits[short] ?? 0)) / all[short]);
  return { of: short, share, raise_to: limitFor(short, all[short]) };
}

const LIMIT_NAMES = { nanodollars: "cost_usd", tokens: "tokens", sub_calls: "sub_calls" } as const;

/** `budget: sub_calls`: why a run is paused whose limit is spent. */
export function budgetReason(limit: keyof Amount): string {
  return `budget: ${LIMIT_NAMES[limit]}`;
}

/**
 * The limit that is spent of a run that is paused for this reason; null: there is another reason.
 */
export function limitIn(why: string | null): keyof Amount | null {
  return KINDS.find((limit) => budgetReason(limit) === why) ?? null;
}
