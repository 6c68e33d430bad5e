import { LIMITS } from "../../runtime/index.ts";
import { entryUrl } from "../entries.ts";
import { type Models, tokensOf, withFallback } from "../models/index.ts";
import { cellJson } from "../platform/cell-json.ts";
import type { JobKey, Lease } from "../store/index.ts";
import type { CellSettings } from "./ask/api.ts";
import { openAskModels } from "./ask/models.ts";
import { knownIn, openContext, storedContext } from "./contexts/contexts.ts";
import { type Granted, openGranted } from "./contexts/granted.ts";
import { type Env, type Host, type Rules, rulesOf } from "./env.ts";
import { openEndGc } from "./exec/keep-end.ts";
import { factsOfFunctions } from "./functions.ts";
import { EMPTY_ACCOUNT, follow } from "./journal/account.ts";
import { type JournalRecord, readJournal } from "./journal/records.ts";
import { type GuestOptions, openGuest } from "./machine/guest.ts";
import { openIndexFolder } from "./machine/index-folder.ts";
import type { HostedOptions } from "./option-types.ts";
import { memoryBytesOf } from "./options.ts";
import type { SessionParts } from "./parts.ts";
import type { SessionState } from "./state.ts";
import { openStoreQuota } from "./store-quota.ts";
import { openAnswers } from "./sub-calls/answers.ts";
import { type AnswerCache, openCache } from "./sub-calls/cache.ts";
import { openChildren } from "./sub-calls/children.ts";
import { openTreePlaces } from "./sub-calls/concurrency.ts";
import { childOpener, type OpenSession } from "./sub-calls/open-child.ts";
import { openPatience } from "./sub-calls/patience.ts";
import { openSuspension } from "./suspension.ts";

interface Opening {
  readonly host: Host;
  readonly env: Env;
  readonly row: Lease;
  readonly isInMemory: boolean;
  readonly openSession: OpenSession;
}

/** Opens each part of a session from those before it. @throws RlmError `context_lost`, `store_failed`, `store_corrupt` */
export async function setUp(options: HostedOptions, opening: Opening): Promise<SessionParts> {
  const { host, env, row } = opening;
  const { above, run, answers: lent, suspension = openSuspension() } = host;
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
  const hasOwnSuspension = host.suspension === undefined;
  const own = { row, options, env, rules, above, run, suspension, hasOwnSuspension, root, deliveries, granted, state };
  const places = above?.places ?? openTreePlaces(rules.concurrency);
  const space = above?.space ?? openStoreQuota(row, current.context, options.maxSessionMb);
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
): SessionParts["loading"] {
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
