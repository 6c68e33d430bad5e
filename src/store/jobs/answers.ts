import type { Json } from "../../../runtime/index.ts";
import type { JobKey } from "./port.ts";

// Answers of models to the calls of jobs. A job that is tried again takes its own, and a run those of earlier runs.

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
  /** Tokens that the call took. */
  readonly tokens: number;
  /** Dollars that the call took, in 10⁻⁹. */
  readonly nanodollars: number;
  /** ms since the epoch. */
  readonly at: number;
}

/** An answer on record for a call. */
export interface KnownAnswer extends Pick<NewAnswer, "value" | "model" | "tokens" | "nanodollars"> {
  /** Name of the run that asked for it, or its id if that run was dropped. `null` if it is the run of the call itself. */
  readonly from: string | null;
}

/** The search for the answer of a call. */
export interface AnswerSearch extends AnswerKey {
  /** True if only an answer that the job has already counts: the call is being answered otherwise. */
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
