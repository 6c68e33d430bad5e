import { resolve } from "node:path";
import {
  DEFAULT_BUDGET,
  DEFAULT_EXEC_LIMITS,
  firstly,
  type Json,
  LIMITS,
  type Machines,
  RlmError,
  remedy,
  systemClock,
} from "../../runtime/index.ts";
import type { ContextStats } from "../context/index.ts";
import { entryUrl } from "../entries.ts";
import { sessionLabel } from "../ids.ts";
import { loadSubCallLayer, type Models, openModels } from "../model/index.ts";
import { queryCell } from "../query/index.ts";
import { type SessionRow, type Store, shareStore } from "../store/index.ts";
import type {
  ExecOptions,
  HostedOptions,
  LoadingOptions,
  LoadResult,
  LoadSource,
  Resumed,
  Session,
  SessionOptions,
} from "./api.ts";
import { knownIn, openContext, readLoadInput } from "./contexts/contexts.ts";
import { openGranted } from "./contexts/granted.ts";
import { openEndGc } from "./exec/gc.ts";
import { type ExecAsked, type ExecOutcome, type ExecRequest, loadRequest, requestOf } from "./exec/request.ts";
import { discard, runExec } from "./exec/run-exec.ts";
import { positionOf, type SessionState } from "./exec/session-state.ts";
import type { ExecParts } from "./exec/work.ts";
import { cellFiles, EMPTY_ACCOUNT, type ExecRecords, follow, interruptedIn } from "./journal/account.ts";
import { type ExecEnvelope, envelope, queryEnvelope } from "./journal/envelope.ts";
import { remaining } from "./journal/ledger.ts";
import { readRecord, type Start } from "./journal/records.ts";
import { type GuestOptions, openGuest } from "./machine/guest.ts";
import { openIndexFolder } from "./machine/index-folder.ts";
import { helpersOf, memoryOf } from "./memory-and-helpers.ts";
import { memoryBytesOf, namedModel, newUlid, sessionRow } from "./opening.ts";
import {
  checkOptions,
  EXEC_OPTIONS,
  LOAD_SOURCE,
  LOADING_OPTIONS,
  QUERY_OPTIONS,
  RESUME_OPTIONS,
  refused,
  SESSION_OPTIONS,
} from "./options.ts";
import { pace } from "./pace.ts";
import { checkSessionName } from "./stored/sessions.ts";
import { openAnswers } from "./sub-calls/answers.ts";
import { openCache } from "./sub-calls/cache.ts";
import { type DryRun, openDryAnswers } from "./sub-calls/dry-answers.ts";
import { planSubCall } from "./sub-calls/plan.ts";
import type { Answers } from "./sub-calls/port.ts";

/** What a test or another host may replace. */
export interface SessionParts {
  /** Entry of the machine's thread. */
  readonly machineEntry: URL;
  /** Entry of the store's thread, for a session that opens its own store. */
  readonly storeEntry: URL;
  /** Stays open when the session is closed. */
  readonly store: Store;
  readonly origin: SessionRow["origin"];
  /** What is kept with the session of this id, for a process that continues it. */
  readonly settings: (session: string) => Json;
  /** Answers calls instead of the models that the options name. */
  readonly answers: Answers;
  readonly models: Models;
  /** Where the threads of its machines come from; default: those of the process. */
  readonly machines: Machines;
  readonly clock: ExecParts["clock"];
  readonly newId: () => string;
  readonly random: () => number;
}

/**
 * Opens a session: a new one, or with `store` and `session` the one that is kept there under this name.
 *
 * @throws RlmError `session_busy` where another process has it, `context_lost`, `store_failed`, `store_corrupt`,
 * `store_too_new`, `invalid_argument`
 */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  return openSessionWith(options, {});
}

