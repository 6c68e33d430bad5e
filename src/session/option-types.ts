import type { FunctionFacts } from "../../builtins/index.ts";
import type { ExecLimits, Json, Sampling, Thinking } from "../../runtime/index.ts";
import type { Context, Converters } from "../context/index.ts";
import type { AgentTool, Complete } from "../models/index.ts";
import type { AgentCommands } from "../platform/agent-commands.ts";
import type { CheckpointNotice, SessionEvent } from "./events.ts";
import type { BudgetLimits, CellFile } from "./journal/records.ts";

import type { RemarkOptions } from "./stored/remarks.ts";

/** A session outlives the process in the folder of a `store`; without one it lives in memory, and has no name. */
export type SessionOptions = CommonOptions &
  (
    | (Required<Pick<Keeping, "store">> & Pick<Keeping, "session">)
    | { readonly store?: string | undefined; readonly session?: undefined }
  );

/** Options of a host that may bring the store itself. */
export type HostedOptions = CommonOptions & Keeping;

interface Keeping {
  /** Folder of the store: the session then outlives the process. Default: it lives in memory. */
  readonly store?: string | undefined;
  /** Name, or id, of the session: continued if the store has it, else made under this name. */
  readonly session?: string | undefined;
}

type Some<Options> = { readonly [option in keyof Options]?: Options[option] | undefined };

interface CommonOptions extends RemarkOptions {
  /** Folders from which contexts may be loaded; default: `cwd`. */
  readonly roots?: readonly string[] | undefined;
  /** The folder of relative paths; default: the process's. */
  readonly cwd?: string | undefined;
  /** Limits of every exec of the session, unless it overrides them. */
  readonly limits?: Some<ExecLimits> | undefined;
  /** Limits of what the session spends since its last load. Each call can have smaller ones of its own. */
  readonly budget?: Some<BudgetLimits> | undefined;
  /** The guest's own heap, MB (default 128). What P takes when a cell touches it comes on top. */
  readonly memoryMb?: number | undefined;
  /**
   * Space that the session takes in the store with its contexts and children, MB (default 2,048). What would take more ends with
   * `store_full`, and the state is as before.
   */
  readonly maxSessionMb?: number | undefined;
  /**
   * MB of text that a context may have (default 100, at most 16,384). One of more than 100 MB lies in files beside the store, and
   * cells read it by windows.
   */
  readonly maxContextMb?: number | undefined;
  /** Documents that a context may have (default 10,000, at most 1,000,000). */
  readonly maxFiles?: number | undefined;
  /**
   * Time that the machine stays when nothing is asked of the session, ms (default 60,000). Then its memory is given back; the
   * next exec opens it again from the checkpoint, in some milliseconds. 0 gives it up at once; Infinity keeps it, unless
   * another session needs its thread.
   */
  readonly idleMs?: number | undefined;
  /**
   * Time for which `suspend` waits for functions with the effects `once` that run, ms (default 10,000; 0 to 3,600,000). Their answers
   * are recorded. Aborting `signal` too ends the wait at once.
   */
  readonly onceWaitMs?: number | undefined;
  /**
   * Time for which calls wait for a model's server that has answered before and is away, ms (default 60,000; 0 to 3,600,000). It
   * takes nothing of the time of calls and execs. A server that has never answered is not waited for.
   */
  readonly waitForServerMs?: number | undefined;
  /** Folder that keeps search indexes and texts of documents for later sessions; default: a temporary one without texts, removed by `close`. */
  readonly indexDir?: string | undefined;
  /** Converters of the user's own by extension: a command whose argument `{}` is a file; false: none; true: in a repository too. */
  readonly convert?: Converters | undefined;
  /** Model of sub-calls, `provider/id`; without one they fail with `no_model_configured`. */
  readonly model?: string | undefined;
  /**
   * Models that cells may name beside those of the provider of `model` and of providers in Pi's auth.json and models.json: `provider/id`,
   * or `provider/*` for all of a provider. With `baseUrl` or `complete` they may name any.
   */
  readonly models?: readonly string[] | undefined;
  /** Answers the requests of all models in place of their providers. */
  readonly complete?: Complete | undefined;
  /** An OpenAI-compatible server: the provider's name is then free, as in `local/scripted`. */
  readonly baseUrl?: string | undefined;
  /** Name of the environment variable that holds the key. */
  readonly apiKeyEnv?: string | undefined;
  /** `IN/OUT`: dollars per million tokens of models whose price no list knows. */
  readonly price?: string | undefined;
  /**
   * Parts of requests to leave out, separated by commas: `schema`, so that only the prompt states
   * it, and `cache`, so that calls with a common beginning are sent at once. Each is for all models, or as `schema@local/NAME` and `schema@local/*`.
   */
  readonly leaveOut?: string | undefined;
  /** The host has chosen the model for the user: the first answer says so in the warning `model_chosen`. */
  readonly modelChosen?: boolean | undefined;
  /** The level of thinking of calls that name none (default `off`: as little as each model can). */
  readonly thinking?: Thinking | undefined;
  /** Parameters of sub-calls that name none (default: the provider's own). Turns of an ask are taken without them. */
  readonly sampling?: Sampling | undefined;
  /** Delivery of sub-calls that name none (default `now`). */
  readonly delivery?: Delivery | undefined;
  /** Sub-calls in flight at once (default 5). */
  readonly concurrency?: number | undefined;
  /**
   * Levels of sub-calls with a context of their own (default 2; 0 to 5): 0 allows none, 1 those whose own cells make none.
   * A deeper one fails in its cell with `depth_exceeded`.
   */
  readonly maxDepth?: number | undefined;
  /** Tools that sub-agents may be given beyond reading. */
  readonly subAgents?: SubAgentPolicy | undefined;
  /**
   * Agents that cells of workflows may ask in place of a model, by name: programs that run with the rights of this process. Other
   * cells, asks and children do not get them.
   */
  readonly agents?: AgentCommands | undefined;
  /**
   * Folder of the runs of agents. Default: `agents` in the store's folder; for a server's store `server-agents` in Belay's own; for a
   * session in memory a temporary one, removed by `close`.
   */
  readonly agentsDir?: string | undefined;
  /**
   * A call of a workflow that cannot be made until a person acts (a key, a credit, a limit of the account, the budget) suspends the
   * exec. Default false: it fails in the cell.
   */
  readonly waitsForUser?: boolean | undefined;
  /** Calls of workflows take over the answers that equal calls of another session got. Children do not. */
  readonly reuse?: ReuseOptions | undefined;
  /** Functions of the program that cells call by name: `await NAME({ … })`. Children do not get them. */
  readonly functions?: { readonly [name: string]: SessionFunction } | undefined;
  /** The treatment of calls that were in flight when the process ended: they are sent again (default), or fail in the cell. */
  readonly onRestart?: OnRestart | undefined;
  /** Takes answers of earlier identical plain calls (`tools: []`) from the store (default false). */
  readonly cache?: boolean | undefined;
  /** Keeps checkpoints from within an exec after its end, and all ends (default false). */
  readonly keepSteps?: boolean | undefined;
  /** Called with each checkpoint once it is kept. `onProgress` gets it too; a later version has only that. */
  readonly onCheckpoint?: ((checkpoint: CheckpointNotice) => void) | undefined;
  readonly onProgress?: ((event: SessionEvent) => void) | undefined;
}

