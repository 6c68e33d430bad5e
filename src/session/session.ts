import { existsSync } from "node:fs";
import { hasEngine, type Json, LIMITS, RlmError, systemClock } from "../../runtime/index.ts";
import type { LoadProgress } from "../context/index.ts";
import { entryUrl } from "../entries.ts";
import { type Models, tokensOf, withFallback } from "../models/index.ts";
import { cellJson } from "../platform/cell-json.ts";
import { newUlid } from "../platform/new-ulid.ts";
import { openSigner } from "../settings/signed-settings.ts";
import { type JobKey, type Lease, type NewSession, type Store, shareStore } from "../store/index.ts";
import { placeOf } from "../store/store-place.ts";
import type { Session } from "./api.ts";
import type { CellSettings } from "./ask/api.ts";
import { knownIn, openContext, storedContext } from "./contexts/contexts.ts";
import type { ExcerptInput } from "./contexts/excerpts.ts";
import { type Granted, openAskModels, openGranted } from "./contexts/granted.ts";
import { openHeldTexts } from "./contexts/held-texts.ts";
import { type Env, envOf, type Host, modelsOf, type Rules, rulesOf } from "./env.ts";
import { excerptRequest, runLoad } from "./exec/load.ts";
import type { Account, SessionState } from "./journal/account.ts";
import { EMPTY_ACCOUNT, follow, interruptedIn } from "./journal/account.ts";
import { type JournalRecord, readJournal } from "./journal/records.ts";
import { type GuestOptions, openGuest, openIndexFolder, warmMachine } from "./machine/guest.ts";
import { sessionOver } from "./methods.ts";
import type { HostedOptions, SessionOptions } from "./option-types.ts";
import { checkOptions, memoryBytesOf, mostOf, refused, SESSION_OPTIONS } from "./options.ts";
import type { SessionParts } from "./parts.ts";
import { checkSessionName } from "./session-name.ts";
import { openStoreQuota, type QuotaOptions } from "./store-quota.ts";
import { refuseChild } from "./stored/children.ts";
import { type RemarkOptions, remarksNow, withRemarks } from "./stored/remarks.ts";
import { checkNewName } from "./stored/sessions.ts";
import { openAgents } from "./sub-calls/agents.ts";
import { openAnswers } from "./sub-calls/answers.ts";
import { type AnswerCache, openCache } from "./sub-calls/cache.ts";
import { childOpener, type OpenSession, openChildren } from "./sub-calls/children.ts";
import { openTreePlaces } from "./sub-calls/concurrency.ts";
import { checkFunctions, factsOfFunctions } from "./sub-calls/functions.ts";
import { openPatience } from "./sub-calls/patience.ts";
import { openSuspension } from "./suspension.ts";
import { pace } from "./turns.ts";
import { openWorkflowMarks, type WorkflowMarks } from "./workflow-marks.ts";

/**
 * Opens a session: with `store` and `session` the one of this name in the store, otherwise a new one.
 *
 * @throws RlmError `session_busy` if another process has it, `context_lost`, `store_failed`, `store_corrupt`,
 * `store_too_new`, `invalid_argument`; `invalid_config` in a program that a bundler has put this package into
 */
export function openSession(options: SessionOptions = {}): Promise<Session> {
  return openSessionWith(options);
}

/** Opens a session over parts that its host lends. @throws as `openSession` */
export async function openSessionWith(options: HostedOptions, host: Host = {}): Promise<Session> {
  refuseBundled();
  checkOptions("openSession()", SESSION_OPTIONS, options);
  if (options.session !== undefined) checkSessionName(options.session);
  if (options.session !== undefined && options.store === undefined && !host.store) {
    throw refused("openSession(): session names a session, but no store is given to keep it", "Name a place: store.");
  }
  memoryBytesOf(options);
  // An option that is refused is not kept with a session first.
  await checkFunctions(options.functions);
  const models = modelsOf(options, host);
  // Starting a thread takes longer than what comes before the first exec: the two overlap.
  warmMachine(host.machineEntry, host.machines);
  await pace();
  const place = options.store === undefined ? null : placeOf(options.store);
  const store = host.store ?? (await shareStore(place));
  const signer = host.store || place === null ? {} : { signer: openSigner(place, process.env) };
  const isInMemory = !host.store && place === null;
  const release = async (id: string) => {
    if (host.leased) return;
    // A session in memory ends with its handle.
    await (isInMemory ? store.remove(id, { discard: true }) : store.release(id));
  };
  const closeStore = async () => {
    if (!host.store) await store[Symbol.asyncDispose]();
  };
  try {
    const { newId = newUlid, clock = systemClock } = host;
    const fresh = { id: newId(), origin: host.origin ?? "library", at: clock.now() };
    const row = host.leased ?? (await leasedRow(store, options, fresh, host.settings));
    try {
      const env = envOf(options, { ...host, store, newId, clock, models });
      const opening = { host: { ...signer, ...host }, env, row, isInMemory, openSession: openSessionWith };
      const setup = await setUp(options, opening);
      if (host.excerpt) await loadOnce(setup, host.excerpt);
      return sessionOver(setup, async () => {
        await release(row.id);
        await closeStore();
      });
    } catch (error) {
      if (!host.leased) await store.release(row.id);
      throw error;
    }
  } catch (error) {
    await closeStore();
    throw error;
  }
}

