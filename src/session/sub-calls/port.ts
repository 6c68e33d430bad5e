import type { Json, PendingCall, Settlement } from "../../../runtime/index.ts";
import type { RequestBudget } from "../../model/index.ts";
import type { ToolResult } from "../journal/records.ts";

/** Answers the calls of async builtins. */
export interface Answers {
  /** What the worker has to know of sub-calls before a cell makes one: part of the exec's facts. */
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
  /** Tells that the call is being answered: until then it waits for its turn. */
  begun(): void;
}

/** What came of a call: what the guest gets, and what the record keeps beside it. */
export interface Answered {
  readonly settlement: Settlement;
  readonly record: Pick<ToolResult, "usage" | "attempts" | "model" | "refused" | "cached" | "tool_override_event">;
  /** The key under which the answer may be taken again; null: it may not. */
  readonly cacheKey: string | null;
}
