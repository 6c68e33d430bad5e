import { NO_USAGE, type RequestBudget, type Reservation } from "../../model/index.ts";
import type { BudgetLimits, Ledger, RemainingBudget } from "../journal/ledger.ts";
import { type BudgetLevel, openBudgetLevel, type Unrecorded } from "./budget-level.ts";

export type { Unrecorded } from "./budget-level.ts";

/**
 * The budget while calls are in flight: the ledger, and beside it what each open call holds and has spent. A call is
 * closed in the same step in which its record enters the ledger, so nothing counts twice or not at all.
 */
export interface Budget extends Pick<BudgetLevel, "held" | "close" | "follow"> {
  /** The budget that may still be spent, without what is held: at this level and at those above. */
  left(): RemainingBudget;
  /** The budget as one call sees it. A child of the call stands on it. */
  open(callId: string): SharedBudget;
}

/** The budget of a call, as a child that answers it sees it. */
export interface SharedBudget extends RequestBudget {
  /**
   * The same, as far as tokens and dollars of this level and of those above allow it. Sub-calls and time are left as they are:
   * a child gets its own when its call is made.
   */
  atMost(left: RemainingBudget): RemainingBudget;
  /** Resolves once a request in flight is over, of whatever level; null: there is none. */
  settled(): Promise<void> | null;
}

export interface BudgetStart {
  /** The budget of the call that the session answers; absent: a caller opened the session. */
  readonly above?: SharedBudget | undefined;
  readonly unrecorded?: readonly Unrecorded[];
}

/**
 * A request is held at the top level first, then at each one below it. All requests keep this order, so no two wait for each
 * other. If a level refuses, the levels above get back what they held.
 */
export function openBudget(limits: BudgetLimits, start: Ledger, { above, unrecorded = [] }: BudgetStart = {}): Budget {
  const level = openBudgetLevel(limits, start, unrecorded);
  const fromHere = (left: RemainingBudget) => lesser(left, level.left());

  async function reserve(callId: string, ...[estimate, signal]: Parameters<RequestBudget["reserve"]>) {
    const upper = above ? await above.reserve(estimate, signal) : NONE_ABOVE;
    if (!("settle" in upper)) return upper;
    const here = await level.hold(callId, estimate, signal);
    if ("settle" in here) return both(here, upper);
    upper.settle(NO_USAGE);
    return here;
  }

  return {
    left: () => above?.atMost(level.left()) ?? level.left(),
    held: level.held,
    open: (callId) => ({
      reserve: (estimate, signal) => reserve(callId, estimate, signal),
      atMost: (left) => above?.atMost(fromHere(left)) ?? fromHere(left),
      // A request of any level is held at the top.
      settled: () => (above ? above.settled() : level.settled()),
    }),
    close: level.close,
    follow: level.follow,
  };
}

const NONE_ABOVE: Reservation = { settle() {} };

function both(here: Reservation, upper: Reservation): Reservation {
  return {
    settle(usage) {
      here.settle(usage);
      upper.settle(usage);
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
