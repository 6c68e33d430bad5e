import type { Json } from "../../../runtime/index.ts";
import { type AgentTool, readOnlyTools } from "../agent-tools/index.ts";
import { TaskEnded, type TaskThread } from "../tasks/task-thread.ts";
import { firstRequest } from "./conversation.ts";
import { estimateRequest, knownPrice } from "./estimate.ts";
import type { SubCall, SubCallParts } from "./sub-call.ts";

/** The cost of a sub-call's first request, and the number of requests that there may be, without repeated ones. */
export function estimateSubCall(
  call: SubCall,
  { models, tools, maxTurns }: Pick<SubCallParts, "models" | "tools" | "maxTurns">,
): { input_tokens: number; max_output_tokens: number; max_requests: number; cost_usd: number } {
  const granted = tools.filter(({ name }) => call.tools.includes(name));
  const first = firstRequest({ ...call, tools: granted }, maxTurns);
  // The real call without a model, or of one that is not known, says so.
  const price = (call.model ?? models.fallback) === null ? null : (knownPrice(models, call.model) ?? null);
  const { input_tokens, max_tokens, cost_usd } = estimateRequest({ ...first, maxTokens: call.max_tokens }, price);
  const max_requests = (granted.length > 0 ? maxTurns : 1) + (call.schema === null ? 0 : 1);
  return { input_tokens, max_output_tokens: max_tokens, max_requests, cost_usd };
}

/** Tokens that the tools of a call that names none take in each of its requests, by their characters. */
export function tokensOfTools(maxTurns: number): number {
  const call = { prompt: "", system: null, schema: null };
  const inputOf = (tools: readonly AgentTool[]) =>
    estimateRequest({ ...firstRequest({ ...call, tools }, maxTurns), maxTokens: 0 }, null).input_tokens;
  return inputOf(readOnlyTools({ roots: [], cwd: "", documents: {} })) - inputOf([]);
}

/**
 * The answer of a dry run instead of a model: a text, or a value that fits the schema. It is `{}` if looking for one takes
 * too long.
 */
export async function placeholderAnswer(
  { schema }: Pick<SubCall, "schema">,
  thread: TaskThread,
  signal: AbortSignal,
): Promise<Json> {
  if (schema === null) return "placeholder answer";
  try {
    return await thread.run("placeholder", [schema], signal);
  } catch (error) {
    if (error instanceof TaskEnded) return {};
    throw error;
  }
}
