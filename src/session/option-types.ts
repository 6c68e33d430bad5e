import type { FunctionFacts } from "../../builtins/index.ts";
import type { ExecLimits, Json, Sampling, Thinking } from "../../runtime/index.ts";
import type { Context, Converters } from "../context/index.ts";
import type { AgentTool, Complete } from "../models/index.ts";
import type { AgentCommands } from "../platform/agent-commands.ts";
import type { CheckpointNotice, SessionEvent } from "./events.ts";
import type { BudgetLimits, CellFile } from "./journal/records.ts";

import type { RemarkOptions } from "./stored/remarks.ts";

/** Options of a session. With a `store` it outlives the process; without one it lives in memory, and has no name. */
export type SessionOptions = CommonOptions &
  (
    | (Required<Pick<Keeping, "store">> & Pick<Keeping, "session">)
    | { readonly store?: string | undefined; readonly session?: undefined }
  );

/** Options of a host that may bring the store itself. */
export type HostedOptions = CommonOptions & Keeping;

interface Keeping {
  /** Folder or URL of the store that keeps the session (default: memory). */
  readonly store?: string | undefined;
  /** Name or id of the session. It is opened if the store has it, and otherwise created under this name. */
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
  /** Heap of the cells without P, MB (default 128). */
  readonly memoryMb?: number | undefined;
  /**
   * The most space of the session, its contexts and its children in the store, MB (default 2,048). An exec that would
   * exceed it fails with `store_full`, and changes nothing.
   */
  readonly maxSessionMb?: number | undefined;
  /**
   * The most text of a context, MB (default 100, at most 16,384). Above 100 MB it is kept in files beside the store,
   * and `P` is not a string in cells.
   */
  readonly maxContextMb?: number | undefined;
  /** Documents that a context may have (default 10,000, at most 1,000,000). */
  readonly maxFiles?: number | undefined;
  /**
   * Time without an exec after which the session's memory is released, ms (default 60,000). The next exec opens it
   * from the checkpoint within milliseconds. 0 releases it at once, Infinity only if another session needs its thread.
   */
  readonly idleMs?: number | undefined;
  /**
   * The longest that `suspend` waits for running functions with the effects `once`, ms (default 10,000; 0 to
   * 3,600,000). Their answers are recorded. Aborting `signal` too ends the wait at once.
   */
  readonly onceWaitMs?: number | undefined;
  /**
   * The longest that calls wait for a model's server that answered before and is away, ms (default 60,000; 0 to
   * 3,600,000). The wait does not count in the time of calls and execs. A server that never answered is not waited
   * for.
   */
  readonly waitForServerMs?: number | undefined;
  /**
   * Folder that keeps search indexes and texts of documents for later sessions (default: a temporary one for indexes,
   * which `close` removes).
   */
  readonly indexDir?: string | undefined;
  /**
   * Converters of documents by extension: a command, in which `{}` is the file; false leaves files unconverted; true
   * converts HTML of a repository too.
   */
  readonly convert?: Converters | undefined;
  /** Model of sub-calls, `provider/id`; without one they fail with `no_model_configured`. */
  readonly model?: string | undefined;
  /**
   * Models that cells may name beside those of the provider of `model` and of providers in Pi's auth.json and models.json: `provider/id`,
   * or `provider/*` for all of a provider. With `baseUrl` or `complete` they may name any.
   */
  readonly models?: readonly string[] | undefined;
  /** Answers all requests to models, instead of their providers. */
  readonly complete?: Complete | undefined;
  /** Address of an OpenAI-compatible server. The provider's name in `model` is then free, as in `local/scripted`. */
  readonly baseUrl?: string | undefined;
  /** Name of the environment variable that holds the key. */
  readonly apiKeyEnv?: string | undefined;
  /** `IN/OUT`: dollars per million tokens of models without a listed price, such as `3/15`. */
  readonly price?: string | undefined;
  /**
   * Parts of requests to leave out, separated by commas: `schema`, so that only the prompt states
   * it, and `cache`, so that calls with a common beginning are sent at once. Each is for all models, or as `schema@local/NAME` and `schema@local/*`.
   */
  readonly leaveOut?: string | undefined;
  /** True if the host chose the model for the user. The first answer then has the warning `model_chosen`. */
  readonly modelChosen?: boolean | undefined;
  /** The level of thinking of calls that name none (default `off`: as little as each model can). */
  readonly thinking?: Thinking | undefined;
  /** Parameters of sub-calls that name none (default: the provider's own). They do not apply to turns of an ask. */
  readonly sampling?: Sampling | undefined;
  /** Delivery of sub-calls that name none (default `now`). */
  readonly delivery?: Delivery | undefined;
  /** Sub-calls in flight at once (default 5). */
  readonly concurrency?: number | undefined;
  /**
   * Levels of sub-calls with their own context (default 2; 0 to 5). A deeper call fails in its cell with
   * `depth_exceeded`.
   */
  readonly maxDepth?: number | undefined;
  /** Tools that sub-agents may be given beyond reading. */
  readonly subAgents?: SubAgentPolicy | undefined;
  /**
   * Programs that answer calls of workflows instead of a model, by name. They run with the rights of this process.
   * Other cells, asks and children cannot use them.
   */
  readonly agents?: AgentCommands | undefined;
  /**
   * Folder of the runs of agents. Default: `agents` in the store's folder; for a server's store `server-agents` in Belay's own; for a
   * session in memory a temporary one, removed by `close`.
   */
  readonly agentsDir?: string | undefined;
  /**
   * Suspends the exec if a call of a workflow needs a person to act (key, credit, limit of the account, budget). By
   * default the call fails in the cell.
   */
  readonly waitsForUser?: boolean | undefined;
  /** Takes the answers of equal calls of workflows from another session, except in children. */
  readonly reuse?: ReuseOptions | undefined;
  /** Functions of the program that cells call by name: `await NAME({ … })`. Children do not get them. */
  readonly functions?: { readonly [name: string]: SessionFunction } | undefined;
  /**
   * Sends calls again that were in flight when the process ended (`send`, the default), or makes them fail in the cell
   * (`fail`).
   */
  readonly onRestart?: OnRestart | undefined;
  /** Takes answers of earlier equal calls with `tools: []` from the store (default false). */
  readonly cache?: boolean | undefined;
  /** Keeps checkpoints from within an exec after its end, and all ends (default false). */
  readonly keepSteps?: boolean | undefined;
  /** Called after each checkpoint is saved. Prefer `onProgress`, which gets it too: a later version has only that. */
  readonly onCheckpoint?: ((checkpoint: CheckpointNotice) => void) | undefined;
  readonly onProgress?: ((event: SessionEvent) => void) | undefined;
}

