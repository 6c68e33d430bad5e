import type { FunctionFacts } from "../../builtins/index.ts";
import { LIMITS } from "../../runtime/index.ts";
import { entryUrl } from "../entries.ts";
import { type Models, tokensOf, withFallback } from "../models/index.ts";
import { type CellJson, cellJson } from "../platform/cell-json.ts";
import type { JobKey, Lease } from "../store/index.ts";
import type { HostedOptions } from "./api.ts";
import type { CellSettings } from "./ask/api.ts";
import { type AskModels, openAskModels } from "./ask/models.ts";
import { knownIn, openContext, storedContext } from "./contexts/contexts.ts";
import { type Granted, openGranted } from "./contexts/granted.ts";
import { type Env, type Host, type Questions, type RecordedAnswers, type Root, type Rules, rulesOf } from "./env.ts";
import { openEndGc } from "./exec/keep-end.ts";
import type { Loading } from "./exec/request.ts";
import type { SessionState } from "./exec/work.ts";
import { factsOfFunctions } from "./functions.ts";
import { EMPTY_ACCOUNT, follow } from "./journal/account.ts";
import type { CallKey, JournalRecord } from "./journal/records.ts";
import { readJournal } from "./journal/records.ts";
import { type Guest, type GuestOptions, openGuest } from "./machine/guest.ts";
import { type IndexFolder, openIndexFolder } from "./machine/index-folder.ts";
import { memoryBytesOf } from "./options.ts";
import { openParking, type Parking } from "./parking.ts";
import { openSpace, type Space } from "./space.ts";
import { openAnswers } from "./sub-calls/answers.ts";
import { type AnswerCache, openCache } from "./sub-calls/cache.ts";
import { type Children, openChildren } from "./sub-calls/children.ts";
import { childOpener, type OpenSession } from "./sub-calls/open-child.ts";
import { openPatience, type TreePatience } from "./sub-calls/patience.ts";
import { openTreePlaces, type Places } from "./sub-calls/places.ts";
import type { Above, Answers } from "./sub-calls/port.ts";
import type { RunPart } from "./sub-calls/run-part.ts";

/** The parts of a session that its calls are answered with. */
export interface AnsweringSession {
  readonly row: Lease;
  readonly options: HostedOptions;
  readonly env: Env;
  readonly rules: Rules;
  readonly above: Above | undefined;
  readonly run: RunPart | undefined;
  /** Suspends what has to wait for long, for the whole tree of sessions. */
  readonly parking: Parking;
  /** Nobody above it waits for batches. */
  readonly hasOwnParking: boolean;
  readonly root: Root;
  /** Ids of the calls that have parcels: these go with the record of the call. */
  readonly deliveries: Set<string>;
  readonly granted: Granted;
  /** The state from which the next exec starts. */
  state(): SessionState;
  /** The places of the whole tree of sessions. */
  readonly places: Places;
  /** The patience of the whole tree of sessions with servers that are away. */
  readonly patience: TreePatience;
  /** The space of the whole tree of sessions. */
  readonly space: Space;
  readonly children: Children;
  /** The way in which a load of this session reads. */
  readonly loading: Omit<Loading, "signal">;
}

/** An open session, as its methods share it. */
export interface Setup extends AnsweringSession {
  /** Those of the host, if each has a budget of its own. A child's execs belong to the question of its caller. */
  readonly questions: Questions | undefined;
  /** The call of a tool that begins the next exec, if its host gave it a key. */
  readonly called: { key: CallKey | null };
  /** The functions that the program lends, as cells and models are told of them. */
  readonly functions: readonly FunctionFacts[];
  /** The input of the job that the session is of; null: it is of none. */
  readonly job: CellJson | null;
  /** Called with the new state after each commit. */
  moved(next: SessionState): void;
  /** True if no checkpoint is kept. */
  readonly isDry?: true;
  readonly answers: Answers;
  /** See {@link Host.recorded}. */
  readonly recorded: RecordedAnswers | undefined;
  /** Answers sub-calls as the session does, but by what an ask says of them. */
  answersBy(settings: CellSettings): Answers;
  readonly askModels: AskModels;
  readonly indexFolder: IndexFolder;
  /** The options with which the session's guest was opened: a dry run opens another one. */
  readonly guestOptions: GuestOptions;
  readonly guest: Guest;
  /** Checkpoints of earlier ends that go when this one is kept. */
  gcEnds(end: { readonly id: string; readonly isWhole: boolean }): readonly string[];
}

interface Opening {
  readonly host: Host;
  readonly env: Env;
  readonly row: Lease;
  readonly isInMemory: boolean;
  readonly openSession: OpenSession;
}

