import { createHash } from "node:crypto";
import { hasCode, LIMITS } from "../../runtime/index.ts";
import { failure, keyVariable, type Reservation, type SubCallError, tokensOf } from "../models/index.ts";
import { isAgentModel } from "../platform/agent-commands.ts";
import { nanodollars, type RunPart, type Suspension, type SuspensionReason } from "../session/index.ts";
import type { Amount, Hold, JobKey, Jobs, Rate } from "../store/index.ts";
import type { WorkerSession } from "./api.ts";
import type { Troubles } from "./failures.ts";
import type { ProviderRate } from "./spec.ts";

interface MoneyParts {
  readonly jobs: Pick<Jobs, "reserve" | "give">;
  readonly key: JobKey;
  readonly fence: number;
  readonly onBudget: "park" | "fail";
  readonly limitsCost: boolean;
  readonly rates: Rates;
  readonly suspension: Suspension;
  readonly troubles: Pick<Troubles, "answered" | "isOwn" | "mark">;
  /** Aborted when the job is suspended: requests that are out then may have been charged. */
  readonly suspended: AbortSignal;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Resolves after `ms`, or as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

interface Counted {
  readonly held: Hold;
  readonly spent: Omit<Amount, "sub_calls">;
  /** `provider/id`; empty: not known. */
  readonly model: string;
  /** Settles when the run has what the request did not take. */
  readonly given: Promise<void>;
}

type Call = Parameters<RunPart["reserve"]>[0];

/** The first wait for money that others hold, and the longest, ms. */
const FIRST_WAIT_MS = 250;
/**
 * A job by batch whose run has no money free asks again after this, ms, if nothing has offered it
 * before.
 */
const HELD_MS = 300_000;
const MOST_WAIT_MS = 4000;
/** A job whose provider was too busy for a call and its retries asks again after this, ms. */
const BUSY_MS = 60_000;

/** Takes money of a job's run, and places of the providers' rates. */
export function openMoney(parts: MoneyParts): RunPart {
  const { key, suspension, rates } = parts;
  const { hold, give, place } = openHolds(parts);
  /**
   * Calls that are held as a sub-call, by the hold of their first request, and what that has spent.
   */
  const counted = new Map<string, Counted>();
  /** Marks of the newest requests of calls. */
  const sent = new Map<string, number>();

  function reservation(call: Call, held: Hold, model: string | undefined): Reservation {
    let isFree = false;
    return {
      settle(usage) {
        if (isFree || parts.suspended.aborted) return;
        const spent = { nanodollars: nanodollars(usage.cost_usd), tokens: tokensOf(usage) };
        const given = give(held, { ...spent, sub_calls: held.amount.sub_calls });
        const first = counted.get(call.id);
        if (first?.held === held) counted.set(call.id, { ...first, spent, given });
      },
      async limited(retryAfterMs, error) {
        if (model === undefined || retryAfterMs === null) return;
        await rates.hush(model, retryAfterMs).catch(() => {});
        if (retryAfterMs <= LIMITS.rateWaitMs) return;
        isFree = true;
        await give(held, NOTHING);
        await suspension.wait(call.id, { why: "provider", afterMs: retryAfterMs, error }, call.ended);
      },
    };
  }

  return {
    limitsCost: parts.limitsCost,
    async reserve(call, { input_tokens, max_tokens, cost_usd, model }, signal) {
      const tokens = input_tokens + max_tokens;
      const sub_calls = counted.has(call.id) ? 0 : call.counts;
      const held = await hold(call, { nanodollars: nanodollars(cost_usd), tokens, sub_calls }, signal);
      if ("code" in held) return held;
      if (!counted.has(call.id))
        counted.set(call.id, { held, spent: NOTHING, model: model ?? "", given: Promise.resolve() });
      // A batch has no rate.
      const isRated = model !== undefined && call.request === undefined;
      const refusal = isRated ? await place(call, model, tokens, signal) : null;
      if (refusal) {
        await give(held, NOTHING);
        return refusal;
      }
      suspension.sent(call.id);
      sent.set(call.id, parts.troubles.mark());
      return reservation(call, held, model);
    },
    async answered(call, trouble) {
      const own = counted.get(call.id);
      const { model = "" } = own ?? {};
      if (trouble === null) return parts.troubles.answered(key.run, model, sent.get(call.id) ?? 0);
      // Answers to other calls do not show that the provider has room for this one.
      const isBusy = trouble.code === "rate_limited" && !isAgentModel(model);
      if (!isBusy && parts.troubles.isOwn(key, trouble.code)) return;
      // The call is made again, and counts then.
      await own?.given;
      if (own) await give(own.held, { ...own.spent, sub_calls: 0 });
      const parked: SuspensionReason = isBusy
        ? { why: "provider", afterMs: BUSY_MS, error: trouble }
        : { why: "trouble", error: trouble, model };
      await suspension.wait(call.id, parked, call.ended);
    },
    async count(call, signal) {
      const held = await hold(call, { ...NOTHING, sub_calls: 1 }, signal);
      return "code" in held ? held : null;
    },
    settles: (call, spent) => ({ ...key, call, spent }),
  };
}

/**
 * Waits for money and for places of rates. A call that cannot have them is parked, or ends with the
 * failure.
 */
function openHolds(parts: MoneyParts) {
  const { jobs, key, fence, suspension, rates } = parts;
  let attempts = 0;

  async function waitSuspended(call: Call, parked: SuspensionReason): Promise<SubCallError> {
    await suspension.wait(call.id, parked, call.ended);
    return CANCELLED;
  }

  return {
    /** Holds the amount in the run. */
    async hold(call: Call, amount: Amount, signal: AbortSignal): Promise<Hold | SubCallError> {
      // The hold of a request by batch is found again by the next try, which takes it over.
      const attempt = call.request === undefined ? attempts++ : -1 - call.request;
      const wanted: Hold = { ...key, call: call.id, attempt, fence, amount };
      for (let ms = FIRST_WAIT_MS; ; ms = Math.min(2 * ms, MOST_WAIT_MS)) {
        const reason = suspension.reason();
        if (reason) return waitSuspended(call, reason);
        const held = await jobs.reserve(wanted).catch(unanswered);
        if (held === "held") return wanted;
        if (typeof held === "object") return waitSuspended(call, held);
        if (held !== "wait")
          return parts.onBudget === "fail" ? SPENT : waitSuspended(call, { why: "budget", limit: held });
        // Those who hold it may wait for a provider for hours.
        if (call.request !== undefined) return waitSuspended(call, { why: "held", afterMs: HELD_MS });
        await parts.sleep(ms * (0.5 + parts.random() / 2), signal);
        if (signal.aborted) return CANCELLED;
      }
    },
    /** The record of the call frees the whole hold, so the run does not depend on this. */
    give: (held: Hold, spent: Amount) => jobs.give(held, spent).catch(() => {}),
    /** Waits for the place of a request in the rate. */
    async place(call: Call, model: string, tokens: number, signal: AbortSignal): Promise<SubCallError | null> {
      const ms = await rates.turn(model, tokens).catch(unanswered);
      if (typeof ms === "object") return waitSuspended(call, ms);
      if (ms > LIMITS.rateWaitMs) return waitSuspended(call, { why: "provider", afterMs: ms });
      if (ms > 0) await parts.sleep(ms, signal);
      return signal.aborted ? CANCELLED : null;
    },
  };
}

const NOTHING: Amount = { nanodollars: 0, tokens: 0, sub_calls: 0 };

/** Why a call is parked that the store did not answer. */
function unanswered(error: unknown): SuspensionReason {
  const isDamaged = hasCode(error, "store_corrupt");
  return isDamaged ? { why: "damaged", error } : { why: "store_failed", afterMs: null };
}

const CANCELLED = failure("cancelled", "the call was cancelled");
const SPENT = failure("budget_exceeded", "the run's limit has no room for the request", {
  suggestion: "Finish with what there is; the run's limits are those of all its jobs together.",
});

/** Rates of a run's providers, which all workers with the same key share. */
interface Rates {
  /**
   * Takes a request's turn. Returns the time to wait for it, ms; 0 for a provider without a
   * rate.
   */
  turn(model: string, tokens: number): Promise<number>;
  /** Notes that the provider said to wait for `ms`. */
  hush(model: string, ms: number): Promise<void>;
}

/** Facts that tell one account at a provider from another. */
type Account = Pick<WorkerSession, "baseUrl" | "apiKeyEnv"> & { readonly env: NodeJS.ProcessEnv };

interface RatesParts {
  readonly jobs: Pick<Jobs, "slot" | "hush">;
  readonly rates: readonly ProviderRate[];
  readonly account: Account;
}

export function openRates({ jobs, rates, account }: RatesParts): Rates {
  const of = (model: string) => {
    const provider = model.slice(0, model.indexOf("/"));
    const rated = rates.filter((rate) => rate.provider === provider);
    return rated.map(({ of, perMinute }) => ({ of, rate: { key: rateKey(provider, of, account), perMinute } }));
  };
  return {
    async turn(model, tokens) {
      const waits = of(model).map(({ of, rate }) => jobs.slot(rate, of === "tokens" ? tokens : 1));
      return Math.max(0, ...(await Promise.all(waits)));
    },
    async hush(model, ms) {
      await Promise.all(of(model).map(({ rate }) => jobs.hush(rate, ms)));
    },
  };
}

/** Provider, base URL and the beginning of a hash of the key: no key can be found from it. */
function rateKey(provider: string, of: ProviderRate["of"], { baseUrl, apiKeyEnv, env }: Account): Rate["key"] {
  const key = env[apiKeyEnv ?? keyVariable(`${provider}/`) ?? ""] ?? "";
  const digest = createHash("sha256").update(key).digest("hex").slice(0, 8);
  return [provider, baseUrl ?? "", digest, of].join(" ");
}
