import type { Json } from "../../runtime/index.ts";
import type { AgentTool, ToolAnswer } from "./agent-tools/index.ts";
import type { ModelMessage, ToolUse } from "./port.ts";
import { violations } from "./schema.ts";
import { isJsonObject } from "./schema-pointer.ts";

/** Tools keep to 50 KB by themselves; what a host lends may not. UTF-16 units. */
const MAX_ANSWER = 60_000;

/** Runs the tools that a turn asks for, in order. What goes wrong is an answer that the model can react to. */
export async function answerTools(
  tools: readonly AgentTool[],
  uses: readonly ToolUse[],
  signal: AbortSignal,
): Promise<ModelMessage[]> {
  const answers: ModelMessage[] = [];
  for (const use of uses) {
    const { text, isError = false } = await answerTool(tools, use, signal);
    answers.push({ role: "tool", use: { id: use.id, name: use.name }, text: bounded(text), isError });
  }
  return answers;
}

async function answerTool(tools: readonly AgentTool[], use: ToolUse, signal: AbortSignal): Promise<ToolAnswer> {
  const tool = tools.find(({ name }) => name === use.name);
  if (tool === undefined) {
    return failure(`There is no tool ${use.name}. Tools: ${tools.map(({ name }) => name).join(", ")}`);
  }
  const args = withoutNulls(use.arguments, tool.parameters);
  const problems = violations(tool.parameters, args);
  if (problems.length > 0) return failure(`${tool.name}: wrong arguments: ${problems.join("; ")}`);
  try {
    return await untilAborted(tool.run(args, signal), signal);
  } catch (error) {
    return failure(`${tool.name} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Many models give null for an optional argument that they leave out. */
function withoutNulls(args: ToolUse["arguments"], parameters: AgentTool["parameters"]): { [name: string]: Json } {
  const required: Json = parameters.required ?? [];
  const properties = isJsonObject(parameters.properties) ? parameters.properties : {};
  const isLeftOut = (name: string, value: Json) =>
    value === null &&
    !(Array.isArray(required) && required.includes(name)) &&
    violations(properties[name] ?? true, null, parameters).length > 0;
  return Object.fromEntries(Object.entries(args).filter(([name, value]) => !isLeftOut(name, value)));
}

/** A tool that does not heed the signal is left to itself. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(new Error("cancelled"));
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

function bounded(text: string): string {
  if (text.length <= MAX_ANSWER) return text;
  return `${text.slice(0, MAX_ANSWER).toWellFormed()}\n\n[Cut: ${MAX_ANSWER} of ${text.length} characters]`;
}

function failure(text: string): ToolAnswer {
  return { text, isError: true };
}
