import { type RequestBudget, type Reservation, type SubCallError, tokensOf } from "../../models/index.ts";
import type { Settled } from "../../store/index.ts";
import { ROOT_CALL, subCallsOf } from "../journal/ledger.ts";
import type { ToolResult } from "../journal/records.ts";
import type { Suspension } from "../suspension.ts";
import { heldByBoth } from "./budget.ts";

/**
 * The run's part in the session of one of its jobs, and in all sessions below it: the run's money and the providers' rates. A
 * request comes to it after the local budget, so nothing is held in the run for a request that its session refuses.
 */
export interface RunPart {
  /** Models without a known price cannot be asked: the run's dollars are limited. */
  readonly limitsCost: boolean;
  /**
   * Holds what a request may take, and waits until its provider's rate allows it. If the run has no room or the provider none for
   * a long time, it may wait until the call ends: the job is then suspended, and the call is made again later.
   */
  reserve(call: RunCall, ...request: Parameters<RequestBudget["reserve"]>): Promise<Reservation | SubCallError>;
  /** As {@link RequestBudget.answered}: the job may be suspended, and its call made again later. */
  answered(call: RunCall, trouble: SubCallError | null): Promise<void>;
  /** Holds the sub-call that a call with a context of its own counts as. null: it is held. */
  count(call: RunCall, signal: AbortSignal): Promise<SubCallError | null>;
  /** The settlement that the commit of a call's record makes. */
  settles(call: string, spent: Settled["spent"]): Settled;
}

interface RunCall {
  /** Unique among the sessions of the job. */
  readonly id: string;
  /** 0 for a turn of a root model. */
  readonly counts: 0 | 1;
  /** Aborts when the call is to end, whatever its own time. */
  readonly ended: AbortSignal;
  /** The number of the request in its call, if it goes by a batch. */
  readonly request?: number;
  /** Waits without taking of the call's own time. Absent: it has none. */
  paused?<T>(work: () => Promise<T>): Promise<T>;
}

/** A budget of which each request also takes from the run. What the levels hold is given back in reverse order. */
export function withRun(
  budget: RequestBudget,
  { run, suspension }: { readonly run: RunPart | undefined; readonly suspension: Pick<Suspension, "idle"> },
  { isPosted = false, ...call }: RunCall & { readonly isPosted?: boolean },
): RequestBudget {
  let requests = 0;
  // Calls that wait for a batch may hold what is missing.
  const local = (...asked: Parameters<RequestBudget["reserve"]>) => suspension.idle(() => budget.reserve(...asked));
  if (!run) return { ...budget, reserve: local };
  return {
    answered: (trouble) => run.answered(call, trouble),
    async reserve(estimate, signal) {
      return heldByBoth(await local(estimate, signal), () => {
        const numbered = isPosted ? { ...call, request: requests++ } : call;
        const reserve = () => run.reserve(numbered, estimate, signal);
        return call.paused?.(reserve) ?? reserve();
      });
    },
  };
}

/**
 * The spending of a call by its record, as its run counts it. That of a child is settled by the child's own records: the call
 * itself is one sub-call.
 */
export function spentOn(result: ToolResult): Settled["spent"] {
  if (result.child) return { nanodollars: 0, tokens: 0, sub_calls: 1 };
  const sub_calls = result.name === ROOT_CALL ? 0 : subCallsOf(result);
  return { nanodollars: nanodollars(result.usage.cost_usd), tokens: tokensOf(result.usage), sub_calls };
}

/** Dollars in integers of 10⁻⁹, rounded up. A sum in floating point that is a little too large does not round up. */
export function nanodollars(cost_usd: number): number {
  return Math.max(0, Math.ceil(cost_usd * 1e9 - 1e-6));
}
