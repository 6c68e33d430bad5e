import type { Json } from "../../runtime/index.ts";

/**
 * The jobs of runs, as rows. They say what is true of a job; a dispatcher only says who should try
 * it. A change of a job that is being tried is made under the fence of its session's lease: with an
 * older fence it changes nothing and answers false. Instants are those of the store's clock:
 * PostgreSQL's, or the machine's.
 */
export interface Jobs {
  /**
   * Makes a run, or answers the one of this name, whose specification and files are these from now
   * on; its queue and its share stay, and one that is fresh stays so.
   * @throws `run_differs` if that one does something else
   */
  open(run: NewRun): Promise<{ readonly run: RunRow; readonly made: boolean }>;
  /**
   * Adds jobs, 1,000 at the most, behind those that the run has. An id is taken once: a known job
   * stays as it is.
   */
  add(run: string, jobs: readonly NewJob[]): Promise<readonly AddedJob[]>;
  /**
   * Compares the jobs of these ids, 1,000 at the most, in their order; null: the run has none of
   * this id.
   */
  known(run: string, jobs: readonly Asked[]): Promise<readonly (KnownJob | null)[]>;
  /**
   * Jobs that nobody tries, 1,000 at the most, wait for what is asked of them now, each with an
   * attempt and a session of its own. Answers how many they are.
   * @param model of their calls that name none, if it is another one than the run's (default null:
   * the run's)
   */
  replace(run: string, jobs: readonly NewJob[], model?: string | null): Promise<number>;
  /** By name or id; null if there is none. */
  run(nameOrId: string): Promise<RunRow | null>;
  /** The newest first, 1,000 at the most. */
  runs(page: RunPage): Promise<readonly RunRow[]>;
  /** Runs whose rows cannot be read. `runs` refuses a page that has one of them. */
  damagedRuns(): Promise<readonly DamagedRow[]>;
  read(key: JobKey): Promise<JobOfRun | null>;
  /** By the id that the user gave; null if the run has none such. */
  find(run: string, id: string): Promise<JobRow | null>;
  /** In their order, 1,000 at the most, or fewer if they are large, without inputs and results. */
  list(run: string, page: JobPage): Promise<readonly JobRow[]>;
  /**
   * Jobs of a run whose rows cannot be read. `list` and `counts` refuse to answer if they find one.
   */
  damaged(run: string): Promise<readonly DamagedRow[]>;
  /**
   * Reads the job's input, as JSON.
   *
   * @throws `store_corrupt` if it is not what was asked when the job was added
   */
  input(key: JobKey): Promise<string>;
  /** The result of a job that is done, as JSON; null if it has none. @throws `store_corrupt` */
  result(key: JobKey): Promise<string | null>;
  /**
   * The answer that a call takes over: the job's own, else one of an earlier run of the same script
   * or table that no other call of this run has taken. The job has it from then on. `null` if the
   * model is to be asked.
   */
  reuse(search: AnswerSearch): Promise<KnownAnswer | null>;
  /** Answers that a run took from earlier ones. */
  reused(run: string): Promise<ReusedAnswers>;
  /**
   * Runs of the same script or table, the newest first, 100 at the most.
   *
   * @param without the id of one that is left out
   */
  sameFiles(files: RunFiles, without: string | null): Promise<readonly Pick<RunRow, "id" | "name">[]>;
  /** Answers that these runs have to a question, 100 at the most, in the order of their calls. */
  answersTo(asked: string, runs: readonly string[]): Promise<readonly Json[]>;
  /** @param without ids of jobs that are not counted */
  counts(run: string, without?: readonly string[]): Promise<Counts>;