/** The session whose answers are reused. */
export interface ReuseOptions {
  /** Name or id of a session in the same store. */
  readonly session: string;
  /**
   * The phase whose calls are made. Other calls need an answer in that session: before one without is sent, the exec
   * is suspended with `policy_violation`.
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
   * Called before each run, for example to ask a person; the time of the call begins afterwards. Unless it returns
   * true, the call rejects with `policy_violation` and nothing runs. A denial is recorded as an answer is. If the
   * process ends before the answer, the resumed exec asks again.
   */
  readonly approve?:
    | ((args: { readonly [name: string]: Json }, call: { readonly signal: AbortSignal }) => boolean | Promise<boolean>)
    | undefined;
  /**
   * Runs it in dry runs too, because it costs and changes nothing (default false: cells get a placeholder for its
   * result).
   */
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

/** Options of waiting for provider batches. */
export interface WaitOptions {
  /**
   * The longest to wait for provider batches, ms. An exec that still waits for them then returns unfinished, with
   * `waits` in its envelope. Default: until it ends.
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
  /** Aborting stops the exec where it is; `resume` finishes it, in this process or another. */
  readonly suspend?: AbortSignal | undefined;
  /** The name of the cell in tracebacks, such as its file; default: `<cell 3>`. */
  readonly name?: string | undefined;
  /**
   * Gets the whole result of a successful cell as JSON, or the answer of a query, before the end is recorded. If it
   * rejects, the exec stays unfinished, and `resume` continues from its newest checkpoint. It does not get a result of
   * more than 100 MB (`result_too_large`).
   */
  readonly deliver?: ((json: string) => Promise<void>) | undefined;
  /**
   * The conversation in which the caller runs the cell: cells read it as `history`. It is fixed
   * until the exec ends, and `resume` needs the same one again, unless a cell has touched it.
   */
  readonly history?: Context | undefined;
  /** Cells that the caller will run after this one: recorded, so that another process can. */
  readonly rest?: readonly CellFile[] | undefined;
  /** True if the cell is a workflow, which may ask the session's `agents`. A resume keeps it. */
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

/** Delivery of a call's requests: at once, or by the provider's batches at a lower price. */
type Delivery = (typeof DELIVERIES)[number];

const DELIVERIES = ["now", "batch"] as const;