/** The session whose answers calls take over. */
export interface ReuseOptions {
  /** Name or id of a session in the same store. */
  readonly session: string;
  /**
   * The phase whose calls are made. Every other call must find its answer there: before one is sent that does not, the exec is
   * suspended with `policy_violation`.
   */
  readonly only?: string | undefined;
}

/** A function that the program lends to cells. Its calls are recorded as sub-calls are. */
export interface SessionFunction extends Pick<FunctionFacts, "description" | "effects"> {
  /** JSON Schema of the one object that it is called with. */
  readonly parameters: object;
  /**
   * Returns JSON of at most 1 MB; undefined counts as null. What it throws rejects the call with `function_failed`. It must not
   * wait for the session itself. `signal` aborts when the call is given up: at the end of its time, of the session's time or of
   * the exec. `idempotencyKey` is the same whenever the same call is run.
   */
  run(
    args: { readonly [name: string]: Json },
    call: { readonly signal: AbortSignal; readonly idempotencyKey: string },
  ): unknown;
  /**
   * A question before each run, such as to a person; the time of the call begins afterwards. Unless it gives true, the call rejects
   * with `policy_violation` and nothing runs. A denial is recorded as an answer is. If the process ends before the answer, the call
   * is asked for again when the exec is resumed.
   */
  readonly approve?:
    | ((args: { readonly [name: string]: Json }, call: { readonly signal: AbortSignal }) => boolean | Promise<boolean>)
    | undefined;
  /** It is run in dry runs too, since it costs and changes nothing (default false: cells get a placeholder for its result). */
  readonly runsDry?: boolean | undefined;
  /** Time of one call, ms (default 120,000). */
  readonly timeoutMs?: number | undefined;
}