/** `openSession` with other parts than the usual ones. */
export async function openSessionWith(options: HostedOptions, parts: Partial<SessionParts>): Promise<Session> {
  checkOptions("openSession()", SESSION_OPTIONS, options);
  if (options.session !== undefined) checkSessionName(options.session);
  if (options.session !== undefined && options.store === undefined && !parts.store) throw nameWithoutStore();
  const memoryBytes = memoryBytesOf(options);
  await pace();
  const folder = options.store === undefined ? null : resolve(options.store);
  const entry = parts.storeEntry;
  const store = parts.store ?? (await shareStore(folder, entry ? { entry } : {}));
  const own = parts.store ? undefined : store;
  try {
    const newId = parts.newId ?? newUlid;
    const clock = parts.clock ?? systemClock;
    const fresh = { id: newId(), origin: parts.origin ?? "library", at: clock.now() };
    const row = await sessionRow(store, options.session, fresh, parts.settings);
    try {
      return await open(options, { random: Math.random, ...parts, store, newId, clock }, row, memoryBytes, {
        isInMemory: !parts.store && folder === null,
        own,
      });
    } catch (error) {
      await store.release(row.id);
      throw error;
    }
  } catch (error) {
    await own?.[Symbol.asyncDispose]();
    throw error;
  }
}

type Given = Partial<SessionParts> & Pick<SessionParts, "store" | "newId" | "clock" | "random">;

