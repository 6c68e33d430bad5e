import {
  DEFAULT_BUDGET,
  DEFAULT_EXEC_LIMITS,
  type Json,
  LIMITS,
  type Machines,
  processMachines,
} from "../../runtime/index.ts";
import type { Context } from "../context/index.ts";
import { entryUrl } from "../entries.ts";
import { type Models, openModels, withFallback } from "../model/index.ts";
import type { Signer } from "../platform/signed-settings.ts";
import type { Lease, SessionRow, Store } from "../store/index.ts";
import type { HostedOptions } from "./api.ts";
import type { CellSettings } from "./ask/api.ts";
import { type AskModels, openAskModels } from "./ask/models.ts";
import { knownIn, openContext, readLoadInput, storedContext } from "./contexts/contexts.ts";
import type { ExcerptInput } from "./contexts/excerpts.ts";
import { type Granted, openGranted } from "./contexts/granted.ts";
import { openEndGc } from "./exec/gc.ts";
import type { Loading } from "./exec/request.ts";
import type { SessionState } from "./exec/session-state.ts";
import type { ExecParts } from "./exec/work.ts";
import { EMPTY_ACCOUNT, follow } from "./journal/account.ts";
import { readRecord, type Start } from "./journal/records.ts";
import { type GuestOptions, openGuest } from "./machine/guest.ts";
import { type IndexFolder, openIndexFolder } from "./machine/index-folder.ts";
import { memoryBytesOf } from "./options.ts";
import { openAnswers } from "./sub-calls/answers.ts";
import { openCache, openScopedCache } from "./sub-calls/cache.ts";
import { type Children, openChildren } from "./sub-calls/children.ts";
import { childOpener, type OpenSession } from "./sub-calls/open-child.ts";
import { openTreePlaces, type Places } from "./sub-calls/places.ts";
import type { Above, Answers } from "./sub-calls/port.ts";
import type { RunPart } from "./sub-calls/run-part.ts";

/** Parts that a test or another host may replace. */
export interface SessionParts {
  /** Entry of the machine's thread. */
  readonly machineEntry: URL;
  /** Entry of the store's thread, for a session that opens its own store. */
  readonly storeEntry: URL;
  /** Stays open when the session is closed. */
  readonly store: Store;
  readonly origin: SessionRow["origin"];
  /** The settings that are kept with the session of this id, for a process that continues it. */
  readonly settings: (session: string) => Json;
  /** Answers calls instead of the models that the options name. */
  readonly answers: Answers;
  readonly models: Models;
  /** Signs the models of asks and knows them again. Without it only models that the options name go on. */
  readonly signer: Pick<Signer, "sign" | "doubt">;
  /** For a session that answers a call of another one. */
  readonly above: Above;
  /** The source of a child's context, which is loaded when the session is opened, unless it is loaded. */
  readonly excerpt: ExcerptInput;
  /** The input of the job that the session is of: cells read it as `job`. */
  readonly job: Json;
  /** The run that the session of a job takes money from. */
  readonly run: RunPart;
  /** The key of plain calls' answers, for a later session with the same; absent: the option `cache` decides. */
  readonly cacheScope: string;
  /** The session, if the caller has its lease already: then the caller gives it back. */
  readonly leased: Lease;
  /** Returns a context that the process holds in memory, so that it is not read from the store; null: it holds none such. */
  readonly heldContext: (key: string) => Context | null;
  /** The source of its machines' threads; default: those of the process. */
  readonly machines: Machines;
  readonly clock: ExecParts["clock"];
  readonly newId: () => string;
  readonly random: () => number;
}

/** The parts that every session has. */
export type Given = Partial<SessionParts> &
  Pick<SessionParts, "store" | "newId" | "clock" | "random"> & { readonly openSession: OpenSession };

/** An open session, as its methods share it. */
export interface Setup {
  readonly row: SessionRow;
  readonly options: HostedOptions;
  readonly parts: ExecParts;
  readonly models: Models;
  readonly askModels: AskModels;
  /** The options with which the session's guest was opened: a dry run opens another one. */
  readonly guestOptions: GuestOptions;
  readonly indexFolder: IndexFolder;
  readonly granted: Granted;
  /** 0 for a session that a caller opened, one more than its parent's for a child. */
  readonly depth: number;
  /** The depth that children may have. */
  readonly maxDepth: number;
  readonly children: Children;
  /** Answers sub-calls as the session does, but by what an ask says of them. */
  answersBy(settings: CellSettings): Answers;
  /** The way in which a load of this session reads. */
  readonly loading: Omit<Loading, "signal">;
  /** The state from which the next exec starts. */
  state(): SessionState;
}