/** Opens each part of a session from those before it. @throws RlmError `context_lost`, `store_failed`, `store_corrupt` */
export async function setUp(options: HostedOptions, opening: Opening): Promise<Setup> {
  const { host, env, row } = opening;
  const { above, run, answers: lent, parking = openParking() } = host;
  const { id, origin } = row;
  const root = host.root ?? {
    session: id,
    run: null,
    comesBack: !opening.isInMemory && origin !== "pi" && origin !== "mcp",
  };
  const cwd = options.cwd ?? process.cwd();
  const rules = rulesOf(options, above, host.questions);
  const granted = openGranted(options.roots ?? [cwd], cwd);
  const patience = above?.patience ?? openPatience(env, options.waitForServerMs ?? LIMITS.serverWaitMs);
  const records = await readJournal(env.store, row.id);
  for (const model of [...(host.answered ?? []), ...answeredIn(records)]) patience.answered.add(model);
  let current: SessionState = await stateAfter(records, env, host.heldContext, granted, options);
  const state = () => current;
  const deliveries = new Set<string>();
  const hasOwnParking = host.parking === undefined;
  const own = { row, options, env, rules, above, run, parking, hasOwnParking, root, deliveries, granted, state };
  const places = above?.places ?? openTreePlaces(rules.concurrency);
  const space = above?.space ?? openSpace(row, current.context, options.maxSessionMb);
  const children = openChildren({
    ...own,
    places,
    space,
    patience,
    open: childOpener(own, { ...host, parking, root }, opening.openSession),
  });
  const loading = loadingOf(options, env, host.heldContext, cwd);
  const session = { ...own, places, space, patience, children, loading };
  const answersOf = (settings: CellSettings, models: Models) =>
    lent ?? openAnswers(session, { models, settings, cache: cacheOf(own, models, host.answersOf ?? null) });
  const indexFolder = openIndexFolder(options.indexDir);
  const guestOptions: GuestOptions = {
    env,
    indexFolder,
    machineEntry: host.machineEntry ?? entryUrl("machine-thread-entry"),
    memoryBytes: memoryBytesOf(options),
    idleMs: options.idleMs ?? LIMITS.idleMs,
  };
  return {
    ...session,
    moved(next) {
      current = next;
    },
    questions: above ? undefined : host.questions,
    called: { key: null },
    functions: factsOfFunctions(options.functions),
    job: host.job === undefined ? null : cellJson(host.job),
    answers: answersOf(ownSettings(options, rules, env.models.fallback), env.models),
    answersBy: (settings) => answersOf(settings, withFallback(env.models, settings.sub_model)),
    recorded: host.recorded,
    askModels: openAskModels(options, { hasAll: host.models !== undefined, signer: host.signer ?? null }),
    indexFolder,
    guestOptions,
    guest: openGuest(guestOptions),
    gcEnds: opening.isInMemory ? openEndGc() : () => [],
  };
}

/** The state in which the last process left the session, by its journal. */
async function stateAfter(
  records: readonly JournalRecord[],
  { store }: Env,
  heldContext: Host["heldContext"],
  granted: Granted,
  { convert = {} }: HostedOptions,
) {
  const account = records.reduce(follow, EMPTY_ACCOUNT);
  const { context_key: key, context_hash: hash, loads } = account;
  if (key === null || hash === null) return { account, context: null };
  return {
    account,
    context: heldContext?.(key) ?? (await openContext(store, { key, hash, loads }, granted, { convert })),
  };
}

/** Models, `provider/id`, that have answered calls and turns. An answer that could not be used was paid for, too. */
function answeredIn(records: readonly JournalRecord[]): readonly string[] {
  const results = records.filter((record) => record.record === "rlm_tool_result");
  return results.filter(({ success, usage }) => success || tokensOf(usage) > 0).map(({ model }) => model);
}

function loadingOf(
  { indexDir, convert = {} }: HostedOptions,
  { store, clock, emit }: Env,
  heldContext: Host["heldContext"],
  cwd: string,
): Setup["loading"] {
  return {
    cwd,
    contextOf: async (key) => heldContext?.(key) ?? (await storedContext(store, key)),
    onProgress: (progress) => emit({ kind: "load", ...progress }),
    documents: { convert, ...(indexDir === undefined ? {} : { keptIn: indexDir }) },
    // A folder that goes with the session has no records of earlier sessions.
    ...(indexDir === undefined ? {} : { known: knownIn(indexDir, store, clock) }),
  };
}

/** The settings of the session's own calls. An ask has its own. */
function ownSettings({ thinking = "off" }: HostedOptions, { maxDepth }: Rules, model: string | null): CellSettings {
  return { model, sub_model: model, protocol: "auto", turn_tokens: null, thinking, max_depth: maxDepth };
}

/** The cache of answers by these models: that of the whole store if the options say so, and that of the session's job. */
function cacheOf(
  { options, env: { store }, rules, state }: Pick<Setup, "options" | "env" | "rules" | "state">,
  models: Models,
  job: JobKey | null,
): AnswerCache | null {
  const { cache: isShared = false, baseUrl } = options;
  if (!isShared && job === null) return null;
  const of = job && {
    job,
    maxDepth: rules.maxDepth,
    contextKey: () => state().account.context_key,
    running: () => state().account.last,
  };
  return openCache({ store, models, baseUrl, isShared, of });
}
