import type { Json, PendingCall, Settlement } from "../../../runtime/index.ts";
import type { RequestBudget } from "../../model/index.ts";
import type { ToolResult } from "../journal/records.ts";

/** Answers the calls of async builtins. */
export interface Answers {
  /** What the machine must know of sub-calls before a cell makes one: part of the exec's facts. */
  readonly facts: { readonly [name: string]: Json };
  /** Must not reject: a call that fails is an answer. */
  answer(call: PendingCall, context: CallContext): Promise<Answered>;
  /** Whether a call that may have been carried out already can be made once more. */
  repeatable(call: PendingCall): boolean;
}

/** What an exec lends to the answering of one call. */
export interface CallContext {
  readonly budget: RequestBudget;
  /** Aborted when the exec ends or is cancelled. */
  readonly signal: AbortSignal;
  /** Aborted when the session's time is over. */
  readonly timeOver: AbortSignal;
  /** Called when the call's turn comes: it is being answered from now on. */
  begun(): void;
}

/** The answer to a call: what the guest gets, and what the record keeps with it. */
export interface Answered {
  readonly settlement: Settlement;
  readonly record: Pick<
    ToolResult,
    "usage" | "attempts" | "model" | "refused" | "cached" | "tool_override_event" | "sent_at" | "turns"
  >;
  /** The key under which the cache keeps the answer; null: it is not kept. */
  readonly cacheKey: string | null;
}
