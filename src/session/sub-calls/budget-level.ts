import { remedy } from "../../../runtime/index.ts";
import {
  failure,
  type RequestEstimate,
  type Reservation,
  type SubCallError,
  tokensOf,
  type Usage,
} from "../../model/index.ts";
import { whenAborted } from "../../platform/signals.ts";
import { type BudgetLimits, type Ledger, type RemainingBudget, remaining } from "../journal/ledger.ts";

/** Tokens and dollars. */
export interface Amount {
  readonly tokens: number;
  readonly cost_usd: number;
}

/** The spending in an earlier process of a call that is still open: the ledger of its child. */
export interface Unrecorded extends Amount {
  readonly callId: string;
}

/** The budget of one session while its calls are in flight, without those above it. */
export interface BudgetLevel {
  /** The budget that may still be spent, without what is held. */
  left(): RemainingBudget;
  /** Held by requests in flight. */
  held(): Amount;
  /** Resolves once one of them is over; null: there is none. */
  settled(): Promise<void> | null;
  /** Waits for requests in flight until the estimate fits; who has waited longest is served first. */
  hold(callId: string, estimate: RequestEstimate, signal: AbortSignal): Promise<Reservation | SubCallError>;
  /** The call's record is committed: `ledger` holds what it has spent. */
  close(callId: string, ledger: Ledger): void;
  /** The ledger after other records. */
  follow(ledger: Ledger): void;
}

const NOTHING: Amount = { tokens: 0, cost_usd: 0 };
const plus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens + b.tokens, cost_usd: a.cost_usd + b.cost_usd });
const minus = (a: Amount, b: Amount): Amount => ({ tokens: a.tokens - b.tokens, cost_usd: a.cost_usd - b.cost_usd });

/** @param before what calls that are open have spent in earlier processes */
export function openBudgetLevel(limits: BudgetLimits, start: Ledger, before: readonly Unrecorded[]): BudgetLevel {
  let ledger = start;
  /** Spent by calls whose record is not yet in the ledger. */
  const unrecorded = new Map<string, Amount>(before.map(({ callId, ...amount }) => [callId, amount]));
  let held = NOTHING;
  /** Requests that hold something: one may hold no tokens. */
  let holders = 0;
  const queue = openQueue();
  let next = Promise.withResolvers<void>();

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

  function taken(callId: string, amount: Amount): Reservation {
    held = plus(held, amount);
    holders++;
    return {
      settle(usage: Usage) {
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

  function whenItFits(callId: string, amount: Amount, signal: AbortSignal): Promise<Reservation | SubCallError> {
    if (signal.aborted) return Promise.resolve(CANCELLED);
    return new Promise((resolve) => {
      const attempt = (): boolean => {
        if (fits(amount)) resolve(taken(callId, amount));
        else if (holders === 0) resolve(exceeded(amount, left()));
        else return false;
        return true;
      };
      queue.add(attempt, signal, () => resolve(CANCELLED));
    });
  }

  function follow(after: Ledger): void {
    ledger = after;
    queue.serve();
  }

  return {
    left,
    held: () => held,
    settled: () => (holders === 0 ? null : next.promise),
    hold(callId, { input_tokens, max_tokens, cost_usd }, signal) {
      return whenItFits(callId, { tokens: input_tokens + max_tokens, cost_usd }, signal);
    },
    close(callId, after) {
      unrecorded.delete(callId);
      follow(after);
    },
    follow,
  };
}

/** Attempts in their order. The first is made again and again until it succeeds; the others wait for it. */
function openQueue() {
  const waiting = new Set<() => boolean>();

  function serve(): void {
    for (const attempt of waiting) {
      if (!attempt()) return;
      waiting.delete(attempt);
    }
  }

  return {
    serve,
    add(attempt: () => boolean, signal: AbortSignal, aborted: () => void): void {
      if (waiting.size === 0 && attempt()) return;
      const giveUp = () => {
        if (!waiting.delete(own)) return;
        aborted();
        serve();
      };
      const callOff = whenAborted(signal, giveUp);
      const own = () => {
        const isServed = attempt();
        if (isServed) callOff();
        return isServed;
      };
      waiting.add(own);
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
    suggestion: `Ask with a smaller max_tokens or a shorter prompt, summarise with what there is, or ${remedy("moreBudget")}.`,
  });
}
