import type { Json } from "../../runtime/index.ts";
import type { Context, ObjectSource } from "../context/index.ts";
import type { FoundObject, ReadingOptions } from "../query/index.ts";

/** A host's access to the conversation in which a tool is called. */
export interface Conversation {
  /** Its history, and P if the branch has one. Fails for nothing: why P is missing is said. */
  objects(): Promise<ConversationObjects>;
  /** Everything that was said until now, as a context. */
  history(): Promise<Context>;
  /**
   * Decides how models may read these objects, and whether they may: the user is asked if it takes many calls.
   * @throws RlmError `policy_violation`, `declined`, `cancelled`
   */
  allowed(reading: Reading, signal: AbortSignal): Promise<ReadingTerms>;
  /** Figures for `rlm_stats`, by wire names. */
  stats(): Promise<{ readonly [field: string]: Json }>;
}

/** Objects that a call wants models to read. */
export interface Reading {
  readonly instructions: string;
  /** `provider/id`, if the call names one. */
  readonly model: string | null;
  readonly objects: readonly FoundObject[];
  /** One model reads all of them. */
  readonly together: boolean;
}

/** By the user's settings. */
export type ReadingTerms = Pick<ReadingOptions, "inlineTokens" | "maxTokens" | "estimate">;

export interface ConversationObjects {
  readonly sources: readonly ObjectSource[];
  /** The document of the message that makes the call. */
  readonly own: string | null;
  /** Why P is not among the sources although the branch has one. */
  readonly problem: string | null;
}