  /**
   * A try takes the job: `running` (`cancelling` stays), and what earlier tries held becomes
   * doubtful, unless it is by batch. false: it is final.
   */
  begin(key: JobKey, taking: Try): Promise<boolean>;
  finish(key: JobKey, fence: number, outcome: Outcome): Promise<boolean>;
  /**
   * The try gives the job back, or parks it. With the reason `delivery` it waits if all its
   * requests by batch are answered already.
   */
  put(key: JobKey, fence: number, back: Back): Promise<boolean>;
  /**
   * `cancel`: waiting and parked jobs become cancelled, running ones cancelling. `retry`: final
   * ones that are not done wait again with an attempt and a session of their own. `pause` and
   * `resume` change the run; `resume` makes jobs due that are parked or wait for their time, but
   * those that have open requests by batch. Those of jobs that are cancelled or wait again are
   * given up, here and in `replace` and `finish`. Returns the jobs that are being tried now, with
   * their tickets.
   */
  change(run: string, change: Change): Promise<readonly Tried[]>;
  /** The limits that a run has from now on. */
  limit(run: string, limits: RunLimits): Promise<void>;
  /**
   * Drops a run that nobody works on, with the sessions of its jobs, also if rows are damaged.
   * @throws `session_busy`, also if requests of it are out, unless they are discarded
   */
  remove(run: string, options?: Discarding): Promise<void>;
  /**
   * Jobs to be tried, by rank, of runs that are open and have this queue: waiting ones, and those
   * that are parked until an instant, whose time has come by `overdueMs`; running or cancelling
   * ones whose session nobody has held for as long. Jobs parked as `held` are due at their instant
   * and not before: a ticket that waits for it would keep them from being tried sooner.
   */
  due(page: DuePage): Promise<readonly DueJob[]>;
  /**
   * Jobs of this process's folder that nobody holds although they are `running`: their lapses are
   * counted.
   */
  lapse(run: string): Promise<number>;

  /**
   * Holds money before a request. It is on disk when the answer is `held`. A hold that is there
   * already is taken over, with its amount: that of a request by batch, which an earlier try has
   * made.
   */
  reserve(hold: Hold): Promise<Held>;
  /**
   * Records the usage of a request: the rest of its hold is free. The record of its call settles it
   * (`Step.settle`). This may come to the disk with what the store keeps next.
   */
  give(hold: Omit<Hold, "amount">, spent: Amount): Promise<void>;
  /**
   * Takes the next instants of a rate; answers how long to wait for them, ms. Takes none if that is
   * longer than `LIMITS.rateWaitMs`: the job waits out of memory, and asks again.
   */
  slot(rate: Rate, cost: number): Promise<number>;
  /** Nobody sends under this rate for as long: the provider said so. */
  hush(rate: Rate, ms: number): Promise<void>;
}

/** A row that cannot be read. */
export interface DamagedRow {
  /** The row has it, so it may be damaged too. */
  readonly id: string;
  /** A line that names the row and what is wrong with it. */
  readonly problem: string;
}

/** A choice for dropping a session or a run. */
export interface Discarding {
  /** Requests by batch that are out are given up. */
  readonly discard?: boolean;
}

export type JobState = "waiting" | "running" | "parked" | "cancelling" | "done" | "failed" | "cancelled";

/** A job by its run's id and its number, from 0, dense. */
export interface JobKey {
  readonly run: string;
  readonly n: number;
}

/** Integers. Dollars are counted in 10⁻⁹, rounded up. */
export interface Amount {
  readonly nanodollars: number;
  readonly tokens: number;
  readonly sub_calls: number;
}

/** null: no limit. */
export type RunLimits = { readonly [Name in keyof Amount]: number | null };

export interface NewRun {
  /** A ULID. */
  readonly id: string;
  /** Unique. */
  readonly name: string;
  readonly queue: string;
  /** 1 to 8: how fast it advances beside other runs. */
  readonly share: number;
  /** The work of each job: the script, its settings. Never a key or a place. */
  readonly spec: Json;
  /** SHA-256 of what two submissions of one run have in common. */
  readonly hash: string;
  readonly limits: RunLimits;
  /** Absent: it is from no files. */
  readonly files?: RunFiles;
  /** True if its calls take no answers of earlier runs (default false). */
  readonly fresh?: boolean;
}