async function open(
  options: HostedOptions,
  given: Given,
  row: SessionRow,
  memoryBytes: number,
  storing: { readonly isInMemory: boolean; readonly own: Store | undefined },
): Promise<Session> {
  const { store, clock } = given;
  const records = (await store.journal(row.id)).map(({ record }) => readRecord(record));
  const account = records.reduce(follow, EMPTY_ACCOUNT);
  const cwd = options.cwd ?? process.cwd();
  const granted = openGranted(options.roots ?? [cwd], cwd);
  const { context_hash: hash, loads } = account;
  const context = hash === null ? null : await openContext(store, hash, loads, granted);
  let current: SessionState = { account, context };
  const indexFolder = openIndexFolder(options.indexDir);
  // A folder that goes with the session has nothing of earlier ones.
  const known = options.indexDir === undefined ? {} : { known: knownIn(options.indexDir, store, clock) };
  const models = given.models ?? openModels({ ...namedModel(options), env: process.env });
  const budget = { ...DEFAULT_BUDGET, ...options.budget };
  const guestOptions: GuestOptions = {
    machineEntry: given.machineEntry ?? entryUrl("machine-thread-entry"),
    memoryBytes,
    indexFolder,
    store,
    newId: given.newId,
    onNotice: (text) => options.onProgress?.({ kind: "notice", text }),
    idleMs: options.idleMs ?? LIMITS.idleMs,
    ...(given.machines ? { machines: given.machines } : {}),
  };
  const { onCheckpoint } = options;
  const parts: ExecParts = {
    session: row.id,
    store,
    answers:
      given.answers ??
      openAnswers({
        models,
        roots: () => [...new Set([...granted.roots, ...granted.among(current.account.loads.flatMap(rootsOf))])],
        cwd,
        concurrency: Math.min(options.concurrency ?? LIMITS.concurrency, LIMITS.maxConcurrency),
        limitsCost: budget.max_cost_usd !== null,
        policy: options.subAgents ?? {},
        cache: options.cache ? openCache(store, models, options.baseUrl) : null,
        clock,
        random: given.random,
      }),
    onCalls: (progress) => options.onProgress?.({ kind: "calls", ...progress }),
    onRestart: options.onRestart ?? "send",
    keepSteps: options.keepSteps ?? false,
    gcEnds: storing.isInMemory ? openEndGc() : () => [],
    ...(onCheckpoint ? { onCheckpoint } : {}),
    moved(next) {
      current = next;
    },
    clock,
    newId: given.newId,
    random: given.random,
    limits: { ...DEFAULT_EXEC_LIMITS, ...options.limits },
    budget,
    guest: openGuest(guestOptions),
  };
  // Starting a thread takes longer than reading a small context: the two overlap.
  parts.guest.prepare();
  let queue: Promise<unknown> = Promise.resolve();
  let queued = 0;
  let closed = false;

  /** Takes its turn after all that was asked before. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (closed) {
      const suggestion = "Open another session with openSession().";
      return Promise.reject(new RlmError("session_closed", "the session is closed", { suggestion }));
    }
    queued++;
    const turn = queue
      .then(pace)
      .then(work)
      .finally(() => {
        // What the machine is in has been kept, or it has been ended.
        if (--queued === 0) parts.guest.rest();
      });
    queue = turn.catch(() => {});
    return turn;
  }

  const perform = (request: ExecRequest, signals: ExecAsked = {}): Promise<ExecOutcome> =>
    inTurn(() => {
      const interrupted = interruptedIn(current.account);
      if (interrupted) throw unfinishedError(row, interrupted);
      return runExec(parts, current, request, signals);
    });

  async function loading(
    kind: "load" | "append",
    from: LoadSource,
    loadingOptions: LoadingOptions = {},
  ): Promise<LoadResult> {
    const place = kind === "load" ? "load()" : "loadAppend()";
    checkOptions(place, LOAD_SOURCE, from);
    checkOptions(place, LOADING_OPTIONS, loadingOptions);
    const { roots: more = [], signal } = loadingOptions;
    granted.allow(more);
    const reads = [...granted.roots, ...more];
    const reading = { roots: reads, cwd, onProgress: onLoad, ...known, ...(signal ? { signal } : {}) };
    const outcome = await perform(loadRequest(kind, from, reading));
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
      const { sandbox } = await parts.guest.use(positionOf(current));
      return sandbox.enter(kind, input).catch(async (error: unknown) => {
        if (error instanceof RlmError && error.code === "machine_lost") await parts.guest.end();
        throw error;
      });
    });

  const factsOf = (unfinished: boolean) => ({
    session_id: row.id,
    budget: remaining(current.account.ledger, parts.budget),
    unfinished,
    files: cellFiles(current.account),
  });
  /** @param name the file of a cell that is in no journal */
  function answerOf(outcome: ExecOutcome, name?: string): ExecEnvelope {
    if (!("complete" in outcome)) throw new Error("a cell gave another outcome");
    const facts = factsOf(outcome.unfinished);
    const own = name === undefined ? [] : [[current.account.cells + 1, name] as const];
    return envelope(outcome.complete, { ...facts, files: new Map([...facts.files, ...own]) });
  }

  /** The cell on another machine at the same checkpoint, with a journal, answers and a state that are thrown away. */
  async function dryRun(source: string, { limits = {}, name, signal }: ExecOptions): Promise<DryRun> {
    const { estimateSubCall, placeholderAnswer, readOnlyTools, taskThread } = await loadSubCallLayer();
    const { approve, ...policy } = options.subAgents ?? {};
    // Nobody is asked about calls that are not sent.
    const planning = { models, policy: { ...policy, ...(approve ? { approve: async () => true } : {}) } };
    const tools = [...readOnlyTools({ roots: granted.roots, cwd }), ...(policy.tools ?? [])];
    const maxTurns = policy.maxTurns ?? LIMITS.subAgentTurns;
    const answers = openDryAnswers({
      plan: (request) => planSubCall({ ...planning, limitsCost: budget.max_cost_usd !== null }, request),
      estimate: (call) => estimateSubCall(call, { models, tools, maxTurns }),
      placeholder: async (call, stop) => ({ ok: true, value: await placeholderAnswer(call, taskThread(), stop) }),
    });
    const { onCalls: _nobody, onCheckpoint: _noOne, ...kept } = parts;
    const forgetful: Store = { ...store, commit: async () => {} };
    const guest = openGuest({ ...guestOptions, store: forgetful });
    try {
      const scratch: ExecParts = { ...kept, store: forgetful, guest, answers, moved() {} };
      const outcome = await runExec(
        scratch,
        current,
        { kind: "cell", source, limits, sites: true },
        signal ? { signal } : {},
      );
      const answer = answerOf(outcome, name);
      return { envelope: answer, estimate: answers.estimate(!answer.success) };
    } finally {
      await guest[Symbol.asyncDispose]();
    }
  }

  async function resume(signals: ExecAsked): Promise<Resumed | null> {
    const interrupted = interruptedIn(current.account);
    if (!interrupted) return recorded(current.account.last);
    const { start } = interrupted;
    const request = requestOf(start, granted, { cwd, onProgress: onLoad, ...known });
    const outcome = await runExec(parts, current, request, signals, interrupted);
    return resumed("finished", start, "complete" in outcome ? answerOf(outcome) : null);
  }

  /** The outcome of an exec that is over, as the journal has it. */
  function recorded(last: ExecRecords | null): Resumed | null {
    if (!last?.complete) return null;
    const { end, state } = last.complete;
    return resumed(
      "replayed",
      last.start,
      end && state ? envelope({ ...last.complete, end, state }, factsOf(false)) : null,
    );
  }

  return {
    id: row.id,
    name: row.name,
    load: (source, loadingOptions) => loading("load", source, loadingOptions),
    loadAppend: (source, loadingOptions) => loading("append", source, loadingOptions),
    async exec(source, execOptions = {}) {
      checkSource(source);
      checkOptions("exec()", EXEC_OPTIONS, execOptions);
      const { limits = {}, rest = [], name, ...signals } = execOptions;
      const named = name === undefined ? {} : { name };
      return answerOf(await perform({ kind: "cell", source, limits, rest, ...named }, signals));
    },
    async query(prompt, queryOptions = {}) {
      checkOptions("query()", QUERY_OPTIONS, queryOptions);
      const { signal, suspend, deliver, ...asked } = queryOptions;
      const signals = {
        ...(signal ? { signal } : {}),
        ...(suspend ? { suspend } : {}),
        ...(deliver ? { deliver } : {}),
      };
      return queryEnvelope(
        answerOf(await perform({ kind: "query", prompt, source: queryCell(prompt, asked) }, signals)),
      );
    },
    async dryRun(source, dryOptions = {}) {
      checkSource(source);
      checkOptions("dryRun()", EXEC_OPTIONS, dryOptions);
      return inTurn(() => dryRun(source, dryOptions));
    },
    unfinished() {
      const interrupted = interruptedIn(current.account);
      if (!interrupted) return null;
      const { exec_id, kind, input, rest } = interrupted.start;
      return { exec_id, kind, input, rest };
    },
    async resume(signals = {}) {
      checkOptions("resume()", RESUME_OPTIONS, signals);
      return inTurn(() => resume(signals));
    },
    discard: () =>
      inTurn(async () => {
        const interrupted = interruptedIn(current.account);
        if (!interrupted) return;
        await parts.guest.end();
        await discard(parts, current, interrupted);
      }),
    memory: memoryOf({ change: (input) => change("memory", input), read: (input) => read("memory", input) }),
    helpers: helpersOf({ change: (input) => change("helpers", input), read: (input) => read("helpers", input) }),
    stats: () => current.context?.stats ?? null,
    budget: () => remaining(current.account.ledger, parts.budget),
    close,
    [Symbol.asyncDispose]: close,
  };

  async function close(): Promise<void> {
    if (closed) return void (await queue);
    closed = true;
    await queue;
    await parts.guest[Symbol.asyncDispose]();
    // What lived in memory is of no use to anybody.
    await (storing.isInMemory ? store.remove(row.id) : store.release(row.id));
    await storing.own?.[Symbol.asyncDispose]();
    await indexFolder[Symbol.asyncDispose]();
  }
}

function resumed(how: Resumed["how"], { kind, rest }: Start, answer: ExecEnvelope | null): Resumed {
  const isOver = answer === null || answer.success;
  return { how, kind, envelope: answer && kind === "query" ? queryEnvelope(answer) : answer, rest: isOver ? rest : [] };
}

function unfinishedError(session: SessionRow, { start }: ExecRecords): RlmError {
  return new RlmError("exec_unfinished", `a ${start.kind} of session ${sessionLabel(session)} was interrupted`, {
    suggestion: `${firstly("resume")}, or ${remedy("discard")}.`,
  });
}

function nameWithoutStore(): RlmError {
  return refused("openSession(): session names a session, and there is no store to keep it", "Name a folder: store.");
}

function rootsOf({ input }: Start): readonly string[] {
  const from = readLoadInput(input);
  return "path" in from ? from.roots : [];
}

function checkSource(source: unknown): void {
  if (typeof source === "string") return;
  throw new RlmError("invalid_argument", `the cell is ${typeof source}`, { suggestion: "Pass source text." });
}

function statsOf(outcome: ExecOutcome): ContextStats {
  if (!("context" in outcome)) throw new Error("a load gave another outcome");
  return outcome.context.stats;
}
