import type { ErrorCode, Json, RlmError } from "../../runtime/index.ts";
import type { SuspensionReason } from "../session/index.ts";
import type { JobOfRun, Jobs, Try } from "../store/index.ts";
import type { WorkProgress } from "./api.ts";
import type { Tried } from "./dispatcher.ts";
import type { Reason, Troubles } from "./failures.ts";
import type { RunSpec } from "./spec.ts";

/**
 * The parts of a try. `docs/order-of-writes.md` lists what a process that takes over finds after
 * each of its steps.
 */
export interface TryParts {
  readonly jobs: Pick<Jobs, "begin" | "change" | "counts" | "finish" | "put" | "read">;
  /** The image format of this build, and whether it can read another one. */
  readonly engine: { readonly own: string; isForeign(engine: string | null): boolean };
  /** Why this worker does not run jobs of the run, as a sentence; null: it does. */
  refusal(spec: RunSpec): string | null;
  readonly troubles: Pick<Troubles, "done" | "wentBack" | "pausing">;
  /**
   * Takes the lease of the job's session. If that is missing, it is made for this try.
   *
   * @throws RlmError `session_busy`
   */
  lease(found: JobOfRun, taking?: Taking): Promise<JobLease>;
  /** The worker is to stop. */
  readonly stopped: AbortSignal;
  /** ms since the epoch. */
  now(): number;
  /** From 0 to 1. */
  random(): number;
  after(ms: number, then: () => void): () => void;
  /** For people. */
  tell(progress: WorkProgress): void;
  /** Another build has begun the job: people are told once for each run. */
  foreign(found: JobOfRun): void;
  /**
   * ms until a job is tried again whose session another process has open. People are told if it
   * stays so.
   */
  busyMs(ticket: Pick<Tried, "run" | "n">, error: RlmError): number;
}

/** A try that has no lease yet. */
export type Taking = Pick<Try, "ticket" | "engine" | "lapses">;

/** The right to write to the session of a job. */
export interface JobLease {
  readonly fence: number;
  /** The answer of the job to the try that came with the lease; undefined: it was not asked. */
  readonly begun?: boolean | undefined;
  /** Recorded answers of the session. */
  answers(): Promise<number>;
  /**
   * Opens the session. Its money is that of the run, and `stops` can park it.
   *
   * @throws RlmError `context_lost` …
   */
  open(spec: RunSpec, stops: Pick<Stops, "park" | "suspend">): Promise<JobSession>;
  release(): Promise<void>;
}

export interface JobSession {
  /**
   * Finishes from the record if the cell has ended; continues if it was interrupted; else runs the
   * script.
   */
  run(signals: { readonly signal: AbortSignal; readonly suspend: AbortSignal }): Promise<JobEnd>;
  /** Gives up what was interrupted, and tells what the job has spent. */
  discard(): Promise<Json>;
  close(): Promise<void>;
}

/** The end of a job's session in a try. */
export type JobEnd =
  /** Its last exec has ended, and recorded. `code` is null if it succeeded; `result` is JSON. */
  | { readonly kind: "over"; readonly code: ErrorCode | null; readonly result: string | null; readonly told: Json }
  /**
   * It stands where it was: it was suspended, or the store refused its records. `damage`: the store
   * is damaged.
   */
  | { readonly kind: "unfinished"; readonly damage?: Reason };

/** Why a try was suspended. `left`: another try has the job, or it has ended. */
export type Suspended = { readonly why: "stopped" | "day" | "left" } | SuspensionReason;

/** Reasons to stop a try while its cell runs. */
export interface Stops extends Disposable {
  /** Aborts when the job is cancelled: the cell ends. */
  readonly cancel: AbortSignal;
  /** Aborts when the cell is to stop where it is. */
  readonly suspend: AbortSignal;
  /** Why the try was suspended; null if it was not. */
  suspended(): Suspended | null;
  /** Suspends the try because a call cannot be sent now. */
  park(reason: SuspensionReason): void;
}
