import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monotonicFactory } from "ulid";
import {
  checkLimits,
  DEFAULT_BUDGET,
  DEFAULT_EXEC_LIMITS,
  type ExecLimits,
  type Json,
  LIMITS,
  RlmError,
  systemClock,
} from "../../runtime/index.ts";
import type { ContextStats } from "../context/context.ts";
import { load, loadAppend, type Source } from "../context/load.ts";
import { withoutModel } from "./answers.ts";
import { type ExecEnvelope, envelope } from "./envelope.ts";
import { type Answers, type ExecOutcome, type ExecParts, type ExecRequest, exec, type Head } from "./exec.ts";
import { openGuest } from "./guest.ts";
import { type BudgetLimits, EMPTY_LEDGER, type RemainingBudget, remaining, spend } from "./ledger.ts";
import { openMemoryStore, type Store } from "./store.ts";

export type Progress =
  /** What a load has read so far. */
  | { readonly kind: "load"; readonly files: number; readonly bytes: number }
  /** What a builtin is busy with, for people. */
  | { readonly kind: "notice"; readonly text: string };

export interface SessionOptions {
  /** Folders from which contexts may be loaded; default: `cwd`. */
  readonly roots?: readonly string[];
  /** What relative paths are relative to; default: the process's. */
  readonly cwd?: string;
  /** Limits of every exec of the session, unless it overrides them. */
  readonly limits?: Partial<ExecLimits>;
  readonly budget?: Partial<BudgetLimits>;
  /** The guest's own heap, MB (default 128). What P takes when a cell touches it comes on top. */
  readonly memoryMb?: number;
  /** Folder that keeps search indexes for later sessions; default: a temporary one, removed by `close`. */
  readonly indexDir?: string;
  readonly onProgress?: (progress: Progress) => void;
}

export interface ExecOptions {
  /** Limits for this exec alone; clamped by policy, and shown in `limits_applied`. */
  readonly limits?: Partial<ExecLimits>;
  /** Aborting ends the cell as `cancelled`; what it changed so far stays. */
  readonly signal?: AbortSignal;
}

export interface LoadingOptions {
  /** Folders that may be read for this load, beside the session's. */
  readonly roots?: readonly string[];
  readonly signal?: AbortSignal;
}

/** A path, or text at hand under a document name. */
export type LoadSource = string | { readonly text: string | Uint8Array; readonly name: string };

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
export interface SessionHelpers {
  add(name: string, code: string): Promise<void>;
  list(): Promise<{ name: string; code: string }[]>;
  remove(name: string): Promise<boolean>;
}

/**
 * A guest over a context. Calls queue: one runs at a time, in the order they were made. A failing cell is a value
 * (`success: false`); what a caller gets wrong rejects with `RlmError`.
 */
export interface Session extends AsyncDisposable {
  readonly id: string;
  /** Loads a context and starts anew: variables, helpers, memory and budget are reset. */
  load(source: LoadSource, options?: LoadingOptions): Promise<LoadResult>;
  /** Adds to the context; variables, helpers, memory and budget stay. */
  loadAppend(source: LoadSource, options?: LoadingOptions): Promise<LoadResult>;
  /** Runs a cell. */
  exec(code: string, options?: ExecOptions): Promise<ExecEnvelope>;
  readonly memory: SessionMemory;
  readonly helpers: SessionHelpers;
  /** The loaded context's facts, or null. */
  stats(): ContextStats | null;
  budget(): RemainingBudget;
  /** Waits for what is queued, then ends the guest. */
  close(): Promise<void>;
}

/** What a test or another host may replace. */
export interface SessionParts {
  readonly worker: URL;
  readonly store: Store;
  readonly answers: Answers;
  readonly clock: ExecParts["clock"];
  readonly newId: () => string;
}

/** Opens a session of its own, isolated from all others. */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  return openSessionWith(options, {});
}

/** `openSession` with other parts than the usual ones. */
export async function openSessionWith(options: SessionOptions, parts: Partial<SessionParts>): Promise<Session> {
  return open(options, {
    worker: workerUrl(),
    store: openMemoryStore(),
    answers: withoutModel(),
    clock: systemClock,
    newId: newUlid,
    ...parts,
  });
}

