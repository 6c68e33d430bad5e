import { type Json, LIMITS } from "../../runtime/index.ts";
import { estimateRequest } from "./estimate.ts";
import type { Models } from "./port.ts";
import { TaskEnded, type TaskThread } from "./task-thread.ts";

/** A sub-call as far as its size and the shape of its answer go. */
interface SubCallShape {
  readonly prompt: string;
  readonly system?: string;
  readonly model?: string;
  readonly max_tokens?: number;
  readonly schema?: { readonly [key: string]: Json };
}

/** What one request of a sub-call would take: a sub-agent with tools makes one for each of its turns. */
export function estimateSubCall(
  call: SubCallShape,
  models: Models,
): { input_tokens: number; max_output_tokens: number; cost_usd: number } {
  const named = call.model !== undefined || models.fallback !== null;
  const price = named ? models.price(call.model ?? null) : null;
  const request = {
    system: call.system ?? null,
    messages: [{ role: "user", text: call.prompt } as const],
    tools: [],
    maxTokens: call.max_tokens ?? LIMITS.subCallMaxTokens,
  };
  const { input_tokens, max_tokens, cost_usd } = estimateRequest(request, price);
  return { input_tokens, max_output_tokens: max_tokens, cost_usd };
}

/**
 * What a dry run answers instead of a model: a text, or a value that fits the schema. It is `{}` if looking for one takes too
 * long.
 */
export async function placeholderAnswer(call: SubCallShape, thread: TaskThread, signal: AbortSignal): Promise<Json> {
  if (!call.schema) return "placeholder answer";
  try {
    return await thread.run("placeholder", [call.schema], signal);
  } catch (error) {
    if (error instanceof TaskEnded) return {};
    throw error;
  }
}
