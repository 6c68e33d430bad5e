import { type Json, RlmError } from "../../runtime/index.ts";
import { type Context, findObject, type ObjectSource, pauses, type TextObject } from "../context/index.ts";
import { cutText } from "../platform/visible.ts";
import type { FoundObject, ReadingOptions } from "../query/index.ts";

/** A host's access to the conversation in which a tool is called. */
export interface Conversation {
  /** Its history, and P if the branch has one. Fails for nothing: why P is missing is said. */
  objects(): Promise<ConversationObjects>;
  /** Everything that was said until now, as a context. */
  history(): Promise<Context>;
  /**
   * Decides how models may read these objects, and whether they may: the user is asked if it takes
   * many calls.
   * @throws RlmError `policy_violation`, `declined`, `cancelled`
   */
  allowed(reading: Reading, signal: AbortSignal): Promise<ReadingTerms>;
  /** Figures for `rlm_stats`, by wire names. */
  stats(): Promise<{ readonly [field: string]: Json }>;
}

/** Objects that a call wants models to read. */
interface Reading {
  readonly instructions: string;
  /** `provider/id`, if the call names one. */
  readonly model: string | null;
  readonly objects: readonly FoundObject[];
  /** One model reads all of them. */
  readonly together: boolean;
}

/** By the user's settings. */
type ReadingTerms = Pick<ReadingOptions, "inlineTokens" | "maxTokens" | "estimate">;

export interface ConversationObjects {
  readonly sources: readonly ObjectSource[];
  /** The document of the message that makes the call. */
  readonly own: string | null;
  /** Why P is not among the sources although the branch has one. */
  readonly problem: string | null;
}

/**
 * The object with this id. If P cannot be read, a failure says so. @throws RlmError
 * `object_not_found`, `object_ambiguous`
 */
export async function objectNamed({ sources, problem }: ConversationObjects, id: string): Promise<TextObject> {
  try {
    return await findObject(sources, id, pauses());
  } catch (error) {
    if (problem === null || !(error instanceof RlmError)) throw error;
    const { code, message, suggestion } = error;
    throw new RlmError(code, `${message}; P cannot be read: ${problem}`, { suggestion, cause: error });
  }
}

/**
 * Most bytes of what an answer quotes. A tool of Pi may answer 51,200; a line of facts stands
 * above.
 */
export const QUOTED_BYTES = 50_000;

const NAME_UNITS = 200;

/** The name of an object's document in answers, on one line. */
export function nameOf({ of, document }: Pick<TextObject, "of" | "document">): string {
  const shown = cutText(document.id.replaceAll(/\p{Cc}/gu, " "), NAME_UNITS);
  return of === "P" ? `P: ${shown}` : shown;
}
