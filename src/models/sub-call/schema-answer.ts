import { type Json, RlmError } from "../../../runtime/index.ts";
import { failure } from "../failure.ts";
import type { SubCallError } from "../port.ts";
import type { ReadValue } from "../replies/value-in-text.ts";
import { TaskEnded, type TaskThread } from "../tasks/task-thread.ts";

const SIMPLER = "Simplify the schema: fewer patterns, alternatives and references.";

/** Why a schema is refused, or null. */
export async function schemaProblem(
  schema: Json,
  thread: TaskThread,
  signal: AbortSignal,
): Promise<SubCallError | null> {
  try {
    await thread.run("schema", [schema], signal);
    return null;
  } catch (error) {
    if (error instanceof RlmError) {
      const { message, suggestion } = error;
      return failure("schema_mismatch", message, { suggestion, retriable: false });
    }
    return endOf(error, "the schema could not be checked");
  }
}

/** The answer of a model, or the value that a program gave as one. */
interface GivenText {
  readonly text: string;
  /**
   * Texts that the model was shown. null: the text is the JSON of a program's value, which is taken
   * as it is.
   */
  readonly shown: readonly string[] | null;
}

/**
 * The value in an answer. It is not the model's fault if the comparison was ended: asking again
 * would not help.
 */
export async function valueIn(
  { text, shown }: GivenText,
  schema: Json,
  thread: TaskThread,
  signal: AbortSignal,
): Promise<ReadValue | { readonly ok: false; readonly error: SubCallError }> {
  try {
    return await thread.run("value", [text, schema, shown], signal);
  } catch (error) {
    return { ok: false, error: endOf(error, "the answer could not be compared with the schema") };
  }
}

function endOf(error: unknown, problem: string): SubCallError {
  if (!(error instanceof TaskEnded)) throw error;
  if (error.reason === "cancelled") return failure("cancelled", "the call was cancelled");
  return failure("schema_mismatch", `${problem}: ${error.message}`, { suggestion: SIMPLER, retriable: false });
}
