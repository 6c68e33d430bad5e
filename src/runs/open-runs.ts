import { resolve } from "node:path";
import * as v from "valibot";
import { type ExecLimits, type Json, RlmError, type Sampling, type Thinking } from "../../runtime/index.ts";
import { messageOf } from "../platform/errors.ts";
import { withoutUndefined } from "../platform/json.ts";
import { readJson } from "../platform/written-json.ts";
import {
  type BudgetLimits,
  checkOptions,
  LOAD_SOURCE,
  type LoadSource,
  mostOf,
  optionsSchema,
  SESSION_OPTIONS,
  type SessionOptions,
} from "../session/index.ts";
import { isRunName } from "../session/session-name.ts";
import { type Store, shareStore } from "../store/index.ts";
import { isServer, placeOf } from "../store/store-place.ts";
import type { WorkerSession } from "./api.ts";
import { countedRun } from "./follow.ts";
import { BadInput, type Input, LINE_BYTES } from "./inputs/lines.ts";
import { readInputs, type SharedContext } from "./inputs/read-jobs.ts";
import { modelsBy } from "./job-session.ts";
import { type JobResult, openResultLines, resultIn } from "./results.ts";
import { type RunStatus, runJson } from "./run-state.ts";
import { openDispatcher, runToEnd, usualConcurrency } from "./run-to-end.ts";
import { runsIn, type StoreRuns } from "./runs.ts";
import { checkModel, newSpec, type RunSpec } from "./spec.ts";
import { type RunAsked, type SubmitCures, type SubmittedRun, submit } from "./submit.ts";

export type { JobResult } from "./results.ts";
export type { JobCounts, ReusedFigures, RunAmount, RunFigures, RunStatus, RunWord } from "./run-state.ts";

/** Options of `openSession` that are this process's part in the sessions of jobs. */
type ProcessOptions = Pick<
  SessionOptions,
  | ("cwd" | "roots" | "indexDir" | "models")
  | ("baseUrl" | "apiKeyEnv" | "price" | "leaveOut" | "waitForServerMs")
  | ("limits" | "budget" | "memoryMb" | "maxSessionMb" | "maxDepth")
  | ("maxContextMb" | "maxFiles")
>;

/** The store, and what this process allows. No run can extend it. */
export interface RunsOptions extends ProcessOptions {
  /**
   * Folder of the store, or `postgres://USER@HOST/DATABASE`, on which `belay worker` works as well.
   */
  readonly store: string;
}

/**
 * One script over many inputs. The same options later, in another process too, continue the run.
 */
export interface RunOptions {
  /**
   * The cell that runs once for each input, which it has as `job`. Its tracebacks have the `name`.
   */
  readonly script: string | { readonly name: string; readonly source: string };
  /**
   * JSON values of at most 1 MB. Each is a job, named by its field `id`, or by a hash if it has
   * none. All of them are read and checked before anything is submitted.
   */
  readonly inputs: Iterable<Json> | AsyncIterable<Json>;
  /**
   * Name of the run (default: the script's name and a hash of what the run does, such as
   * `label-3f2a91c0`).
   */
  readonly name?: string | undefined;
  /** Begins another run, `NAME-2`, if there is one of this name. */
  readonly isNew?: boolean | undefined;
  /** The context `P` of all jobs, within `roots`. */
  readonly context?: LoadSource | undefined;
  /** Field of each input that names the file or folder of its own context, within `roots`. */
  readonly contextField?: string | undefined;
  /** `PROVIDER/ID` of calls that name no model. */
  readonly model?: string | undefined;
  /** Level of thinking of calls that name none. */
  readonly thinking?: Thinking | undefined;
  /** Parameters of calls that name none. */
  readonly sampling?: Sampling | undefined;
  /** `batch` sends calls by their provider's batches, for less money and within a day. */
  readonly delivery?: "now" | "batch" | undefined;
  /** Limits of each job's cell. */
  readonly limits?: Partial<ExecLimits> | undefined;
  /** Budget of each job. */
  readonly budget?: Partial<Omit<BudgetLimits, "max_functions">> | undefined;
  /**
   * Limits of all jobs together. If one is spent, the run is paused; submitting it with a higher
   * one continues it.
   */
  readonly runLimits?: RunLimitOptions | undefined;
  /** Known jobs to try again: those that failed, were cancelled, or whose input has changed. */
  readonly retry?: readonly ("failed" | "cancelled" | "changed")[] | undefined;
  /** Aborting it stops the loading of contexts: nothing is submitted then. */
  readonly signal?: AbortSignal | undefined;
}

