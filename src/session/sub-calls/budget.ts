import { remedy } from "../../../runtime/index.ts";
import {
  failure,
  NO_USAGE,
  type RequestBudget,
  type RequestEstimate,
  type Reservation,
  type SubCallError,
  tokensOf,
} from "../../models/index.ts";
import { whenAborted } from "../../platform/signals.ts";
import type { RemainingBudget } from "../journal/ledger.ts";
import {
  type Amount,
  type BudgetRules,
  leftOfBoth,
  limitsNow,
  minus,
  NOTHING,
  plus,
  type Spendings,
} from "../journal/ledger.ts";
import { type HeldBack, heldBackBy } from "./held-back.ts";

/** The spending in an earlier process of a call that is still open: the ledger of its child. */
export interface Unrecorded extends Amount {
  readonly callId: string;
}

/**
 * The budget while calls are in flight: the ledgers, and beside them what each open call holds and has spent. A call is
 * closed in the same step in which its record enters the ledger, so nothing counts twice or not at all.
 */
export interface Budget extends Pick<Level, "held" | "heldBack" | "close" | "follow"> {
  /** Returns the budget that may still be spent, without what is held: at this level and at those above. */
  left(): RemainingBudget;
  /** Opens the budget as one call sees it. A child of the call stands on it. */
  open(callId: string): SharedBudget;
}

/** The budget of a call, as a child that answers it sees it. */
export interface SharedBudget extends RequestBudget {
  /**
   * The same, as far as tokens and dollars of this level and of those above allow it. Sub-calls and time are left as they are:
   * a child gets its own when its call is made.
   */
  atMost(left: RemainingBudget): RemainingBudget;
  /** Resolves once a request in flight has ended, of whatever level; null: there is none. */
  settled(): Promise<void> | null;
}

interface BudgetStart {
  /** The budget of the call that the session answers; absent: a caller opened the session. */
  readonly above?: SharedBudget | undefined;
  readonly unrecorded?: readonly Unrecorded[];
}

/**
 * A request is held at the top level first, then at each one below it. All requests keep this order, so no two wait for each
 * other. If a level refuses, the levels above get back what they held.
 */
export function openBudget(rules: BudgetRules, start: Spendings, { above, unrecorded = [] }: BudgetStart = {}): Budget {
  const level = openLevel(rules, start, unrecorded);
  const { held, heldBack, close, follow } = level;
  const fromHere = (left: RemainingBudget) => lesser(left, level.left());

  async function reserve(callId: string, ...[estimate, signal]: Parameters<RequestBudget["reserve"]>) {
    const here = () => level.hold(callId, estimate, signal);
    return above ? heldByBoth(await above.reserve(estimate, signal), here) : here();
  }

  return {
    left: () => above?.atMost(level.left()) ?? level.left(),
    open: (callId) => ({
      reserve: (estimate, signal) => reserve(callId, estimate, signal),
      atMost: (left) => above?.atMost(fromHere(left)) ?? fromHere(left),
      // A request of any level is held at the top.
      settled: () => (above ? above.settled() : level.settled()),
    }),
    held,
    heldBack,
    close,
    follow,
  };
}

/** Holds a request a second time. If that is refused, what the first has held is given back. */
export async function heldByBoth(
  first: Reservation | SubCallError,
  second: () => Promise<Reservation | SubCallError>,
): Promise<Reservation | SubCallError> {
  if (!("settle" in first)) return first;
  const held = await second();
  if (!("settle" in held)) {
    first.settle(NO_USAGE);
    return held;
  }
  return {
    ...held,
    settle(usage) {
      held.settle(usage);
      first.settle(usage);
    },
  };
}

/** The lesser of what two levels have left of tokens and dollars; the rest is that of the lower level. */
function lesser(lower: RemainingBudget, upper: RemainingBudget): RemainingBudget {
  const dollars = [lower.remaining_cost_usd, upper.remaining_cost_usd].filter((left) => left !== undefined);
  return {
    ...lower,
    remaining_tokens: Math.min(lower.remaining_tokens, upper.remaining_tokens),
    ...(dollars.length === 0 ? {} : { remaining_cost_usd: Math.min(...dollars) }),
  };
}

/** The budget of one session while its calls are in flight, without those above it. */
interface Level {
  left(): RemainingBudget;
  /** Returns what requests in flight hold. */
  held(): Amount;
  /** Returns the requests that waited for those in flight until they were given up; `null` if none did. */
  heldBack(): HeldBack | null;
  /** Resolves once a request in flight has ended; `null` if there is none. */
  settled(): Promise<void> | null;
  /** Waits for requests in flight until the estimate fits; who has waited longest is served first. */
  hold(callId: string, estimate: RequestEstimate, signal: AbortSignal): Promise<Reservation | SubCallError>;
  /** Closes a call whose record is committed: `after` holds what it has spent. */
  close(callId: string, after: Spendings): void;
  /** Takes over the ledgers after other records. */
  follow(after: Spendings): void;
}

