import { messageOf } from "../../platform/errors.ts";
import { untilAborted } from "../../platform/signals.ts";
import { type AgentTool, type ReadableRoots, readOnlyTools, type ToolAnswer } from "../agent-tools/index.ts";
import type { ModelMessage, ToolUse } from "../port.ts";
import { TaskEnded, type TaskThread } from "../tasks/task-thread.ts";

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
    return failure(`There is no tool ${use.name}. Tools: ${tools.map(({ name }) => name).join(", ")}`);
  }
  if (use.problem !== undefined) return failure(`${tool.name} was not run: ${use.problem}. Send one JSON object.`);
  try {
    const { args, problems } = await thread.run("arguments", [tool.parameters, use.arguments], signal);
    if (problems.length > 0) return failure(`${tool.name}: wrong arguments: ${problems.join("; ")}`);
    // A tool that does not heed the signal is left to itself.
    return await untilAborted(tool.run(args, signal), signal, () => new Error("cancelled"));
  } catch (error) {
    return failure(`${tool.name} failed: ${messageOf(error)}`);
  }
}

function bounded(text: string): string {
  if (text.length <= MAX_ANSWER) return text;
  return `${text.slice(0, MAX_ANSWER).toWellFormed()}\n\n[Cut: ${MAX_ANSWER} of ${text.length} characters]`;
}

function failure(text: string): ToolAnswer {
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
