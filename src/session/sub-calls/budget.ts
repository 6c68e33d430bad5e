import {
  failure,
  NO_USAGE,
  type RequestBudget,
  type RequestEstimate,
  type Reservation,
  type SubCallError,
  tokensOf,
} from "../../model/index.ts";
import { type BudgetLimits, type Ledger, type RemainingBudget, remaining } from "../journal/ledger.ts";

/**
 * The budget while calls are in flight: the ledger, and beside it what each open call holds and has spent. A call is
 * closed in the same step in which its record enters the ledger, so nothing counts twice or not at all.
 */
export interface Budget {
  /** What may still be spent, without what is held: at this level and above. */
  left(): RemainingBudget;
  /** Held by requests in flight. */
  held(): { readonly tokens: number; readonly cost_usd: number };
  /** The budget as one call sees it. A child of the call stands on it. */
  open(callId: string): SharedBudget;
  /** The call's record is committed: `ledger` holds what it has spent. */
  close(callId: string, ledger: Ledger): void;
  /** The ledger after other records. */
  follow(ledger: Ledger): void;
}

/** The budget of a call, as the levels below it see it. */
export interface SharedBudget extends RequestBudget {
  /** The same, as far as tokens and dollars of this level and of those above allow it. Sub-calls are allotted, and time is clamped. */
  atMost(left: RemainingBudget): RemainingBudget;
}

/** What a call that is still open has spent in an earlier process: the ledger of its child. */
export interface Unrecorded extends Amount {
  readonly callId: string;
}

export interface BudgetStart {
  /** The budget of the call that this level answers; absent: this level is the first. */
  readonly above?: SharedBudget | undefined;
  readonly unrecorded?: readonly Unrecorded[];
}

interface Amount {
  readonly tokens: number;
  readonly cost_usd: number;
}

const NOTHING: Amount = { tokens: 0, cost_usd: 0 };
const plus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, cost_usd: a.cost_usd + b.cost_usd });
const minus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens - b.tokens, cost_usd: a.cost_usd - b.cost_usd });

/**
 * A request is held at the top level first, then at each one below, in this order: of two that wait for each other's level
 * there is always one that waits for nothing above. What a level refuses, those above are given back.
 */
export function openBudget(
  limits: BudgetLimits,
  start: Ledger,
  { above, unrecorded: before }: BudgetStart = {},
): Budget {
  let ledger = start;
  /** Spent by calls whose record is not yet in the ledger. */
  const unrecorded = new Map<string, Amount>(before?.map(({ callId, ...amount }) => [callId, amount]));
  let held = NOTHING;
  /** Requests that hold something. One may hold no tokens. */
  let holders = 0;
  let waiting: (() => boolean)[] = [];

  /** At this level alone. */
  function own(): RemainingBudget {
    const open = [...unrecorded.values()].reduce(plus, held);
    return remaining(
      { ...ledger, tokens: ledger.tokens + open.tokens, cost_usd: ledger.cost_usd + open.cost_usd },
      limits,
    );
  }

  function fits(amount: Amount): boolean {
    const { remaining_tokens, remaining_cost_usd = Number.POSITIVE_INFINITY } = own();
    return amount.tokens <= remaining_tokens && amount.cost_usd <= remaining_cost_usd;
  }

  /** The request that has waited longest is served first. The others wait on. */
  function serve(): void {
    while (waiting[0]?.()) waiting = waiting.slice(1);
  }

  function hold(callId: string, amount: Amount): Reservation {
    held = plus(held, amount);
    holders++;
    return {
      settle(usage) {
        holders--;
        held = holders === 0 ? NOTHING : minus(held, amount);
        const spent = { tokens: tokensOf(usage), cost_usd: usage.cost_usd };
        unrecorded.set(callId, plus(unrecorded.get(callId) ?? NOTHING, spent));
        serve();
      },
    };
  }

  /** Holds the amount at this level. */
  function holdHere(callId: string, amount: Amount, signal: AbortSignal): Promise<Reservation | SubCallError> {
    if (signal.aborted) return Promise.resolve(CANCELLED);
    return new Promise((resolve) => {
      const attempt = (): boolean => {
        if (fits(amount)) resolve(hold(callId, amount));
        else if (holders === 0) resolve(exceeded(amount, own()));
        else return false;
        return true;
      };
      if (waiting.length === 0 && attempt()) return;
      waiting.push(attempt);
      signal.addEventListener(
        "abort",
        () => {
          if (waiting.includes(attempt)) waiting = waiting.filter((each) => each !== attempt);
          resolve(CANCELLED);
          serve();
        },
        { once: true },
      );
    });
  }

  async function reserve(
    callId: string,
    estimate: RequestEstimate,
    signal: AbortSignal,
  ): Promise<Reservation | SubCallError> {
    const upper = above ? await above.reserve(estimate, signal) : undefined;
    if (upper && !("settle" in upper)) return upper;
    const amount = { tokens: estimate.input_tokens + estimate.max_tokens, cost_usd: estimate.cost_usd };
    const here = await holdHere(callId, amount, signal);
    if (!("settle" in here)) {
      upper?.settle(NO_USAGE);
      return here;
    }
    return {
      settle(usage) {
        here.settle(usage);
        upper?.settle(usage);
      },
    };
  }

  const atMost = (left: RemainingBudget) => lesser(left, own());

  return {
    left: () => above?.atMost(own()) ?? own(),
    held: () => held,
    open: (callId) => ({
      reserve: (estimate, signal) => reserve(callId, estimate, signal),
      atMost: (left) => above?.atMost(atMost(left)) ?? atMost(left),
    }),
    close(callId, after) {
      unrecorded.delete(callId);
      ledger = after;
      serve();
    },
    follow(after) {
      ledger = after;
      serve();
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

const CANCELLED = failure("cancelled", "the call was cancelled");

function exceeded(amount: Amount, left: RemainingBudget): SubCallError {
  const dollars = (value: number) => `$${value.toFixed(4)}`;
  const why =
    amount.tokens > left.remaining_tokens
      ? `about ${amount.tokens} tokens (max_tokens included), ${left.remaining_tokens} are left`
      : `about ${dollars(amount.cost_usd)}, ${dollars(left.remaining_cost_usd ?? 0)} are left`;
  return failure("budget_exceeded", `the request could take ${why}`, {
    suggestion: "Ask with a smaller max_tokens or a shorter prompt, or summarise with what there is.",
  });
}