/** @param before what calls that are open have spent in earlier processes */
function openLevel(rules: BudgetRules, start: Spendings, before: readonly Unrecorded[]): Level {
  let spendings = start;
  /** Spent by calls whose record is not yet in the ledger. */
  const unrecorded = new Map<string, Amount>(before.map(({ callId, ...amount }) => [callId, amount]));
  let held = NOTHING;
  /** Requests that hold something: one may hold no tokens. */
  let holders = 0;
  /** The requests that waited for others until they were given up; and how many held what, when the newest attempt failed. */
  const unserved: Amount[] = [];
  let holding = { by: 0, left: NOTHING };
  const queue = openQueue();
  let next = Promise.withResolvers<void>();

  function left(): RemainingBudget {
    return leftOfBoth(rules, spendings, [...unrecorded.values()].reduce(plus, held));
  }

  function take(callId: string, amount: Amount): Reservation {
    held = plus(held, amount);
    holders++;
    return {
      settle(usage) {
        holders--;
        held = holders === 0 ? NOTHING : minus(held, amount);
        const spent = { tokens: tokensOf(usage), cost_usd: usage.cost_usd };
        unrecorded.set(callId, plus(unrecorded.get(callId) ?? NOTHING, spent));
        queue.serve();
        next.resolve();
        next = Promise.withResolvers();
      },
    };
  }

  function follow(after: Spendings): void {
    spendings = after;
    queue.serve();
  }

  return {
    left,
    held: () => held,
    heldBack() {
      const { by } = holding;
      if (unserved.length === 0 || by === 0) return null;
      const limits = limitsNow(rules, spendings);
      return heldBackBy({ calls: unserved.length, by }, limits, holding.left, unserved.reduce(plus));
    },
    settled: () => (holders === 0 ? null : next.promise),
    async hold(callId, { input_tokens, max_tokens, cost_usd }, signal) {
      const amount = { tokens: input_tokens + max_tokens, cost_usd };
      const attempt = () => {
        const { remaining_tokens, remaining_cost_usd = Number.POSITIVE_INFINITY } = left();
        const isPaid = cost_usd <= remaining_cost_usd + ROUNDING_USD;
        if (amount.tokens <= remaining_tokens && isPaid) return take(callId, amount);
        if (holders === 0) return exceeded(amount, left());
        holding = { by: holders, left: { tokens: remaining_tokens, cost_usd: remaining_cost_usd } };
        return undefined;
      };
      const answer = await queue.wait(attempt, signal);
      if (!answer) unserved.push(amount);
      return answer ?? failure("cancelled", "the call was cancelled");
    },
    close(callId, after) {
      unrecorded.delete(callId);
      follow(after);
    },
    follow,
  };
}

/** Sums of dollars in floating point are a little too small or too large. */
const ROUNDING_USD = 1e-9;

function exceeded(amount: Amount, left: RemainingBudget): SubCallError {
  const dollars = (value: number) => `$${value.toFixed(4)}`;
  const isOfTokens = amount.tokens > left.remaining_tokens;
  const why = isOfTokens
    ? `about ${amount.tokens} tokens (max_tokens included), ${left.remaining_tokens} are left`
    : `about ${dollars(amount.cost_usd)}, ${dollars(left.remaining_cost_usd ?? 0)} are left`;
  return failure("budget_exceeded", `the request could take ${why}`, {
    limit: isOfTokens ? "tokens" : "cost_usd",
    suggestion: `Ask with a smaller max_tokens or a shorter prompt, summarise with what there is, or ${remedy("moreBudget")}.`,
  });
}

/** Opens a queue of attempts. The first is made again and again until it succeeds; the others wait for it. */
export function openQueue() {
  const waiting = new Set<() => boolean>();

  /** Something has changed, so that attempts may succeed. */
  function serve(): void {
    for (const isServed of waiting) {
      if (!isServed()) return;
      waiting.delete(isServed);
    }
  }

  /** Resolves with the answer of an attempt that has one; with undefined if the signal aborts first. */
  function wait<T>(attempt: () => T | undefined, signal: AbortSignal): Promise<T | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const callOff = whenAborted(signal, () => {
      waiting.delete(isServed);
      resolve(undefined);
      serve();
    });
    const isServed = () => {
      const answer = attempt();
      if (answer === undefined) return false;
      callOff();
      resolve(answer);
      return true;
    };
    waiting.add(isServed);
    if (waiting.size === 1) serve();
    return promise;
  }

  return { serve, wait };
}
