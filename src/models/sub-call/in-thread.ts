import { type Json, RlmError } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { untilAborted } from "../../platform/signals.ts";
import { type AgentTool, type ReadableRoots, readOnlyTools, type ToolAnswer } from "../agent-tools/index.ts";
import { failure } from "../failure.ts";
import type { ModelMessage, SubCallError, ToolUse } from "../port.ts";
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

/** Tools keep to 50 KB by themselves; what a host lends may not. UTF-16 units. */
const MAX_ANSWER = 60_000;

/**
 * Runs the tools that a turn asks for, in order. What goes wrong is an answer that the model can
 * react to.
 */
export async function answerTools(
  tools: readonly AgentTool[],
  uses: readonly ToolUse[],
  thread: TaskThread,
  signal: AbortSignal,
): Promise<ModelMessage[]> {
  const answers: ModelMessage[] = [];
  for (const use of uses) {
    const { text, isError = false } = await answerTool(tools, use, thread, signal);
    answers.push({ role: "tool", use: { id: use.id, name: use.name }, text: bounded(text), isError });
  }
  return answers;
}

async function answerTool(
  tools: readonly AgentTool[],
  use: ToolUse,
  thread: TaskThread,
  signal: AbortSignal,
): Promise<ToolAnswer> {
  const tool = tools.find(({ name }) => name === use.name);
  if (tool === undefined) {
    return toolFailure(`There is no tool ${use.name}. Tools: ${tools.map(({ name }) => name).join(", ")}`);
  }
  if (use.problem !== undefined) return toolFailure(`${tool.name} was not run: ${use.problem}. Send one JSON object.`);
  try {
    const { args, problems } = await thread.run("arguments", [tool.parameters, use.arguments], signal);
    if (problems.length > 0) return toolFailure(`${tool.name}: wrong arguments: ${problems.join("; ")}`);
    // A tool that does not heed the signal is left to itself.
    return await untilAborted(tool.run(args, signal), signal, () => new Error("cancelled"));
  } catch (error) {
    return toolFailure(`${tool.name} failed: ${messageOf(error)}`);
  }
}

function bounded(text: string): string {
  if (text.length <= MAX_ANSWER) return text;
  return `${text.slice(0, MAX_ANSWER).toWellFormed()}\n\n[Cut: ${MAX_ANSWER} of ${text.length} characters]`;
}

function toolFailure(text: string): ToolAnswer {
  return { text, isError: true };
}

/**
 * The read-only tools, which run in the thread: neither a pattern nor a file holds up the caller's.
 */
export function threadedTools(readable: ReadableRoots, thread: TaskThread): AgentTool[] {
  return readOnlyTools(readable).map((tool) => ({
    ...tool,
    run: (args, signal) => thread.run("tool", [readable, tool.name, args], signal).catch(withCure),
  }));
}

/** The model reads the message and can ask for less. */
function withCure(error: unknown): never {
  if (!(error instanceof TaskEnded) || error.reason === "cancelled") throw error;
  throw new Error(`${error.message}. Search a smaller folder, or for a simpler pattern.`, { cause: error });
}
