import { type Clock, DEFAULT_JOB_MS, type Json, LIMITS, RlmError } from "../../runtime/index.ts";
import type { Context } from "../context/index.ts";
import { type Models, openModels } from "../models/index.ts";
import { withoutUndefined } from "../platform/json.ts";
import { sleep } from "../platform/signals.ts";
import {
  type AgentPlaces,
  contextParts,
  type ExecEnvelope,
  type ExecFailure,
  type HostedOptions,
  heldBackText,
  openSessionWith,
  openSuspension,
  type Resumed,
  readRecord,
  type Session,
  storedContext,
  type Totals,
} from "../session/index.ts";
import { optionsOfJob } from "../settings/options.ts";
import type { JobOfRun, JobRow, Lease, Store } from "../store/index.ts";
import type { WorkerSession, WorkProgress } from "./api.ts";
import type { Troubles } from "./failures.ts";
import { TRIED_AGAIN } from "./job-end.ts";
import { type LentAgent, lentTo, withAgent } from "./lent-agents.ts";
import { openMoney, openRates } from "./run-money.ts";
import { type RunSpec, specOfJob } from "./spec.ts";
import type { JobEnd, JobLease, JobSession, Stops, Taking } from "./try-parts.ts";

export interface JobSessionsParts {
  readonly store: Store;
  readonly own: WorkerSession;
  readonly contextOf: (key: string) => Promise<Context>;
  /** Models by the one that calls without a name ask. */
  readonly openModels: (model: string | null) => Models;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly random: () => number;
  readonly troubles: Troubles;
  /** An agent of which it is unknown whether it has ended is started again. */
  readonly resendsDoubtful: boolean;
  readonly placeOf: AgentPlaces;
  readonly onProgress: (progress: WorkProgress) => void;
}

/**
 * Takes the lease of a job's session, which is made if it is missing.
 * @throws RlmError `session_busy`; `store_corrupt` if the session is not that of a job
 */
export async function leaseJob(parts: JobSessionsParts, found: JobOfRun, taking?: Taking): Promise<JobLease> {
  const { store } = parts;
  const { session: id } = found.job;
  const leased = await leaseOf(parts, found.job, taking);
  const { fence, begun } = leased;
  return {
    fence,
    begun,
    answers: async () => (await recordsOf(store, id)).filter(({ record }) => record === "rlm_tool_result").length,
    async open(ofRun, stops) {
      const spec = specOfJob(ofRun, found.job);
      const input = await store.jobs.input({ run: found.job.run, n: found.job.n });
      const lent = lentTo(parts.own.lent, spec, { session: id, input });
      const spent = openSpent();
      const session = await openJobSession(parts, found, spec, { leased, stops, input, lent, spent });
      const opened = jobSession(store, session, spec, { job: found.job, isLent: lent !== null, spent });
      return lent ? withAgent(opened, lent, parts.placeOf) : opened;
    },
    release: () => store.release(id),
  };
}

async function leaseOf({ store, clock }: JobSessionsParts, job: JobRow, taking?: Taking): Promise<Lease> {
  const { run, n, session: id, begun_at } = job;
  const begins = taking && { run, n, ...taking, answers: 0 };
  const wanted = { id, name: null, origin: "batch", settings: null, at: clock.now(), begins } as const;
  const make = () =>
    store.create(wanted).catch((error: unknown) => {
      const code = error instanceof RlmError ? error.code : null;
      // No session of Belay has such an id.
      if (code === "invalid_argument") throw notItsOwn(id);
      if (code !== "session_exists") throw error;
      return null;
    });
  // The first try makes the session, unless an earlier one came that far.
  const fresh = begun_at === null ? await make() : null;
  if (fresh) return fresh;
  const row = await store.find(id);
  if (row && (row.id !== id || row.origin !== "batch")) throw notItsOwn(id);
  return (row ? null : await make()) ?? store.lease(id);
}

/** A row that was tampered with must not have its script run in the session of a person. */
function notItsOwn(id: string): RlmError {
  return new RlmError(
    "store_corrupt",
    `the session ${JSON.stringify(id)}, which one of its jobs names, is not that of a job`,
    {
      suggestion: "The rows of the run were changed: submit it again under another name.",
    },
  );
}

interface JobOpening {
  readonly leased: Lease;
  readonly stops: Pick<Stops, "park" | "suspend">;
  /** JSON. */
  readonly input: string;
  readonly lent: LentAgent | null;
  readonly spent: Spent;
}