export type OnRestart = "send" | "fail";

/** Tools of sub-agents beyond the default ones, which only read (spec §6.3). */
export interface SubAgentPolicy {
  /** Tools that the host can lend. */
  readonly tools?: readonly AgentTool[] | undefined;
  /** Names of those that cells may ask for. */
  readonly allowed_tool_overrides?: readonly string[] | undefined;
  /** Calls `approve` for each call that needs approval (default true). */
  readonly require_approval?: boolean | undefined;
  readonly approve?:
    | ((request: {
        readonly builtin: string;
        readonly tools: readonly string[];
        readonly prompt: string;
      }) => Promise<boolean>)
    | undefined;
  /** Turns of a sub-agent (default 10). */
  readonly maxTurns?: number | undefined;
}

/** Options of waiting for providers' batches. */
export interface WaitOptions {
  /**
   * ms until an exec that waits only for a provider returns: it is unfinished, and the envelope has `waits`.
   * Default: until it ends.
   */
  readonly wait_ms?: number | undefined;
  /** Creates a batch again if it is unknown whether the first create succeeded. Its calls may be billed twice (default false). */
  readonly resendDoubtful?: boolean | undefined;
}

export interface ExecOptions extends WaitOptions {
  /** Limits for this exec only; clamped by policy, and reported in `limits_applied`. */
  readonly limits?: Some<ExecLimits> | undefined;
  /** A budget for this exec only, within the session's. A resume keeps it with its spending. */
  readonly budget?: Some<BudgetLimits> | undefined;
  /** Aborting ends the cell as `cancelled`; what it changed so far stays. */
  readonly signal?: AbortSignal | undefined;
  /** Aborting stops the exec where it is: it is not over, and `resume` finishes it, in this process or another. */
  readonly suspend?: AbortSignal | undefined;
  /** The name of the cell in tracebacks, such as its file; default: `<cell 3>`. */
  readonly name?: string | undefined;
  /**
   * Takes the whole result of a cell that succeeds, as JSON of up to 100 MB, before the end of its exec is recorded; of a
   * query the answer. If it rejects, the exec stays unfinished: `resume` continues from its newest checkpoint. A result that is
   * larger is not given, and the warning `result_too_large` says so.
   */
  readonly deliver?: ((json: string) => Promise<void>) | undefined;
  /**
   * The conversation in which the caller runs the cell: cells read it as `history`. It is fixed
   * until the exec ends, and `resume` needs the same one again, unless a cell has touched it.
   */
  readonly history?: Context | undefined;
  /** Cells that the caller will run after this one: recorded, so that another process can. */
  readonly rest?: readonly CellFile[] | undefined;
  /** The cell is a workflow of the user's: it may ask the session's `agents`. A resume keeps it so. */
  readonly workflow?: boolean | undefined;
}

export interface DryRunOptions extends Pick<ExecOptions, "limits" | "signal" | "name" | "history" | "workflow"> {
  /** Items that lists have in placeholders for answers with a schema, as far as it allows them (default: as few as it allows). */
  readonly assumed?: number | undefined;
}

export interface LoadingOptions {
  /** Folders that may be read for this load, beside the session's. */
  readonly roots?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Loads files as they are, no document as its text (default false). */
  readonly raw?: boolean | undefined;
  /** Loads files of a folder that may contain secrets by their names, such as `.env` and `*.pem` (default false). */
  readonly includeSecrets?: boolean | undefined;
  /** The encoding of texts without a byte order mark, such as `latin1` or `gbk` (default UTF-8). */
  readonly encoding?: string | undefined;
  /** Reads all bytes that are not of the encoding as U+FFFD, and counts them in `stats.converted` (default false). */
  readonly lossy?: boolean | undefined;
}

/** A path, text at hand under a document name, or files of several places. */
export type LoadSource = string | { readonly text: string | Uint8Array; readonly name: string } | LoadPaths;

/**
 * Files, folders and globs (`src/**\/*.ts`), as if they were in one folder: documents are named relative to the
 * session's `cwd`. A file of the context that has not changed is not added again.
 */
export interface LoadPaths {
  readonly paths: readonly string[];
  /** The load fails with `context_too_large` if it would add more. */
  readonly maxFiles?: number | undefined;
  readonly maxBytes?: number | undefined;
}

/** The way of a call's requests to their model: at once, or by a batch of its provider at a lower price. */
export type Delivery = (typeof DELIVERIES)[number];

export const DELIVERIES = ["now", "batch"] as const;