/** Limits of all jobs of a run together. What is absent is not limited. */
export interface RunLimitOptions {
  /** Dollars. */
  readonly max_cost_usd?: number | undefined;
  readonly max_tokens?: number | undefined;
  readonly max_sub_calls?: number | undefined;
}

export interface FollowOptions {
  /**
   * False follows the run and leaves the work to `belay worker`, on a server's store (default
   * true).
   */
  readonly work?: boolean | undefined;
  /**
   * Jobs at once in this process (default: two for each core, at most one for each 64 MB of
   * memory).
   */
  readonly concurrency?: number | undefined;
  /** Aborting suspends the jobs of this process where they are; the run can be continued. */
  readonly signal?: AbortSignal | undefined;
  /** Time to wait when only providers can continue, ms (default: until they answer). */
  readonly waitMs?: number | undefined;
  /** Gets each look at the run, about once a second, and sentences for people. */
  readonly onProgress?: ((event: RunEvent) => void) | undefined;
}

export type RunEvent =
  | { readonly kind: "status"; readonly status: RunStatus }
  | { readonly kind: "said"; readonly text: string };

/** Runs of one store. */
export interface Runs extends AsyncDisposable {
  /**
   * Makes the run, or continues the one of this name: known jobs stay as they are, and new inputs
   * are added. Nothing runs before `follow`. A process that is killed here leaves the jobs that it
   * had added, and the same call adds the others.
   *
   * @throws RlmError `invalid_argument` for an option or an input; `no_model_configured`;
   * `run_differs` if the run of this name does something else, or known inputs have changed;
   * `session_busy`; the errors of loading
   */
  submit(options: RunOptions): Promise<Run>;
  /** Closes the store. */
  close(): Promise<void>;
}

/** A run that has been submitted. */
export interface Run {
  readonly id: string;
  readonly name: string;
  /** The jobs of this submission: all, those that are new, and those that are tried again. */
  readonly jobs: { readonly all: number; readonly added: number; readonly again: number };
  /** Reads the state of the run. */
  status(): Promise<RunStatus>;
  /**
   * Works on the run, and resolves when all jobs have ended, when it is paused, or when `signal`
   * aborts: see `state` and `why`. A failed job does not reject. If the process is killed, the
   * same calls continue each job at its `await`, and no recorded answer is asked for twice.
   *
   * @throws RlmError `store_failed`, `store_corrupt`
   */
  follow(options?: FollowOptions): Promise<RunStatus>;
  /**
   * Returns the results of finished jobs of this submission, in the order of their inputs.
   */
  results(): AsyncIterable<JobResult>;
}

/**
 * Opens the runs of a store. The folder is made if it is missing.
 *
 * @throws RlmError `invalid_argument`, `store_failed`, `store_too_new`
 */
export async function openRuns(options: RunsOptions): Promise<Runs> {
  checkOptions("openRuns()", RUNS_OPTIONS, options);
  const { store: place, ...own } = options;
  const open = { place: placeOf(place), own, store: await shareStore(placeOf(place)) };
  const close = async () => {
    await open.store[Symbol.asyncDispose]();
  };
  return { submit: (run) => submitRun(open, run), close, [Symbol.asyncDispose]: close };
}

interface OpenRuns {
  readonly place: string;
  readonly own: Omit<RunsOptions, "store">;
  readonly store: Store;
}

