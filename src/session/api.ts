import type { FunctionFacts } from "../../builtins/index.ts";
import type { ExecLimits, Json, Sampling, Thinking } from "../../runtime/index.ts";
import type { Context, ContextStats, Converters } from "../context/index.ts";
import type { AgentTool, Complete } from "../models/index.ts";
import type { ObjectToRead, QueryOptions, ReadingOptions } from "../query/index.ts";
import type { AskEnvelope, AskOptions, TurnProgress } from "./ask/api.ts";
import type { ExecEnvelope, QueryEnvelope } from "./journal/envelope.ts";
import type { BudgetLimits, RemainingBudget } from "./journal/ledger.ts";
import type { CellFile, ExecKind } from "./journal/records.ts";
import type { ProviderWait } from "./provider-wait.ts";
import type { RemarkOptions } from "./stored/remarks.ts";
import type { Delivery } from "./sub-calls/delivery.ts";
import type { HeldBack } from "./sub-calls/held-back.ts";
import type { Wait } from "./sub-calls/waits.ts";

/** An event of a session, as `onProgress` gets it. */
export type SessionEvent =
  /** Files and bytes that a load has read so far, and the document that becomes text, with the place in it. */
  | { readonly kind: "load"; readonly files: number; readonly bytes: number; readonly converting?: string }
  /** The work of a builtin, for people. */
  | { readonly kind: "notice"; readonly text: string }
  /** Sub-calls of the running exec, and what the session has spent and holds in reserve. */
  | ({ readonly kind: "calls" } & CallProgress)
  /** Batches that the running exec waits for; none: their answers are there. */
  | { readonly kind: "waits"; readonly waits: readonly ProviderWait[] }
  /** Calls by batch that wait for tokens or dollars which calls in a batch hold. */
  | { readonly kind: "held_back"; readonly held_back: HeldBack }
  /** The wait of calls that matters most, told each second; null: none takes long any more. */
  | { readonly kind: "waiting"; readonly wait: Wait | null }
  /** A turn of an ask. */
  | ({ readonly kind: "turn" } & TurnProgress)
  /** A checkpoint that is kept. */
  | { readonly kind: "checkpoint"; readonly checkpoint: CheckpointNotice };

/** The earlier name of {@link SessionEvent}. */
export type Progress = SessionEvent;

/** Options of waiting for providers' batches. */
export interface WaitOptions {
  /**
   * ms until an exec that can go on only when a provider answers is given back: it is not over, and the envelope has `waits`.
   * Default: until it is over.
   */
  readonly wait_ms?: number | undefined;
  /** Makes a batch again of which nobody can tell whether it was made: its calls may be paid twice (default false). */
  readonly resendDoubtful?: boolean | undefined;
}

export interface CallProgress {
  readonly done: number;
  readonly running: number;
  /** Sub-calls that the budget still allows. */
  readonly left: number;
  /** Spent since the last load; USD by price lists. */
  readonly tokens: number;
  readonly cost_usd: number;
  /** Held by requests in flight: what they may take at the most. */
  readonly held_tokens: number;
  readonly held_cost_usd: number;
  /** Calls of functions that the budget still allows; absent if the program lends none. */
  readonly functions_left?: number;
}

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
   * Parts that models are not asked with, with commas between: `schema`, so that the prompt alone states it, and `cache`, so that calls
   * which share a beginning go at once. Each is for all models, or as `schema@local/NAME` and `schema@local/*`.
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
  /** Time of one call, ms (default 120,000). */
  readonly timeoutMs?: number | undefined;
}

export type OnRestart = "send" | "fail";

export interface CheckpointNotice {
  readonly id: string;
  readonly exec_id: string;
  /** `step`: the exec waits for calls. `end`: it is over. */
  readonly kind: "step" | "end";
  /** Pages of the guest that changed since the checkpoint before, and their bytes before compression. */
  readonly pages: number;
  readonly bytes: number;
  /** Wall time of capturing and keeping it, ms. For a step: from its message until its calls may be sent, and in the guest's thread. */
  readonly ms: number;
}