/** The spending of a job's session, in all its tries. */
interface Spent {
  hear(totals: Totals): void;
  /** The facts of it that are kept with the job's end. */
  told(): { readonly [field: string]: Json };
}

function openSpent(): Spent {
  let totals: Totals = { execs: 0, sub_calls: 0, tokens: 0, cost_usd: 0 };
  return {
    hear(next) {
      totals = next;
    },
    told() {
      const { sub_calls, tokens, cost_usd, estimated, estimated_usd, reused } = totals;
      const spent = { sub_calls, tokens, cost_usd, ...withoutUndefined({ estimated, estimated_usd }) };
      if (!reused) return spent;
      return { ...spent, reused: reused.answers, saved: { tokens: reused.tokens, cost_usd: reused.cost_usd } };
    },
  };
}

/** Opens the session with the job's context, its input, and a share in the money of its run. */
async function openJobSession(
  { store, own, env, clock, random, troubles, onProgress, ...parts }: JobSessionsParts,
  { job, run }: JobOfRun,
  spec: RunSpec,
  { leased, stops, input, lent, spent }: JobOpening,
): Promise<Session> {
  const { jobs } = store;
  const suspension = openSuspension();
  suspension.begin(stops.park, parts.resendsDoubtful);
  const key = { run: job.run, n: job.n };
  const context = job.context === null ? null : await parts.contextOf(job.context);
  const money = openMoney({
    jobs,
    key,
    suspension,
    troubles,
    random,
    fence: leased.fence,
    onBudget: spec.on_budget,
    limitsCost: run.limits.nanodollars !== null,
    rates: openRates({ jobs, rates: spec.rates, account: { ...own, env } }),
    suspended: stops.suspend,
    sleep: (ms, signal) => sleep(clock, ms, signal),
  });
  return openSessionWith(
    {
      ...jobOptions(spec, own),
      ...lent?.options,
      onProgress: (progress) => {
        if (progress.kind === "calls") onProgress({ kind: "calls", key, progress });
        if (progress.kind === "waiting") onProgress({ kind: "waiting", key, wait: progress.wait });
        if (progress.kind === "held_back") {
          onProgress({ kind: "said", text: `job ${job.id}: ${heldBackText(progress.held_back)}` });
        }
      },
    },
    {
      store,
      clock,
      random,
      leased,
      suspension,
      models: onlyThese(parts.openModels(spec.model), own.models),
      job: input,
      onTotals: spent.hear,
      run: money,
      ...(lent ? { workflows: lent.workflows } : {}),
      root: { session: job.session, run: job.run, comesBack: true },
      answersOf: key,
      // The run drops the images of jobs that are done.
      leavesNoState: !spec.keep_sessions,
      // Other jobs of the run have had answers.
      ...(run.spent.tokens > 0 && spec.model !== null ? { answered: [spec.model] } : {}),
      ...(context ? contextParts(context) : {}),
    },
  );
}

function jobSession(
  store: Store,
  session: Session,
  spec: RunSpec,
  { job, isLent, spent }: { readonly job: JobRow; readonly isLent: boolean; readonly spent: Spent },
): JobSession {
  const endOf = (envelope: ExecEnvelope): JobEnd => {
    if (!envelope.success && envelope.resumable) return { kind: "unfinished", ...damageIn(envelope) };
    return {
      kind: "over",
      code: envelope.success ? null : envelope.error_code,
      result: envelope.success ? JSON.stringify(envelope.result_json) : null,
      told: { ...told(envelope), ...spent.told() },
    };
  };
  return {
    async run(signals) {
      const last = cellOf(await session.resume(signals));
      if (last && !(last.isRecorded && (await isToRunAgain(store, session.id, last.envelope, job)))) {
        return endOf(last.envelope);
      }
      return endOf(await session.exec(spec.script.source, { name: spec.script.name, workflow: isLent, ...signals }));
    },
    async discard() {
      await session.discard();
      return spent.told();
    },
    close: () => session.close(),
  };
}

function damageIn({ error_code: code, error_message: message, suggestion }: ExecFailure) {
  return code === "store_corrupt" ? { damage: { code, message, suggestion } } : {};
}

/**
 * The newest exec, if it is that of a script; else the context has been loaded, or nothing has been
 * done.
 */
