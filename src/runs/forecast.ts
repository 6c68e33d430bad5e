import { isRecord } from "../platform/json.ts";
import type { JobRow, RunLimits, Store } from "../store/index.ts";
import type { WorkerSession } from "./api.ts";
import { toldOf } from "./failures.ts";
import type { AskedJobs } from "./inputs/read-jobs.ts";
import type { Spool } from "./inputs/spool.ts";
import { finalJobs } from "./results.ts";
import type { StoreRuns } from "./runs.ts";
import type { RunSpec } from "./spec.ts";
import { dryRuns, type Reusing, recordedFor, type SubmittedRun, spread } from "./submit.ts";

/** The likely cost of all inputs, by the first ones, which have really been run. */
export interface Forecast {
  /** Inputs. */
  readonly jobs: number;
  /** Jobs that have ended. */
  readonly from: number;
  readonly likely: Sum;
  /**
   * The cost if each job takes as much as the dearest took or could have taken, within the limits.
   */
  readonly at_most: Sum;
}

interface Sum {
  readonly cost_usd: number;
  readonly tokens: number;
}

/**
 * The number of first jobs that run with placeholders for answers, to estimate the most that they
 * could cost.
 */
const TRIED = 3;

interface ForecastAsked {
  readonly asked: AskedJobs & Reusing & { readonly limits: RunLimits };
  readonly spec: RunSpec;
  readonly spooled: Spool;
  readonly session: WorkerSession;
  readonly submitted: SubmittedRun;
  readonly runs: StoreRuns;
  readonly store: Store;
  readonly signal: AbortSignal;
}

/** null: none of the first jobs has ended. */
export async function forecastOf(wanted: ForecastAsked): Promise<Forecast | null> {
  const { asked, store, submitted } = wanted;
  const all = wanted.spooled.count;
  let from = 0;
  let spent = NOTHING;
  let worth = NOTHING;
  let dearest = NOTHING;
  for await (const job of finalJobs({ run: submitted.run.id, order: submitted.order, jobs: store.jobs })) {
    const one = { cost_usd: job.spent.nanodollars / 1e9, tokens: job.spent.tokens };
    const saved = savedBy(job);
    const whole = each((name) => one[name] + saved[name]);
    from += 1;
    spent = each((name) => spent[name] + one[name]);
    worth = each((name) => worth[name] + whole[name]);
    dearest = greater(dearest, whole);
  }
  if (from === 0) return null;
  const paid = 1 - (await shareReused(wanted, from));
  const likely = each((name) => spent[name] + (worth[name] / from) * (all - from) * paid);
  dearest = greater(dearest, await couldTake(wanted));
  const most = each((name) => dearest[name] * all);
  const bounded = lesser(most, limitsOf(asked.limits, wanted.session, all));
  return { jobs: all, from, likely: whole(likely), at_most: whole(greater(likely, bounded)) };
}

/**
 * The cost of the answers that a job took over from earlier runs. A row may be damaged or hostile.
 */
function savedBy(job: JobRow): Sum {
  const { saved } = toldOf(job);
  const { cost_usd, tokens } = isRecord(saved) ? saved : NOTHING;
  return { cost_usd: amountIn(cost_usd), tokens: amountIn(tokens) };
}

const amountIn = (value: unknown) => (typeof value === "number" && value > 0 ? value : 0);

/** The part of the calls of all further inputs whose answers are on record, from 0 to 1. */
async function shareReused(wanted: ForecastAsked, from: number): Promise<number> {
  const { asked, spooled, store, submitted } = wanted;
  const recorded = await recordedFor(asked, store, submitted.run.id);
  if (recorded === null) return 0;
  const { first: _first, ...own } = asked.own;
  const rest = { ...wanted, asked: { ...asked, own }, recorded, leftOut: () => {} };
  let reused = 0;
  let calls = 0;
  for await (const { dry } of dryRuns({ ...rest, chosen: spread(spooled.count, from) })) {
    reused += dry.estimate.reused ?? 0;
    calls += dry.estimate.sub_calls + (dry.estimate.reused ?? 0);
  }
  return calls === 0 ? 0 : reused / calls;
}

const NOTHING: Sum = { cost_usd: 0, tokens: 0 };

const each = (of: (name: keyof Sum) => number): Sum => ({ cost_usd: of("cost_usd"), tokens: of("tokens") });
const greater = (a: Sum, b: Sum) => each((name) => Math.max(a[name], b[name]));
const lesser = (a: Sum, b: Sum) => each((name) => Math.min(a[name], b[name]));
const whole = (sum: Sum): Sum => ({ cost_usd: sum.cost_usd, tokens: Math.round(sum.tokens) });

/**
 * The most that one of the first jobs could have taken, if each answer were as long as it may be.
 */
async function couldTake({ spec, session, runs, submitted }: ForecastAsked): Promise<Sum> {
  let most = NOTHING;
  let tried = 0;
  for await (const job of submitted.inputs()) {
    const { estimate } = await runs.dryRun(spec, job, session);
    const tokens = estimate.input_tokens + estimate.max_output_tokens;
    most = greater(most, { cost_usd: estimate.cost_usd, tokens });
    tried += 1;
    if (tried === TRIED) break;
  }
  return most;
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

/** The most that the limits of the run and of each job let all of them cost. */
function limitsOf(limits: RunLimits, { budget = {} }: WorkerSession, all: number): Sum {
  const ofRun = { cost_usd: (limits.nanodollars ?? NO_LIMIT) / 1e9, tokens: limits.tokens ?? NO_LIMIT };
  const cost_usd = (budget.max_cost_usd ?? NO_LIMIT) * all;
  return lesser(ofRun, { cost_usd, tokens: (budget.max_tokens ?? NO_LIMIT) * all });
}