/**
 * The session with this name or id, leased. It is made if it does not exist.
 * @throws RlmError `invalid_argument` for a child, unless it is opened as one
 */
async function leasedRow(
  store: Store,
  { session: named, ...options }: Pick<HostedOptions, "session"> & RemarkOptions,
  fresh: Omit<NewSession, "name" | "settings">,
  settings?: (session: string) => Json,
): Promise<Lease> {
  const found = named === undefined ? null : await store.find(named);
  if (found && fresh.origin !== "child") await refuseChild(store, found);
  if (!found) {
    if (named !== undefined && fresh.origin !== "child") checkNewName(named);
    const kept = withRemarks(settings?.(fresh.id) ?? null, remarksNow(null, options));
    return store.create({ ...fresh, name: named ?? null, settings: kept });
  }
  const row = await store.lease(found.id);
  const kept = withRemarks(settings?.(row.id) ?? row.settings, remarksNow(row, options));
  if (JSON.stringify(kept) === JSON.stringify(row.settings)) return row;
  await store.commit(row.id, { settings: kept });
  return row;
}

/** Loads the context of a child, unless it is loaded. A load that was interrupted is done again. */
async function loadOnce(setup: SessionParts, input: ExcerptInput): Promise<void> {
  const { account, context } = setup.state();
  if (context) return;
  try {
    await runLoad(setup, excerptRequest(input, setup.loading), interruptedIn(account));
  } catch (error) {
    await setup.guest[Symbol.asyncDispose]();
    throw error;
  }
}

let isWhole = false;

/**
 * Looks for the files from which threads are started, and for the engine. A program that a bundler has made of several packages does
 * not have them, or not under their addresses. @throws RlmError `invalid_config`
 */
export function refuseBundled(): void {
  isWhole ||= existsSync(entryUrl("machine-thread-entry")) && hasEngine();
  if (isWhole) return;
  throw new RlmError("invalid_config", "the files of belay-rlm are not beside it: the program was bundled with it", {
    suggestion:
      'Leave the package out of the bundle: `external: ["belay-rlm"]` in esbuild and rolldown, `externals` in webpack, `serverExternalPackages: ["belay-rlm"]` in Next.js.',
  });
}

/** A store may come from another user: an interrupted exec that only claims to be a workflow has the budget of any other. */
function rulesFor(account: Account, { doubt }: WorkflowMarks, { workflow, ...rules }: Rules): Rules {
  const start = interruptedIn(account)?.start;
  const isClaimed = start?.workflow !== undefined && doubt(start) !== null;
  return workflow === undefined || isClaimed ? rules : { ...rules, workflow };
}

interface Opening {
  readonly host: Host;
  readonly env: Env;
  readonly row: Lease;
  readonly isInMemory: boolean;
  readonly openSession: OpenSession;
}