function cellOf(resumed: Resumed | null): { readonly isRecorded: boolean; readonly envelope: ExecEnvelope } | null {
  if (resumed?.kind !== "cell" || !resumed.envelope || "answer" in resumed.envelope) return null;
  return { isRecorded: resumed.how === "replayed", envelope: resumed.envelope };
}

/** True if the recorded end is one that an earlier try has counted as an attempt already. */
async function isToRunAgain(
  store: Store,
  session: string,
  envelope: ExecEnvelope,
  { attempts }: JobRow,
): Promise<boolean> {
  if (envelope.success || !TRIED_AGAIN.has(envelope.error_code)) return false;
  const ends = (await recordsOf(store, session)).filter((record) => record.record === "rlm_complete");
  const lost = ends.filter(({ error_code }) => [...TRIED_AGAIN].some((code) => code === error_code));
  return lost.length <= attempts;
}

async function recordsOf(store: Store, session: string) {
  return (await store.journal(session)).map(({ record }) => readRecord(record));
}

/**
 * The most output that a job's row keeps, since it is read whole. The session's journal has the
 * rest.
 */
const OUTPUT_UNITS = 2 ** 20;

/** The facts of an end that are kept beside its result. */
function told(envelope: ExecEnvelope): { readonly [field: string]: Json } {
  const { stdout, execution_time_ms, resumed, session_id, warnings } = envelope;
  const output = stdout.length > OUTPUT_UNITS ? `${stdout.slice(0, OUTPUT_UNITS)}… (cut)` : stdout;
  const warned = warnings.length > 0 ? { warnings: [...warnings] } : {};
  const ended = { ...warned, output, ms: execution_time_ms, resumed, session: session_id };
  if (envelope.success) return ended;
  const { error_code, error_message, suggestion } = envelope;
  return { error_code, error: error_message, suggestion, ...ended };
}

/** The models that the worker's own flags reach. */
export function modelsBy(own: WorkerSession, env: NodeJS.ProcessEnv): (model: string | null) => Models {
  const { baseUrl, apiKeyEnv, price, leaveOut, also: models } = own;
  return (model) => openModels({ model: model ?? undefined, models, baseUrl, apiKeyEnv, price, leaveOut, env });
}

/** The contexts that jobs of this process have open: jobs with the same one share it in memory. */
export function openHeldContexts(store: Pick<Store, "context">): (key: string) => Promise<Context> {
  const held = new Map<string, WeakRef<Promise<Context>>>();
  return (key) => {
    const known = held.get(key)?.deref();
    if (known) return known;
    const opening = storedContext(store, key).then((context) => {
      // The context keeps the promise for as long as a session has it.
      kept.set(context, opening);
      return context;
    });
    for (const [other, ref] of held) if (!ref.deref()) held.delete(other);
    held.set(key, new WeakRef(opening));
    opening.catch(() => held.delete(key));
    return opening;
  };
}

const kept = new WeakMap<Context, Promise<Context>>();

/**
 * Options of the sessions of a run's jobs: what the run asks for, within what this process allows.
 * Nothing of a row widens it.
 */
export function jobOptions(spec: RunSpec, own: WorkerSession): HostedOptions {
  const { cwd, indexDir } = own;
  const budget = { max_time_ms: DEFAULT_JOB_MS, ...spec.budget };
  return {
    // A job sees its context alone, and reads no files.
    roots: [],
    waitForServerMs: LIMITS.jobServerWaitMs,
    ...optionsOfJob({ ...spec, budget }, own),
    ...withoutUndefined({ cwd, indexDir }),
    model: spec.model ?? undefined,
    onRestart: spec.on_restart,
    cache: spec.cache,
    keepSteps: spec.keep_steps,
  };
}

/** Models of which jobs may ask only these; null: all. */
export function onlyThese(models: Models, allowed: WorkerSession["models"]): Models {
  if (allowed === null) return models;
  const checked = (name: string | null): string | null => {
    const wanted = name ?? models.fallback;
    if (wanted === null || allowed.includes(wanted)) return name;
    throw new RlmError("no_model_configured", `this worker does not ask ${wanted}`, {
      suggestion: `Name one of ${allowed.join(", ")}.`,
    });
  };
  return {
    fallback: models.fallback,
    resolve: (name) => models.resolve(checked(name)),
    price: (name) => models.price(checked(name)),
    ...(models.unlisted ? { unlisted: models.unlisted } : {}),
  };
}