/** Tools of sub-agents beyond the default ones, which only read (spec §6.3). */
export interface SubAgentPolicy {
  /** Tools that the host can lend. */
  readonly tools?: readonly AgentTool[] | undefined;
  /** Names of those that cells may ask for. */
  readonly allowed_tool_overrides?: readonly string[] | undefined;
  /** Ask `approve` for each call that wants one (default true). */
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

export interface ExecOptions extends WaitOptions {
  /** Limits for this exec alone; clamped by policy, and shown in `limits_applied`. */
  readonly limits?: Some<ExecLimits> | undefined;
  /** A budget for this exec alone, within that of the session. A resume keeps it, with what was spent of it. */
  readonly budget?: Some<BudgetLimits> | undefined;
  /** Aborting ends the cell as `cancelled`; what it changed so far stays. */
  readonly signal?: AbortSignal | undefined;
  /** Aborting stops the exec where it is: it is not over, and `resume` finishes it, in this process or another. */
  readonly suspend?: AbortSignal | undefined;
  /** The name of the cell in tracebacks, such as its file; default: `<cell 3>`. */
  readonly name?: string | undefined;
  /**
   * Takes the whole result of a cell that succeeds, as JSON of up to 100 MB, before the end of its exec is recorded; of a
   * query the answer. If it rejects, the exec is not over: `resume` goes on from its newest checkpoint. A result that is
   * larger is not given, and the warning `result_too_large` says so.
   */
  readonly deliver?: ((json: string) => Promise<void>) | undefined;
  /**
   * The conversation in which the caller runs the cell: cells read it as `history`. It is fixed until the exec is over, and
   * `resume` needs the same one again, unless a cell has touched it.
   */
  readonly history?: Context | undefined;
  /** Cells that the caller will run after this one: recorded, so that another process can. */
  readonly rest?: readonly CellFile[] | undefined;
}

/** An exec that has begun and not ended. */
export interface Unfinished {
  readonly exec_id: string;
  readonly kind: ExecKind;
  /** The input: the cell, the question, the path. */
  readonly input: Json;
  readonly rest: readonly CellFile[];
}

/** The estimated cost of sub-calls. Tokens and dollars are estimates. Dollars count only models with a known price. */
export interface CallEstimate {
  readonly sub_calls: number;
  /** Tokens of each call's first request: its prompt with the system prompt, the tools and the schema. */
  readonly input_tokens: number;
  /** The most that these requests can answer: the sum of `max_tokens`. */
  readonly max_output_tokens: number;
  /** At the most: a sub-agent with tools makes a request for each of its turns, and an answer is repaired once. */
  readonly max_requests: number;
  /** The most that the first requests can cost, USD. */
  readonly cost_usd: number;
  /**
   * Calls among them whose model gets a context of its own. It writes as many cells as it needs, so what it takes is known when it
   * has answered, and is in none of the other figures.
   */
  readonly children: number;
  /** Sub-calls that these models may make at the most. A budget must have room for them. */
  readonly child_sub_calls: number;
}

/** Answer of a dry run (semantics 24). */
export interface DryRun {
  /** The cell as it went with placeholders for answers. */
  readonly envelope: ExecEnvelope;
  readonly estimate: CallEstimate & {
    /** By the place in the code that makes the calls, `<cell 1>:3`. */
    readonly sites: readonly (CallEstimate & { readonly site: string })[];
    /** The cell did not come to its end: a real run may make more calls. */
    readonly partial: boolean;
    /** Calls of functions, which were not run; absent if there were none. */
    readonly functions?: number;
    /** Calls whose answers are on record, so that nothing would be sent; absent outside of a run. */
    readonly reused?: number;
    /** Calls by batch that would wait for the first wave; absent if all would go at once. */
    readonly held_back?: HeldBack;
  };
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
 * Files, folders and globs (`src/**\/*.ts`), as if one folder held all that they name: documents are named relative to the
 * session's `cwd`. A file of the context that has not changed is not added again.
 */
export interface LoadPaths {
  readonly paths: readonly string[];
  /** The load fails with `context_too_large` if it would add more. */
  readonly maxFiles?: number | undefined;
  readonly maxBytes?: number | undefined;
}

export interface LoadResult {
  readonly success: true;
  readonly stats: ContextStats;
}

/** JSON values by key, in the guest's heap. Every method rejects with RlmError; a rejected batch changed nothing. */
export interface SessionMemory {
  put(key: string, value: Json): Promise<void>;
  /** null for a missing key. */
  get(key: string): Promise<Json>;
  delete(key: string): Promise<boolean>;
  list(): Promise<string[]>;
  clear(): Promise<void>;
  batch(
    ops: readonly ({ op: "put"; key: string; value: Json } | { op: "get" | "delete"; key: string })[],
  ): Promise<Json>;
}

/** Scripts that run before each cell. */
export interface HelperEntry {
  readonly name: string;
  readonly code: string;
  /** Why it failed, if it is left out until it is added again or removed. */
  readonly set_aside?: string;
}

export interface SessionHelpers {
  add(name: string, code: string): Promise<void>;
  list(): Promise<HelperEntry[]>;
  remove(name: string): Promise<boolean>;
}

/** The answer of `resume`. */
export type Resumed = ResumedExec | ResumedAsk;

interface ResumedExec {
  /** `replayed`: it was over already, and this is its record. */
  readonly how: "finished" | "replayed";
  readonly kind: Exclude<ExecKind, "ask">;
  /** null for kinds that run no cell. */
  readonly envelope: ExecEnvelope | QueryEnvelope | null;
  /** Cells that were to be run after it; none unless it succeeded. */
  readonly rest: readonly CellFile[];
}

interface ResumedAsk {
  readonly how: "finished" | "replayed";
  readonly kind: "ask";
  readonly envelope: AskEnvelope;
  readonly rest: readonly [];
}

/**
 * A guest over a context. Calls queue: one runs at a time, in the order they were made. A failing cell is a value
 * (`success: false`); what a caller gets wrong rejects with `RlmError`. Every method that returns a promise may reject with
 * `invalid_argument`, `session_closed` or `store_failed`; `exec_unfinished`: an interrupted exec is to be finished first.
 */
export interface Session extends AsyncDisposable {
  readonly id: string;
  /** null for a session without one. */
  readonly name: string | null;
  /** The limits of an exec that asks for none. */
  readonly limits: Readonly<ExecLimits>;
  /**
   * Loads a context and starts anew: variables, helpers, memory and budget are reset.
   *
   * @throws RlmError `path_not_found`, `path_outside_sandbox`, `context_too_large`, `document_unreadable`, `store_full`,
   * `cancelled`
   */
  load(source: LoadSource, options?: LoadingOptions): Promise<LoadResult>;
  /**
   * Adds to the context what is new or has changed of a source; variables, helpers, memory and budget stay. The older text of a changed
   * file stays too, marked `replaced_by` in `list_docs`. @throws RlmError as `load`
   */
  loadAppend(source: LoadSource, options?: LoadingOptions): Promise<LoadResult>;
  /** True if the context begins with what a load of this source would give now. Rejects as `load` does, and changes nothing. */
  holds(source: LoadSource, options?: LoadingOptions): Promise<boolean>;
  /**
   * Absolute paths of the files of its sources that differ from what is loaded: changed, new and gone ones. `loadAppend` adds the first
   * two. Rejects with `cancelled` alone.
   */
  changedFiles(options?: { readonly signal?: AbortSignal | undefined }): Promise<readonly string[]>;
  /** Runs a cell. @returns its result and output; a cell that fails is a value too */
  exec(code: string, options?: ExecOptions): Promise<ExecEnvelope>;
  /**
   * Answers a question about the context: a root model writes cells, turn by turn, until it answers. The cells run on the
   * session's own guest, so their variables stay. While an ask is not over, only `resume` and `discard` are possible.
   *
   * @throws RlmError `no_model_configured`
   */
  ask(question: string, options?: AskOptions): Promise<AskEnvelope>;
  /**
   * Answers a question about the context: finds relevant sections, asks the model about each, puts the notes together.
   * Variables, helpers and memory stay as they are; the budget is spent.
   */
  query(
    prompt: string,
    options?: QueryOptions & Pick<ExecOptions, "budget" | "signal" | "suspend" | "deliver">,
  ): Promise<QueryEnvelope>;
  /**
   * Has each object read by one model that sees nothing else: a small one in a prompt, a larger one by cells of its own. The
   * answer has `results`. As with a query only the budget changes. Objects of the conversation need `history`.
   */
  readObjects(
    instructions: string,
    objects: readonly ObjectToRead[],
    options: ReadingOptions & Pick<ExecOptions, "history" | "signal" | "suspend">,
  ): Promise<QueryEnvelope>;
  /**
   * Estimates the cost of a cell: runs it on a copy of the guest with placeholders for answers. Nothing is sent, changed or
   * spent.
   */
  dryRun(code: string, options?: ExecOptions): Promise<DryRun>;
  /** The exec that was interrupted, or null. While there is one, nothing else can be run: `exec_unfinished`. */
  unfinished(): Unfinished | null;
  /**
   * Finishes what was interrupted: settled sub-calls are not sent again. If nothing was interrupted, answers
   * the recorded outcome of the last cell, query or ask, or null if there is none.
   *
   * @throws RlmError `checkpoint_lost`, `context_lost`, `settings_untrusted`
   */
  resume(
    options?: Pick<ExecOptions, "signal" | "suspend" | "deliver" | "history" | keyof WaitOptions> &
      Pick<AskOptions, "trajectory">,
  ): Promise<Resumed | null>;
  /** Gives up what was interrupted: it is recorded as cancelled, and the state is that before it. */
  discard(): Promise<void>;
  readonly memory: SessionMemory;
  readonly helpers: SessionHelpers;
  /** The loaded context's facts, or null. */
  stats(): ContextStats | null;
  /** The budget that the next call has. */
  budget(): RemainingBudget;
  /** The functions that the program lends, as cells and models are told of them. */
  functions(): readonly FunctionFacts[];
  /** Waits for what is queued, then ends the guest. Nothing is lost of a session in a store. */
  close(): Promise<void>;
}

/** Rules for `SessionStore.collect`. */
export interface CollectOptions {
  /** Finished sessions without a name go after this time, ms (default: a day). */
  readonly anonymousMs?: number | undefined;
  /** Those with a name go after this time, ms (default: never). */
  readonly namedMs?: number | undefined;
  /** `namedMs` counts for sessions of Pi too (default false). */
  readonly pi?: boolean | undefined;
  /** Only tells what would go (default false). */
  readonly dryRun?: boolean | undefined;
}
