import type { Clock } from "../../runtime/index.ts";
import type { AgentCommands } from "../platform/agent-commands.ts";
import type { CallProgress, HostedOptions, Wait } from "../session/index.ts";
import type { SettingOptions } from "../settings/options.ts";
import type { JobKey, JobState, RunRow, Store } from "../store/index.ts";
import type { Dispatcher } from "./dispatcher.ts";
import type { RunSpec } from "./spec.ts";

export interface Submission extends Pick<RunRow, "name" | "queue" | "share" | "limits" | "files" | "fresh"> {
  readonly spec: RunSpec;
}

export interface Submitted {
  readonly run: RunRow;
  /** False if the run was there already. */
  readonly made: boolean;
  /** The numbers of the jobs, in the order of the submission. */
  readonly order: readonly number[];
  /** The number of new ones; the run had the others. */
  readonly added: number;
  /** The number of known ones that wait again. */
  readonly anew: number;
}

/** The part of this process in the sessions of jobs: no row can raise, add or replace any of it. */
export type WorkerSession = Pick<HostedOptions, "cwd" | "indexDir" | keyof SettingOptions> & {
  /** Models that cells may name beside those of the provider of their run's model. */
  readonly also?: readonly string[] | undefined;
  /**
   * `provider/id` of the models that jobs may ask, in scripts too; null: the model of the run, and
   * those that cells may name.
   */
  readonly models: readonly string[] | null;
  /** Agents that jobs of this process ask; null: none. */
  readonly lent?: LentAgents | null | undefined;
};

/**
 * Agents of the user's that are lent to some jobs. Rows of a store may be anybody's, so a job gets
 * them only if its script and its input are those that this process has submitted.
 */
export interface LentAgents {
  readonly commands: AgentCommands;
  /** The text of the script. */
  readonly source: string;
  /** By the input of a job, as `canonicalJson` gives it. */
  readonly jobs: { readonly [input: string]: LentToJob };
}

export interface LentToJob {
  readonly agent: string;
  /** The file or folder of which the agent works in a copy. */
  readonly files: string;
}

/** Options of `work(options)`, which resolves when the last try has returned. */
export interface WorkOptions {
  readonly store: Store;
  /**
   * Folder or URL of the store, for a process that tries a job apart; null: it is in memory, and
   * all are tried here.
   */
  readonly place: string | null;
  /** The queues that are served, each with its dispatcher. */
  readonly queues: readonly { readonly name: string; readonly dispatcher: Dispatcher }[];
  /** Jobs at once. Queues share them out evenly, one each at the least. */
  readonly concurrency: number;
  /** No further job is begun; those that run are finished. */
  readonly signal: AbortSignal;
  /** Every job is suspended where it is, and its ticket given back. */
  readonly suspend: AbortSignal;
  readonly session: WorkerSession;
  /**
   * Creates batches again if it is unknown whether the first create succeeded. Their calls may be
   * billed twice (default false).
   */
  readonly resendsDoubtful?: boolean;
  readonly onProgress?: (progress: WorkProgress) => void;
  /** Called once all that waits for providers has been looked at. */
  readonly onLooked?: () => void;
  /** Default: the clock of the system. */
  readonly clock?: Clock;
  /** The entry that tries a job in a process of its own. Default: that of a build or checkout. */
  readonly childEntry?: URL;
}

/** Events of the jobs that this process tries. */
export type WorkProgress =
  | { readonly kind: "begun"; readonly key: JobKey; readonly id: string; readonly resumed: boolean }
  | { readonly kind: "calls"; readonly key: JobKey; readonly progress: CallProgress }
  /** The wait of its calls that matters most; null: none takes long any more. */
  | { readonly kind: "waiting"; readonly key: JobKey; readonly wait: Wait | null }
  /** The try has ended. `state` is what it left the job in; null: it changed nothing. */
  | {
      readonly kind: "left";
      readonly key: JobKey;
      readonly id: string;
      readonly state: JobState | null;
      readonly why: string | null;
    }
  /** A sentence for the log. */
  | { readonly kind: "said"; readonly text: string }
  /** A sentence too: that a run was paused, and why. The run's row says so as well. */
  | { readonly kind: "paused"; readonly text: string };