export interface RunRow extends NewRun {
  /** `paused`: nobody begins a job; those that run continue. */
  readonly state: "open" | "paused";
  /** Why it is paused, such as `budget`. */
  readonly why: string | null;
  readonly spent: Amount;
  /** Held by requests in flight. */
  readonly held: Amount;
  /** Held by requests whose usage is unknown. */
  readonly doubtful: Amount;
  /** ms since the epoch. */
  readonly created_at: number;
}

/** The input and the context of a job. */
export interface Asked {
  /** Unique in the run; given by the user, or made of the input. */
  readonly id: string;
  /** JSON, in which numbers are as they were written. */
  readonly input: string;
  /** Key of its context, which the store has; null: it has none. */
  readonly context: string | null;
}

export interface NewJob extends Asked {
  /** A ULID, of the session that the job will have. */
  readonly session: string;
}

export interface AddedJob {
  readonly n: number;
  /** False: the run had a job of this id. */
  readonly isNew: boolean;
}

export interface KnownJob {
  readonly n: number;
  readonly state: JobState;
  /** Its input or its context is another one than was asked for. */
  readonly isChanged: boolean;
  /** Answers that it took from earlier runs. */
  readonly reused: number;
}

export interface JobRow extends JobKey, Omit<NewJob, "input"> {
  readonly state: JobState;
  /** Why it waits or is parked, such as `budget`, `provider` or an error code. */
  readonly why: string | null;
  /** The lowest is tried first. */
  readonly rank: number;
  /** Not before this instant, ms since the epoch; null: at once. */
  readonly run_at: number | null;
  /** Id of the ticket by which it was tried last. */
  readonly ticket: string | null;
  readonly fence: number;
  /**
   * Image format of the build that began it; another build cannot continue it. null: it has no
   * image.
   */
  readonly engine: string | null;
  /**
   * `provider/id` of calls that name none, if it is another one than the run's; `null`: the run's.
   */
  readonly model: string | null;
  /** Tries that ended by a failure that counts. */
  readonly attempts: number;
  readonly lapses: number;
  /** Recorded answers of its session at the last lapse. */
  readonly answers: number;
  readonly spent: Amount;
  /**
   * Facts of its end beside the result; before it `refusal`, the last one of a provider. null:
   * there is neither.
   */
  readonly told: Json;
  /** ms since the epoch; null: not yet. */
  readonly begun_at: number | null;
  readonly ended_at: number | null;
}

export interface JobOfRun {
  readonly job: JobRow;
  readonly run: RunRow;
}

export interface RunPage {
  /** Id of the last one of the page before; null: from the first. */
  readonly after: string | null;
  readonly limit: number;
  /** Ids of runs that are left out. */
  readonly without?: readonly string[];
}

export interface JobPage {
  readonly states?: readonly JobState[];
  /** Their numbers; without it all of them. */
  readonly among?: readonly number[];
  /** The first number. */
  readonly from: number;
  readonly limit: number;
  /** Ids of jobs that are left out. */
  readonly without?: readonly string[];
}

export interface Counts extends Readonly<Record<JobState, number>> {
  /** Processes that hold sessions of jobs of the run. */
  readonly workers: number;
}

export interface Try {
  readonly ticket: string;
  readonly fence: number;
  readonly engine: string | null;
  readonly lapses: number;
  /** Recorded answers of the session. */
  readonly answers: number;
}

export interface Outcome {
  readonly state: "done" | "failed" | "cancelled";
  /** JSON; null: the cell gave none. */
  readonly result: string | null;
  /**
   * `error_code`, `error`, `suggestion`, `output`, `sub_calls`, `tokens`, `cost_usd`, `ms`,
   * `resumed` …
   */
  readonly told: Json;
  /**
   * The images of its session, and of its children, go with this: nobody forks a job that is done.
   * Its journal stays.
   */
  readonly dropsImages?: boolean;
}

export interface Back {
  readonly state: "waiting" | "parked";
  readonly why: string | null;
  /** It is not tried before. */
  readonly afterMs: number;
  /** True if the try counts as an attempt. */
  readonly counts: boolean;
  /** Facts in place of those that it told before. Absent: these stay. */
  readonly told?: Json;
}

