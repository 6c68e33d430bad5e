import type { FunctionFacts } from "../../builtins/index.ts";
import type { ExecLimits, Json } from "../../runtime/index.ts";
import type { ContextStats } from "../context/index.ts";
import type { ObjectToRead, QueryOptions, ReadingOptions } from "../query/index.ts";
import type { AskEnvelope, AskOptions } from "./ask/api.ts";
import type { ExecEnvelope, QueryEnvelope } from "./journal/envelope.ts";
import type { RemainingBudget } from "./journal/ledger.ts";
import type { CellFile, ExecKind } from "./journal/records.ts";
import type { DryRunOptions, ExecOptions, LoadingOptions, LoadSource, WaitOptions } from "./option-types.ts";
import type { HeldBack } from "./sub-calls/held-back.ts";

/** An exec that has started and not ended. */
export interface Unfinished {
  readonly exec_id: string;
  readonly kind: ExecKind;
  /** The input: the cell, the question, the path. */
  readonly input: Json;
  /** It is a cell that runs a workflow. */
  readonly workflow: boolean;
  readonly rest: readonly CellFile[];
}

/** The estimated cost of sub-calls. Tokens and dollars are estimates. Dollars count only models with a known price. */
export interface CallEstimate {
  readonly sub_calls: number;
  /** Tokens of each call's first request: its prompt with the system prompt, the tools and the schema. */
  readonly input_tokens: number;
  /** The most that these requests can answer: the sum of `max_tokens`. */
  readonly max_output_tokens: number;
  /** Upper limit: a sub-agent with tools makes a request for each of its turns, and an answer is repaired once. */
  readonly max_requests: number;
  /** The most that the first requests can cost, USD. */
  readonly cost_usd: number;
  /**
   * Calls whose model gets its own context. It writes as many cells as it needs, so its cost is
   * known only afterwards, and is not in the other figures.
   */
  readonly children: number;
  /** The most sub-calls that these models may make. A budget must have room for them. */
  readonly child_sub_calls: number;
  /** Calls of agents without `max_usd`. Their dollars are in no figure. */
  readonly unpriced: number;
  /** Calls of agents that report no tokens and have no `max_tokens`. Their tokens are in no figure. */
  readonly uncounted: number;
}

/** Answer of a dry run (semantics 24). */
export interface DryRun {
  /** The cell as it went with placeholders for answers. */
  readonly envelope: ExecEnvelope;
  readonly estimate: CallEstimate & {
    /** By the phase of the calls, or else by the place in the code that makes them, `<cell 1>:3`. */
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

export interface LoadResult {
  readonly success: true;
  readonly stats: ContextStats;
  /** Present if P is large: what works of it in cells, in sentences for a model. */
  readonly note?: string;
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
  /** `replayed`: it had ended already, and this is its record. */
  readonly how: "finished" | "replayed";
  readonly kind: Exclude<ExecKind, "ask">;
  /** The input: the cell, the question, the path. */
  readonly input: Json;
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
 * A sandbox over a context. Calls run one at a time, in the order they were made. A cell that fails returns `success:
 * false`; a caller's mistake rejects with `RlmError`. Every method that returns a promise may reject with
 * `invalid_argument`, `session_closed` or `store_failed`; with `exec_unfinished` while an interrupted exec must first
 * be resumed or discarded.
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
   * Adds new and changed files of a source to the context; variables, helpers, memory and budget stay. The older text of a changed
   * file stays too, marked `replaced_by` in `list_docs`. @throws RlmError as `load`
   */
  loadAppend(source: LoadSource, options?: LoadingOptions): Promise<LoadResult>;
  /** True if the context begins with what a load of this source would return now. Rejects as `load` does, and changes nothing. */
  holds(source: LoadSource, options?: LoadingOptions): Promise<boolean>;
  /**
   * Absolute paths of the files of its sources that differ from what is loaded: changed, new and gone ones.
   * `loadAppend` adds the first two. Rejects only with `cancelled`.
   */
  changedFiles(options?: { readonly signal?: AbortSignal | undefined }): Promise<readonly string[]>;
  /** Runs a cell. @returns its result and output; a cell that fails is a value too */
  exec(code: string, options?: ExecOptions): Promise<ExecEnvelope>;
  /**
   * Answers a question about the context: a root model writes cells, turn by turn, until it answers. The cells run on
   * the session's own guest, so their variables stay. While an ask is unfinished, only `resume` and `discard` are
   * possible.
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
  dryRun(code: string, options?: DryRunOptions): Promise<DryRun>;
  /** The interrupted exec, or null. While there is one, other calls reject with `exec_unfinished`. */
  unfinished(): Unfinished | null;
  /**
   * Finishes interrupted work: settled sub-calls are not sent again. If nothing was interrupted,
   * returns the recorded outcome of the last cell, query or ask, or null if there is none.
   *
   * @throws RlmError `checkpoint_lost`, `context_lost`, `settings_untrusted`
   */
  resume(
    options?: Pick<ExecOptions, "signal" | "suspend" | "deliver" | "history" | keyof WaitOptions> &
      Pick<AskOptions, "trajectory">,
  ): Promise<Resumed | null>;
  /** Gives interrupted work up: it is recorded as cancelled, and the state is that before it. */
  discard(): Promise<void>;
  readonly memory: SessionMemory;
  readonly helpers: SessionHelpers;
  /** The loaded context's facts, or null. */
  stats(): ContextStats | null;
  /** The budget that the next call has. */
  budget(): RemainingBudget;
  /** The functions that the program lends, as cells and models see them. */
  functions(): readonly FunctionFacts[];
  /** Names of the agents that cells of workflows may ask. */
  agents(): readonly string[];
  /** Waits for queued work, then ends the guest. A session in a store loses nothing. */
  close(): Promise<void>;
}

/** Rules for `SessionStore.collect`. */
export interface CollectOptions {
  /** Age at which finished sessions without a name are removed, ms (default: a day). */
  readonly anonymousMs?: number | undefined;
  /** Age at which those with a name are removed, ms (default: never). */
  readonly namedMs?: number | undefined;
  /** Applies `namedMs` to sessions of Pi too (default false). */
  readonly pi?: boolean | undefined;
  /** Only reports what would be dropped (default false). */
  readonly dryRun?: boolean | undefined;
}

/** Options of a description. */
export interface Describing {
  /** The most children that are described, on all levels together, those of the newest execs first (default: none). */
  readonly children?: number | undefined;
  /** Describes a damaged session as far as it can be read; `damaged` names the rest (default: it is refused). */
  readonly partly?: boolean | undefined;
}