async function submitRun({ place, own, store }: OpenRuns, options: RunOptions): Promise<Run> {
  checkOptions("submit()", RUN_OPTIONS, options);
  const { cwd = process.cwd(), roots = [cwd], models: also, ...session } = own;
  const { script, contextField, runLimits = {}, retry = [], signal = NEVER } = options;
  const worker: WorkerSession = { ...withoutUndefined({ ...session, also }), cwd, models: null };
  const { name, source } = typeof script === "string" ? { name: "script", source: script } : script;
  const { max_cost_usd, max_tokens = null, max_sub_calls = null } = runLimits;
  const asked: RunAsked = {
    script: name,
    jobs: "the inputs",
    inputs: "the inputs",
    roots,
    shared: sharedContext(options.context, roots),
    loading: { raw: false, secrets: false, encoding: undefined, lossy: false },
    documents: {},
    most: mostOf(own),
    own: {
      contextField,
      name: options.name,
      isNew: options.isNew,
      retryFailed: retry.includes("failed"),
      retryCancelled: retry.includes("cancelled"),
      retryChanged: retry.includes("changed"),
    },
    limits: {
      nanodollars: max_cost_usd === undefined ? null : Math.ceil(max_cost_usd * 1e9 - 1e-3),
      tokens: max_tokens,
      sub_calls: max_sub_calls,
    },
    // A program names no files by which an earlier run would be known.
    isFresh: true,
    queue: isServer(place) ? QUEUE : null,
    cures: CURES,
  };
  const runs = runsIn(store);
  try {
    using read = await readInputs(asked, { all: inputsOf(options.inputs), isFiles: false });
    const spec = specOf(options, { name, source }, read.mode);
    checkModel(spec, modelsBy(worker, process.env)(spec.model));
    const leftOut = () => {};
    const submitted = await submit(asked, spec, read.spool, { runs, store, signal, leftOut });
    const again = submitted.anew + (await reopen(runs, store, submitted, retry));
    return runOf({ place, store, runs, submitted, again, worker });
  } catch (error) {
    if (!(error instanceof BadInput)) throw error;
    throw new RlmError("invalid_argument", `submit(): ${error.at ?? "inputs"} ${error.message}`, {
      suggestion: "Correct it. Give each input an `id` of its own, or none.",
    });
  }
}

/** Resumes a run that was paused, and tries jobs again. Gives the number of these. */
async function reopen(
  runs: StoreRuns,
  { jobs }: Store,
  { run, model }: SubmittedRun,
  retry: NonNullable<RunOptions["retry"]>,
): Promise<number> {
  await runs.change(run, { to: "resume" }, null);
  const states = (["failed", "cancelled"] as const).filter((state) => retry.includes(state));
  if (states.length === 0) return 0;
  const before = await jobs.counts(run.id);
  await runs.change(run, { to: "retry", ids: null, states, fresh: false, model }, null);
  const after = await jobs.counts(run.id);
  return before.failed + before.cancelled - after.failed - after.cancelled;
}

interface RunParts {
  readonly place: string;
  readonly store: Store;
  readonly runs: StoreRuns;
  readonly submitted: SubmittedRun;
  readonly again: number;
  readonly worker: WorkerSession;
}

function runOf({ place, store, runs, submitted, again, worker }: RunParts): Run {
  const { run, order, added } = submitted;
  const results = { run: run.id, order, jobs: store.jobs, unordered: true };

  async function follow(options: FollowOptions = {}): Promise<RunStatus> {
    checkOptions("follow()", FOLLOW_OPTIONS, options);
    const { work = true, concurrency = usualConcurrency(), signal = NEVER, waitMs, onProgress } = options;
    const say = (text: string) => onProgress?.({ kind: "said", text });
    await using dispatcher = await openDispatcher(place, run.queue, say);
    const { counted } = await runToEnd({
      place,
      store,
      run,
      dispatcher,
      concurrency,
      waitMs,
      offering: runs.offer(run, dispatcher),
      session: worker,
      works: work,
      stop: signal,
      isPatient: true,
      look: async (now) => onProgress?.({ kind: "status", status: runJson(now) }),
      unreachable: (error) => say(`the store does not answer: ${error.message}`),
      onProgress: (event) => {
        if (event.kind === "said" || event.kind === "paused") say(event.text);
      },
    });
    return runJson(counted);
  }

  return {
    id: run.id,
    name: run.name,
    jobs: { all: order.length, added, again },
    follow,
    status: async () => runJson(await countedRun(store, run.id)),
    async *results() {
      for await (const line of openResultLines(results).next()) yield resultIn(line);
    },
  };
}

/** The queue of runs that name none. */
const QUEUE = "default";
const NEVER = new AbortController().signal;

const CURES: SubmitCures = {
  named: (option) => option,
  leaveOut: (option) => `Leave out ${option}. isNew: true begins another run.`,
  runAll: () => "Submit all inputs.",
  retryChanged: () => 'Run what has changed again: retry: ["changed"]. isNew: true begins another run.',
};

function sharedContext(source: LoadSource | undefined, roots: readonly string[]): SharedContext | null {
  return source === undefined ? null : { source: async () => source, roots: roots.map((root) => resolve(root)) };
}

