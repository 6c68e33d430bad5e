import type { Json } from "../../runtime/index.ts";
import type { Context, ObjectSource } from "../context/index.ts";

/** What a host can say of the conversation in which a tool is called. */
export interface Conversation {
  /** Its history, and P if the branch has one. Fails for nothing: why P is missing is said. */
  objects(): Promise<ConversationObjects>;
  /** Everything that was said until now, as a context. */
  history(): Promise<Context>;
  /** Figures for `rlm_stats`, by wire names. */
  stats(): Promise<{ readonly [field: string]: Json }>;
}

export interface ConversationObjects {
  readonly sources: readonly ObjectSource[];
  /** The document of the message that makes the call. */
  readonly own: string | null;
  /** Why P is not among the sources although the branch has one. */
  readonly problem: string | null;
}