export type Change =
  | { readonly to: "cancel"; readonly ids: readonly string[] | null }
  | {
      readonly to: "retry";
      readonly ids: readonly string[] | null;
      readonly states: readonly ("failed" | "cancelled")[];
      readonly fresh: boolean;
      /** As in `replace`. Absent: each job keeps its own. */
      readonly model?: string | null;
    }
  | { readonly to: "pause"; readonly why: string | null }
  | { readonly to: "resume" };

export interface Tried extends JobKey {
  readonly ticket: string;
  readonly rank: number;
}

export interface DuePage {
  readonly queue: string;
  /** Behind this one, in the order of ranks; null: from the first on. */
  readonly after: DueJob | null;
  readonly limit: number;
  readonly overdueMs: number;
}

export interface DueJob extends JobKey {
  readonly rank: number;
  readonly lapses: number;
  /** ms until it may be tried; 0: now. */
  readonly afterMs: number;
}

export interface Hold extends JobKey {
  readonly call: string;
  /** Number of the request within its call; −1 − k for one that goes by batch. */
  readonly attempt: number;
  readonly fence: number;
  readonly amount: Amount;
}

/**
 * `wait`: others hold what is missing. Else the limit that is spent: it will never have room for
 * the request.
 */
export type Held = "held" | "wait" | keyof Amount;

/** The final spending of a call, kept with its record. Its holds go. */
export interface Settled extends JobKey {
  readonly call: string;
  readonly spent: Amount;
}

/** So much of something in a minute, for all that send by one key. */
export interface Rate {
  /** Provider, base URL and 8 hex digits of SHA-256 of the key, and what is counted. */
  readonly key: string;
  readonly perMinute: number;
}

// Answers of models to the calls of jobs. A job that is tried again takes its own, and a run those
// of earlier runs.

/** Names one of the equal calls of a job. */
export interface AnswerKey extends JobKey {
  /** SHA-256, hex, of what the call asks: equal calls have equal sums. */
  readonly asked: string;
  /** Number of the call among the equal calls of its job, from 0. */
  readonly k: number;
}

/** An answer that ended right, as the commit of its record keeps it. */
export interface NewAnswer extends AnswerKey {
  readonly value: Json;
  /** `provider/id` of the model that gave it. */
  readonly model: string;
  /** Kinds of what was put right in it. Undefined: nothing was. */
  readonly mended?: readonly string[] | undefined;
  /** Tokens that the call took. */
  readonly tokens: number;
  /** Dollars that the call took, in 10⁻⁹. */
  readonly nanodollars: number;
  /** ms since the epoch. */
  readonly at: number;
}

/** An answer on record for a call. */
export interface KnownAnswer extends Pick<NewAnswer, "value" | "model" | "mended" | "tokens" | "nanodollars"> {
  /**
   * Name of the run that asked for it, or its id if that run was dropped. `null` if it is the run
   * of the call itself.
   */
  readonly from: string | null;
}

/** The search for the answer of a call. */
export interface AnswerSearch extends AnswerKey {
  /**
   * True if only an answer that the job has already counts: the call is being answered otherwise.
   */
  readonly ownOnly: boolean;
}

/** Answers that a run took from earlier runs. */
export interface ReusedAnswers {
  readonly answers: number;
  /** Tokens that they took when they were asked for. */
  readonly tokens: number;
  /** Dollars that they took then, in 10⁻⁹. */
  readonly nanodollars: number;
  /** Names of the runs that asked for them, the newest first. */
  readonly from: readonly string[];
}

/** The files that a run is made of. Runs that share one of them share their answers. */
export interface RunFiles {
  /** SHA-256, hex, of the script's real path; `null` if it is not from a file. */
  readonly script: string | null;
  /** SHA-256, hex, of the real path of the inputs; `null` if they are not from a file. */
  readonly table: string | null;
}