/** @throws BadInput for a value that is not JSON, or too large */
async function* inputsOf(values: RunOptions["inputs"]): AsyncIterable<Input> {
  let number = 0;
  for await (const value of values) {
    number += 1;
    const at = `input ${number}`;
    const json = jsonOf(value, at);
    if (Buffer.byteLength(json) > LINE_BYTES) throw new BadInput(at, "is longer than 1 MB");
    yield { at, value: readJson(json) };
  }
}

function jsonOf(value: Json, at: string): string {
  try {
    const json: string | undefined = JSON.stringify(value);
    if (json !== undefined) return json;
  } catch (error) {
    throw new BadInput(at, `is not JSON: ${messageOf(error)}`);
  }
  throw new BadInput(at, `is not JSON: it is of type ${typeof value}`);
}

function specOf(options: RunOptions, script: RunSpec["script"], context: RunSpec["context"]): RunSpec {
  const { model = null, limits = {}, budget = {}, thinking, sampling, delivery } = options;
  return newSpec({
    script,
    model,
    context,
    limits: withoutUndefined({ ...limits }),
    budget: withoutUndefined({ ...budget }),
    ...withoutUndefined({ thinking, sampling, delivery }),
  });
}

const TEXT = v.pipe(v.string("a text"), v.minLength(1, "a text that is not empty"));
const NAME = "up to 100 letters, digits, spaces and ._~-, and not a word of belay jobs, such as out";
const INPUTS = "a list of JSON values, or another iterable";
const WHOLE = "a whole number from 1";
const whole = v.optional(v.pipe(v.number(WHOLE), v.safeInteger(WHOLE), v.minValue(1, WHOLE)));
const flag = v.optional(v.boolean("true or false"));
const signal = v.optional(v.instance(AbortSignal, "an AbortSignal"));
const { cwd, roots, indexDir, models, baseUrl, apiKeyEnv, price, leaveOut } = SESSION_OPTIONS.entries;
const { waitForServerMs, limits, budget, memoryMb, maxSessionMb, maxDepth } = SESSION_OPTIONS.entries;
const { maxContextMb, maxFiles } = SESSION_OPTIONS.entries;
const { model, thinking, sampling, delivery } = SESSION_OPTIONS.entries;
const { max_functions: _, ...ofBudget } = budget.wrapped.entries;

/** One schema for each option: one that is missing here does not compile. */
type SchemaOf<Options> = { readonly [name in keyof Required<Options>]: v.GenericSchema };

const RUNS_OPTIONS = optionsSchema({
  store: TEXT,
  cwd,
  roots,
  indexDir,
  models,
  baseUrl,
  apiKeyEnv,
  price,
  leaveOut,
  waitForServerMs,
  limits,
  budget,
  memoryMb,
  maxSessionMb,
  maxDepth,
  maxContextMb,
  maxFiles,
} satisfies SchemaOf<RunsOptions>);

const RUN_OPTIONS = optionsSchema({
  script: v.union([TEXT, optionsSchema({ name: TEXT, source: TEXT })], "a text, or an object with name and source"),
  inputs: v.custom<RunOptions["inputs"]>(isIterable, INPUTS),
  name: v.optional(v.pipe(v.string(NAME), v.check(isRunName, NAME))),
  isNew: flag,
  context: v.optional(LOAD_SOURCE),
  contextField: v.optional(TEXT),
  model,
  thinking,
  sampling,
  delivery,
  limits,
  budget: v.optional(optionsSchema(ofBudget)),
  runLimits: v.optional(
    optionsSchema({ max_cost_usd: ofBudget.max_cost_usd, max_tokens: whole, max_sub_calls: whole }),
  ),
  retry: v.optional(v.array(v.picklist(["failed", "cancelled", "changed"], "failed, cancelled or changed"), "a list")),
  signal,
} satisfies SchemaOf<RunOptions>);

const FOLLOW_OPTIONS = optionsSchema({
  work: flag,
  concurrency: whole,
  signal,
  waitMs: v.optional(v.pipe(v.number("a number of ms"), v.minValue(0, "a number of ms from 0"))),
  onProgress: v.optional(v.function("a function")),
} satisfies SchemaOf<FollowOptions>);

function isIterable(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Symbol.iterator in value || Symbol.asyncIterator in value;
}