/** @throws RlmError `context_lost`, `store_failed`, `store_corrupt` */
export async function setUp(options: HostedOptions, given: Given, row: Lease, isInMemory: boolean): Promise<Setup> {
  const { store, clock } = given;
  const cwd = options.cwd ?? process.cwd();
  const granted = openGranted(options.roots ?? [cwd], cwd);
  let current = await readState(given, row, granted);
  const state = () => current;
  const indexFolder = openIndexFolder(options.indexDir);
  const models = given.models ?? openModels({ ...namedModel(options), env: process.env });
  const askModels = openAskModels(options, { hasAll: given.models !== undefined, signer: given.signer ?? null });
  const guestOptions = guestOptionsOf(options, given, indexFolder);
  const { onCheckpoint } = options;
  const places = given.above?.places ?? openTreePlaces(concurrencyOf(options));
  const { depth = 0, maxDepth = options.maxDepth ?? LIMITS.depth } = given.above ?? {};
  const budget = given.above?.limits ?? budgetOf(options);
  const machines = given.machines ?? processMachines();
  const open = childOpener({ options, given, models, state });
  const children = openChildren({ parent: row.id, store, clock, places, machines, depth, budget, open });
  const asking: Asking = { models, granted, cwd, state, places, children };
  const { thinking = "off" } = options;
  const plain = {
    model: models.fallback,
    sub_model: models.fallback,
    protocol: "auto",
    turn_tokens: null,
    thinking,
  } as const;
  const parts: ExecParts = {
    session: row.id,
    store,
    lost: row.lost,
    answers: given.answers ?? answersOf(options, given, asking, { ...plain, max_depth: maxDepth }),
    places,
    ...(given.above ? { above: given.above } : {}),
    ...(given.run ? { run: given.run } : {}),
    job: given.job === undefined ? null : JSON.stringify(given.job),
    onCalls: (progress) => options.onProgress?.({ kind: "calls", ...progress }),
    onRestart: options.onRestart ?? "send",
    keepSteps: options.keepSteps ?? false,
    gcEnds: isInMemory ? openEndGc() : () => [],
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
  const loading = {
    cwd,
    contextOf: async (key: string) => given.heldContext?.(key) ?? (await storedContext(store, key)),
    onProgress: (progress: { files: number; bytes: number }) => options.onProgress?.({ kind: "load", ...progress }),
    // A folder that goes with the session has no records of earlier sessions.
    ...(options.indexDir === undefined ? {} : { known: knownIn(options.indexDir, store, clock) }),
  };
  const answersBy = (settings: CellSettings) =>
    given.answers ??
    answersOf(options, given, { ...asking, models: withFallback(models, settings.sub_model) }, settings);
  const shared = { guestOptions, indexFolder, granted, loading, depth, maxDepth, children };
  return { row, options, parts, models, askModels, answersBy, state, ...shared };
}

/** The state in which the last process left the session, by its journal. */
async function readState({ store, heldContext }: Given, { id }: SessionRow, granted: Granted): Promise<SessionState> {
  const records = (await store.journal(id)).map(({ record }) => readRecord(record));
  const account = records.reduce(follow, EMPTY_ACCOUNT);
  const { context_key: key, context_hash: hash, loads } = account;
  if (key === null || hash === null) return { account, context: null };
  return { account, context: heldContext?.(key) ?? (await openContext(store, { key, hash, loads }, granted)) };
}

function guestOptionsOf(options: HostedOptions, given: Given, indexFolder: IndexFolder): GuestOptions {
  return {
    machineEntry: given.machineEntry ?? entryUrl("machine-thread-entry"),
    memoryBytes: memoryBytesOf(options),
    indexFolder,
    store: given.store,
    newId: given.newId,
    onNotice: (text) => options.onProgress?.({ kind: "notice", text }),
    idleMs: options.idleMs ?? LIMITS.idleMs,
    ...(given.machines ? { machines: given.machines } : {}),
  };
}

interface Asking {
  readonly models: Models;
  readonly granted: Granted;
  readonly cwd: string;
  readonly places: Places;
  readonly children: Children;
  state(): SessionState;
}

function answersOf(options: HostedOptions, given: Given, asking: Asking, settings: CellSettings): Answers {
  const { models, granted, cwd, state, places, children } = asking;
  const recorded = () => state().account.loads.flatMap(rootsOf);
  return openAnswers({
    models,
    roots: () => [...new Set([...granted.roots, ...granted.among(recorded())])],
    cwd,
    concurrency: concurrencyOf(options),
    places,
    children,
    settings,
    isChosen: options.modelChosen === true,
    depthLeft: Math.max(0, settings.max_depth - (given.above?.depth ?? 0)),
    limitsCost: (given.above?.limits ?? budgetOf(options)).max_cost_usd !== null || given.run?.limitsCost === true,
    run: given.run,
    policy: options.subAgents ?? {},
    cache: cacheOf(options, given, asking),
    clock: given.clock,
    random: given.random,
  });
}

function cacheOf({ cache, baseUrl }: HostedOptions, { store, cacheScope: scope }: Given, { models, state }: Asking) {
  if (cache) return openCache(store, { models, baseUrl });
  if (scope === undefined) return null;
  return openScopedCache(store, { models, baseUrl }, { scope, running: () => state().account.last });
}

function concurrencyOf({ concurrency = LIMITS.concurrency }: HostedOptions): number {
  return Math.min(concurrency, LIMITS.maxConcurrency);
}

function budgetOf({ budget }: HostedOptions): ExecParts["budget"] {
  return { ...DEFAULT_BUDGET, ...budget };
}

/** The model that the options name, as `openModels` takes it. */
function namedModel({ model, baseUrl, apiKeyEnv, price }: HostedOptions) {
  return {
    ...(model === undefined ? {} : { model }),
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKeyEnv === undefined ? {} : { apiKeyEnv }),
    ...(price === undefined ? {} : { price }),
  };
}

function rootsOf({ input }: Start): readonly string[] {
  const from = readLoadInput(input);
  return "roots" in from ? from.roots : [];
}