/** Opens each part of a session from those before it. @throws RlmError `context_lost`, `store_failed`, `store_corrupt` */
async function setUp(options: HostedOptions, opening: Opening): Promise<SessionParts> {
  const { host, env, row } = opening;
  const { above, run, answers: lent, suspension = openSuspension() } = host;
  const { id, origin } = row;
  const root = host.root ?? {
    session: id,
    run: null,
    comesBack: !opening.isInMemory && origin !== "pi" && origin !== "mcp",
  };
  const cwd = options.cwd ?? process.cwd();
  const granted = openGranted(options.roots ?? [cwd], cwd);
  const patience = above?.patience ?? openPatience(env, options.waitForServerMs ?? LIMITS.serverWaitMs);
  const records = await journalOf(env.store, row);
  for (const model of [...(host.answered ?? []), ...answeredIn(records)]) patience.answered.add(model);
  const { state, moved } = holdState(await stateAfter(records, env, host.heldContext, granted, options), host);
  const workflows = host.workflows ?? openWorkflowMarks(host.signer ?? null);
  const rules = rulesFor(state().account, workflows, rulesOf(options, above, host));
  const agents = openAgents({ row, options, env, rules, suspension, state, workflows, cwd });
  const own = {
    row,
    options,
    env,
    rules,
    above,
    run,
    suspension,
    hasOwnSuspension: host.suspension === undefined,
    root,
    deliveries: new Set<string>(),
    granted,
    state,
    cwd,
    workflows,
    agents,
  };
  const places = above?.places ?? openTreePlaces(rules.concurrency);
  const space = above?.space ?? openStoreQuota(row, state().context, quotaOptionsOf(options, records));
  const children = openChildren({
    ...own,
    places,
    space,
    patience,
    open: childOpener(own, { ...host, suspension, root }, opening.openSession),
  });
  const loading = loadingOf(options, env, host.heldContext, cwd);
  const session = { ...own, places, space, patience, children, loading };
  const answersOf = (settings: CellSettings, models: Models) =>
    lent ?? openAnswers(session, { models, settings, cache: cacheOf(own, models, host.answersOf ?? null) });
  const indexFolder = openIndexFolder(options.indexDir);
  const guestOptions: GuestOptions = {
    env,
    indexFolder,
    space,
    machineEntry: host.machineEntry ?? entryUrl("machine-thread-entry"),
    memoryBytes: memoryBytesOf(options),
    idleMs: options.idleMs ?? LIMITS.idleMs,
  };
  return {
    ...session,
    moved,
    questions: above ? undefined : host.questions,
    called: { key: null },
    functions: factsOfFunctions(options.functions),
    job: host.job === undefined ? null : cellJson(host.job),
    leavesNoState: host.leavesNoState ?? false,
    imagesAreLate: opening.isInMemory && !rules.keepSteps,
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

/**
 * Names the checkpoints that a session in memory can drop when an exec has ended: the ends before the newest whole image.
 * No exec continues from them, and they would fill the memory.
 */
function openEndGc(): (end: { readonly id: string; readonly isWhole: boolean }) => readonly string[] {
  let ends: string[] = [];
  return ({ id, isWhole }) => {
    const gone = isWhole ? ends : [];
    ends = isWhole ? [id] : [...ends, id];
    return gone;
  };
}

function holdState(first: SessionState, { onTotals }: Pick<Host, "onTotals">) {
  let current = first;
  onTotals?.(current.account.totals);
  return {
    state: () => current,
    moved(next: SessionState) {
      current = next;
      onTotals?.(current.account.totals);
    },
  };
}

/** A session that a try of a job has made with its lease has no records yet. */
async function journalOf(store: Store, { id, begun }: Lease): Promise<readonly JournalRecord[]> {
  return begun === undefined ? readJournal(store, id) : [];
}

/** The state in which the last process left the session, by its journal. */
async function stateAfter(
  records: readonly JournalRecord[],
  { store, emit }: Env,
  heldContext: Host["heldContext"],
  granted: Granted,
  options: HostedOptions,
) {
  const { convert = {} } = options;
  const rereading = {
    most: mostOf(options),
    documents: { convert },
    onProgress: (progress: LoadProgress) => emit({ kind: "load", ...progress }),
    onNotice: (text: string) => emit({ kind: "notice", text }),
  };
  const account = records.reduce(follow, EMPTY_ACCOUNT);
  const { context_key: key, context_hash: hash, loads } = account;
  if (key === null || hash === null) return { account, context: null };
  return {
    account,
    context: heldContext?.(key) ?? (await openContext(store, { key, hash, loads }, granted, rereading)),
  };
}

function quotaOptionsOf(options: HostedOptions, records: readonly JournalRecord[]): QuotaOptions {
  const hashes = records.flatMap((record) => (record.record === "rlm_complete" ? (record.context_hash ?? []) : []));
  const { maxSessionMb, indexDir } = options;
  return { maxSessionMb, indexDir, maxContextBytes: mostOf(options).bytes, hashes: [...new Set(hashes)] };
}

/** Models, `provider/id`, that have answered calls and turns. An answer that could not be used was paid for, too. */
function answeredIn(records: readonly JournalRecord[]): readonly string[] {
  const results = records.filter((record) => record.record === "rlm_tool_result");
  return results.filter(({ success, usage }) => success || tokensOf(usage) > 0).map(({ model }) => model);
}

function loadingOf(
  options: HostedOptions,
  { store, clock, emit }: Env,
  heldContext: Host["heldContext"],
  cwd: string,
): SessionParts["loading"] {
  const { indexDir, convert = {} } = options;
  const texts = openHeldTexts(store);
  return {
    cwd,
    ...texts.loading,
    heldTexts: texts,
    most: mostOf(options),
    contextOf: async (key) => heldContext?.(key) ?? (await storedContext(store, key)),
    onProgress: (progress) => emit({ kind: "load", ...progress }),
    documents: { convert, ...(indexDir === undefined ? {} : { keptIn: indexDir }) },
    // A folder that goes with the session has no records of earlier sessions.
    ...(indexDir === undefined ? {} : { known: knownIn(indexDir, store, texts, clock) }),
  };
}

/** The settings of the session's own calls. An ask has its own. */
function ownSettings({ thinking = "off" }: HostedOptions, { maxDepth }: Rules, model: string | null): CellSettings {
  return { model, sub_model: model, protocol: "auto", turn_tokens: null, thinking, max_depth: maxDepth };
}

/** The cache of answers by these models: that of the whole store if the options say so, and that of the session's job. */
function cacheOf(
  { options, env: { store }, rules, state }: Pick<SessionParts, "options" | "env" | "rules" | "state">,
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
