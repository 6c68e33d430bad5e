import {
  failure,
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
  /** What may still be spent, without what is held. */
  left(): RemainingBudget;
  /** Held by requests in flight. */
  held(): { readonly tokens: number; readonly cost_usd: number };
  /** The budget as one call sees it. */
  open(callId: string): RequestBudget;
  /** The call's record is committed: `ledger` holds what it has spent. */
  close(callId: string, ledger: Ledger): void;
  /** The ledger after other records. */
  follow(ledger: Ledger): void;
}

interface Amount {
  readonly tokens: number;
  readonly cost_usd: number;
}

const NOTHING: Amount = { tokens: 0, cost_usd: 0 };
const plus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, cost_usd: a.cost_usd + b.cost_usd });
const minus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens - b.tokens, cost_usd: a.cost_usd - b.cost_usd });

export function openBudget(limits: BudgetLimits, start: Ledger): Budget {
  let ledger = start;
  /** Spent by calls whose record is not yet in the ledger. */
  const unrecorded = new Map<string, Amount>();
  let held = NOTHING;
  let waiting: (() => boolean)[] = [];

  function left(): RemainingBudget {
    const open = [...unrecorded.values()].reduce(plus, held);
    return remaining(
      { ...ledger, tokens: ledger.tokens + open.tokens, cost_usd: ledger.cost_usd + open.cost_usd },
      limits,
    );
  }

  function fits(amount: Amount): boolean {
    const { remaining_tokens, remaining_cost_usd = Number.POSITIVE_INFINITY } = left();
    return amount.tokens <= remaining_tokens && amount.cost_usd <= remaining_cost_usd;
  }

  /** The request that has waited longest is served first. The others wait on. */
  function serve(): void {
    while (waiting[0]?.()) waiting = waiting.slice(1);
  }

  function hold(callId: string, amount: Amount): Reservation {
    held = plus(held, amount);
    return {
      settle(usage) {
        held = minus(held, amount);
        const spent = { tokens: tokensOf(usage), cost_usd: usage.cost_usd };
        unrecorded.set(callId, plus(unrecorded.get(callId) ?? NOTHING, spent));
        serve();
      },
    };
  }

  function reserve(
    callId: string,
    estimate: RequestEstimate,
    signal: AbortSignal,
  ): Promise<Reservation | SubCallError> {
    const amount = { tokens: estimate.input_tokens + estimate.max_tokens, cost_usd: estimate.cost_usd };
    return new Promise((resolve) => {
      const attempt = (): boolean => {
        if (signal.aborted) resolve(CANCELLED);
        else if (fits(amount)) resolve(hold(callId, amount));
        else if (held.tokens === 0) resolve(exceeded(amount, left()));
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

  return {
    left,
    held: () => held,
    open: (callId) => ({ reserve: (estimate, signal) => reserve(callId, estimate, signal) }),
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
