import { failure, NO_USAGE, type RequestBudget, type SubCallError } from "../../models/index.ts";
import type { CallingSession } from "../parts.ts";
import type { SuspensionReason } from "../suspension.ts";
import { TIME_SPENT } from "./call-time.ts";

/** A call that waits in place of failing, for as long as its exec is not suspended. */
interface WaitingCall {
  readonly id: string;
  /** The model that it asks, `provider/id`. */
  readonly model: string;
  /** Aborts when the call is to end. */
  readonly ended: AbortSignal;
  /** The session's remaining time, ms. */
  timeLeft(): number;
}

/** True if calls of the running exec wait for the user in place of failing. */
export function waitsForUser({ options, state }: Pick<CallingSession, "options" | "state">): boolean {
  return options.waitsForUser === true && state().account.last?.start.workflow !== undefined;
}

/**
 * A budget for calls that wait for the user. One that the budget refuses, or whose model fails for others too, is not failed: all
 * that were sent are recorded, nothing more is sent, and the exec is suspended.
 */
export function withWaiting(
  budget: RequestBudget,
  suspension: CallingSession["suspension"],
  { id, model, ended, timeLeft }: WaitingCall,
): RequestBudget {
  async function waited(reason: SuspensionReason): Promise<SubCallError> {
    await suspension.wait(id, reason, ended);
    return failure("cancelled", "the exec was suspended");
  }
  const trouble = (error: SubCallError) => waited({ why: "trouble", error, model });
  return {
    async answered(error) {
      await budget.answered?.(error);
      if (error) await trouble(error);
    },
    async reserve(estimate, signal) {
      const before = suspension.reason();
      if (before) return waited(before);
      if (timeLeft() === 0) return trouble(TIME_SPENT);
      const held = await budget.reserve(estimate, signal);
      if (!("settle" in held)) return held.code === "budget_exceeded" ? trouble(held) : held;
      // Another call may have met a reason while this one waited for its part of the budget.
      const since = suspension.reason();
      if (!since) suspension.sent(id);
      else held.settle(NO_USAGE);
      return since ? waited(since) : held;
    },
  };
}
