import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monotonicFactory } from "ulid";
import {
  checkLimits,
  DEFAULT_BUDGET,
  DEFAULT_EXEC_LIMITS,
  type Json,
  LIMITS,
  RlmError,
  systemClock,
} from "../../runtime/index.ts";
import type { ContextStats } from "../context/context.ts";
import { load, loadAppend, type Source } from "../context/load.ts";
import { openModels } from "../model/models.ts";
import type { Models } from "../model/port.ts";
import { queryCell, readQueryResult } from "../query/query.ts";
import { openAnswers } from "./answers.ts";
import type { ExecOptions, LoadingOptions, LoadResult, LoadSource, Session, SessionOptions } from "./api.ts";
import type { Answers } from "./cell.ts";
import { type DryRun, openDryAnswers } from "./dry-run.ts";
import { type ExecEnvelope, envelope } from "./envelope.ts";
import { type ExecOutcome, type ExecParts, type ExecRequest, exec, type Head } from "./exec.ts";
import { openGuest } from "./guest.ts";
import { EMPTY_LEDGER, remaining, spend } from "./ledger.ts";
import { openMemoryStore, type Store } from "./store.ts";

/** What a test or another host may replace. */
export interface SessionParts {
  readonly worker: URL;
  readonly store: Store;
  /** Answers calls instead of the models that the options name. */
  readonly answers?: Answers;
  readonly models?: Models;
  readonly clock: ExecParts["clock"];
  readonly newId: () => string;
  readonly random: () => number;
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
    clock: systemClock,
    newId: newUlid,
    random: Math.random,
    ...parts,
  });
}

async function open(options: SessionOptions, given: SessionParts): Promise<Session> {
  checkLimits({ ...options.limits, ...options.budget, concurrency: options.concurrency });
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
  /** The roots, and those that loads of the present context have added. */
  let readable = roots;
  const models = given.models ?? openModels({ ...namedModel(options), env: process.env });
  const budget = { ...DEFAULT_BUDGET, ...options.budget };
  const parts: ExecParts = {
    session: id,
    store: given.store,
    answers:
      given.answers ??
      openAnswers({
        models,
        roots: () => readable,
        cwd,
        concurrency: Math.min(options.concurrency ?? LIMITS.concurrency, LIMITS.maxConcurrency),
        limitsCost: budget.max_cost_usd !== null,
        policy: options.subAgents ?? {},
        clock: given.clock,
        random: given.random,
      }),
    onCalls: (progress) => options.onProgress?.({ kind: "calls", ...progress }),
    clock: given.clock,
    newId: given.newId,
    limits: { ...DEFAULT_EXEC_LIMITS, ...options.limits },
    budget,
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

  /** The guest may have run before the failure; a machine that was lost has taken its state with it. */
  async function afterFailure(error: unknown): Promise<void> {
    head = { ...head, used: true };
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
    readable = [...(kind === "load" ? roots : readable), ...more];
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

  function answerOf(outcome: ExecOutcome): ExecEnvelope {
    if (!("end" in outcome)) throw new Error("a cell gave another outcome");
    return envelope(outcome.end, {
      session_id: id,
      warnings: outcome.warnings,
      events: outcome.events,
      execution_time_ms: outcome.timeMs,
      budget: remaining(head.ledger, parts.budget),
    });
  }

  /** The cell on a copy of the guest, with a journal, answers and a head of its own that are thrown away. */
  async function dryRun(source: string, { limits = {}, signal }: ExecOptions): Promise<DryRun> {
    const { estimateSubCall, placeholderAnswer } = await import("../model/index.ts");
    const answers = openDryAnswers({
      estimate: (call) => estimateSubCall(call, models),
      placeholder: (call) => ({ ok: true, value: placeholderAnswer(call) }),
    });
    const guest = await parts.guest.copy(head.context);
    try {
      const { onCalls: _nobody, ...kept } = parts;
      const apart = { ...kept, store: openMemoryStore(), guest, answers };
      const { outcome } = await exec(apart, head, { kind: "cell", source, limits, sites: true }, signal);
      const answer = answerOf(outcome);
      return { envelope: answer, estimate: answers.estimate(!answer.success) };
    } finally {
      await guest[Symbol.asyncDispose]();
    }
  }

  return {
    id,
    load: (source, options) => loading("load", source, options),
    loadAppend: (source, options) => loading("append", source, options),
    async exec(source, { limits = {}, signal } = {}) {
      checkSource(source);
      return answerOf(await perform({ kind: "cell", source, limits }, signal));
    },
    async query(prompt, { signal, ...options } = {}) {
      const outcome = await perform({ kind: "query", prompt, source: queryCell(prompt, options) }, signal);
      const answer = answerOf(outcome);
      if (!answer.success) return answer;
      const { answer: text, sections, strategy, failed } = readQueryResult(answer.result_json);
      const { session_id, exec_id, execution_time_ms, budget } = answer;
      return {
        success: true,
        session_id,
        exec_id,
        answer: text,
        sections_analyzed: sections.length - failed,
        sections,
        search_strategy_used: strategy,
        warnings: [...answer.warnings, ...(failed > 0 ? [`sections_failed: ${failed}`] : [])],
        execution_time_ms,
        budget,
      };
    },
    async dryRun(source, options = {}) {
      checkSource(source);
      return inTurn(() => dryRun(source, options));
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

function checkSource(source: unknown): void {
  if (typeof source === "string") return;
  throw new RlmError("invalid_argument", `the cell is ${typeof source}`, { suggestion: "Pass source text." });
}

function namedModel({ model, baseUrl, apiKeyEnv }: SessionOptions) {
  return {
    ...(model === undefined ? {} : { model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKeyEnv === undefined ? {} : { apiKeyEnv }),
  };
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