async function open(options: SessionOptions, given: SessionParts): Promise<Session> {
  checkLimits({ ...options.limits, ...options.budget });
  const id = given.newId();
  const memoryBytes = (options.memoryMb ?? LIMITS.guestHeapBytes / 2 ** 20) * 2 ** 20;
  if (!(memoryBytes >= MIN_MEMORY_MB * 2 ** 20 && memoryBytes <= MAX_MEMORY_MB * 2 ** 20)) {
    throw new RlmError("invalid_argument", `memoryMb is ${options.memoryMb}`, {
      suggestion: `Give the guest between ${MIN_MEMORY_MB} and ${MAX_MEMORY_MB} MB.`,
    });
  }
  const temporary = options.indexDir === undefined ? await mkdtemp(join(tmpdir(), "belay-")) : undefined;
  const cwd = options.cwd ?? process.cwd();
  const roots = options.roots ?? [cwd];
  const parts: ExecParts = {
    session: id,
    store: given.store,
    answers: given.answers,
    clock: given.clock,
    newId: given.newId,
    limits: { ...DEFAULT_EXEC_LIMITS, ...options.limits },
    budget: { ...DEFAULT_BUDGET, ...options.budget },
    guest: openGuest({
      worker: given.worker,
      memoryBytes,
      indexDir: options.indexDir ?? temporary ?? "",
      onNotice: (text) => options.onProgress?.({ kind: "notice", text }),
    }),
  };
  const ledger = (await given.store.journal(id)).reduce(spend, EMPTY_LEDGER);
  let head: Head = { context: null, cells: 0, ledger, used: false, lost: null };
  let queue: Promise<unknown> = Promise.resolve();
  let closed = false;

  /** Takes its turn after all that was asked before. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (closed) {
      const suggestion = "Open another session with openSession().";
      return Promise.reject(new RlmError("session_closed", "the session is closed", { suggestion }));
    }
    const turn = queue.then(work);
    queue = turn.catch(() => {});
    return turn;
  }

  function perform(request: ExecRequest, signal?: AbortSignal): Promise<ExecOutcome> {
    return inTurn(async () => {
      const done = await exec(parts, head, request, signal).catch(async (error: unknown) => {
        await afterFailure(error);
        throw error;
      });
      head = done.head;
      return done.outcome;
    });
  }

  /** A machine that was lost takes the guest's state with it. */
  async function afterFailure(error: unknown): Promise<void> {
    if (!(error instanceof RlmError) || error.code !== "machine_lost") return;
    await parts.guest.renew();
    head = { ...head, used: false, lost: error.message };
  }

  async function loading(
    kind: "load" | "append",
    given: LoadSource,
    { roots: more = [], signal }: LoadingOptions = {},
  ): Promise<LoadResult> {
    const source: Source =
      typeof given === "string" ? { kind: "path", path: given } : { kind: "text", text: given.text, name: given.name };
    const options = { roots: [...roots, ...more], cwd, onProgress: onLoad, ...(signal ? { signal } : {}) };
    const outcome = await perform({
      kind,
      source: typeof given === "string" ? given : given.name,
      read: (current) => (current ? loadAppend(current, source, options) : load(source, options)),
    });
    return { success: true, stats: statsOf(outcome) };
  }
  const onLoad = (progress: { files: number; bytes: number }) => options.onProgress?.({ kind: "load", ...progress });

  const change = async (kind: "memory" | "helpers", input: Json): Promise<Json> => {
    const outcome = await perform({ kind, input });
    return "value" in outcome ? outcome.value : null;
  };
  /** Reads change nothing, so they are no execs. */
  const read = (kind: "memory" | "helpers", input: Json): Promise<Json> =>
    inTurn(async () => {
      const guest = await parts.guest.use(head.context);
      return guest.enter(kind, input).catch(async (error: unknown) => {
        await afterFailure(error);
        throw error;
      });
    });

  return {
    id,
    load: (source, options) => loading("load", source, options),
    loadAppend: (source, options) => loading("append", source, options),
    async exec(source, { limits = {}, signal } = {}) {
      if (typeof source !== "string") {
        throw new RlmError("invalid_argument", `the cell is ${typeof source}`, { suggestion: "Pass source text." });
      }
      const outcome = await perform({ kind: "cell", source, limits }, signal);
      if (outcome.kind !== "cell") throw new Error("a cell gave another outcome");
      return envelope(outcome.end, {
        session_id: id,
        warnings: outcome.warnings,
        events: outcome.events,
        execution_time_ms: outcome.timeMs,
        budget: remaining(head.ledger, parts.budget),
      });
    },
    memory: {
      async put(key, value) {
        await change("memory", { op: "put", key, value });
      },
      get: (key) => read("memory", { op: "get", key }),
      delete: async (key) => (await change("memory", { op: "delete", key })) === true,
      list: async () => strings(await read("memory", { op: "list" })),
      async clear() {
        await change("memory", { op: "clear" });
      },
      batch: (ops) => change("memory", { op: "batch", ops: ops.map((op) => ({ ...op })) }),
    },
    helpers: {
      async add(name, code) {
        await change("helpers", { op: "add", name, code });
      },
      list: async () => scripts(await read("helpers", { op: "list" })),
      remove: async (name) => (await change("helpers", { op: "remove", name })) === true,
    },
    stats: () => head.context?.stats ?? null,
    budget: () => remaining(head.ledger, parts.budget),
    close,
    [Symbol.asyncDispose]: close,
  };

  async function close(): Promise<void> {
    closed = true;
    await queue;
    await parts.guest[Symbol.asyncDispose]();
    if (temporary) await rm(temporary, { recursive: true, force: true });
  }
}

/** Ids sort by time, also within one millisecond. */
const newUlid = monotonicFactory();

/** Less than the prelude and a small program need; and what a 32-bit engine can address beside a 100 MB context. */
const MIN_MEMORY_MB = 8;
const MAX_MEMORY_MB = 2048;

/** The worker's entry, beside this module: TypeScript in a checkout, JavaScript in a build. */
function workerUrl(): URL {
  return new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);
}

function statsOf(outcome: ExecOutcome): ContextStats {
  if (!("context" in outcome)) throw new Error("a load gave another outcome");
  return outcome.context.stats;
}

function strings(value: Json): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function scripts(value: Json): { name: string; code: string }[] {
  const text = (item: Json, key: string) => {
    const found: unknown = typeof item === "object" && item !== null ? Reflect.get(item, key) : "";
    return typeof found === "string" ? found : "";
  };
  return Array.isArray(value)
    ? value.map((item: Json) => ({ name: text(item, "name"), code: text(item, "code") }))
    : [];
}
