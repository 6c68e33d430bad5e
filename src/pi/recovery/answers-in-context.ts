import * as v from "valibot";
import type { ToolResultMessage } from "../host.ts";
import type { PiMessage } from "../outside/index.ts";

/**
 * The messages with the results that the session lacks. Each follows the assistant's message that made the call. If
 * nothing is missing, the given array is returned.
 */
export function withAnswers<M extends PiMessage>(
  messages: readonly M[],
  answers: ReadonlyMap<string, ToolResultMessage>,
): readonly (M | ToolResultMessage)[] {
  if (answers.size === 0) return messages;
  const present = new Set(messages.flatMap(({ role, toolCallId }) => (role === "toolResult" ? [toolCallId] : [])));
  return messages.flatMap((message) => {
    if (message.role !== "assistant") return [message];
    const missing = callIds(message.content).flatMap((id) => (present.has(id) ? [] : (answers.get(id) ?? [])));
    return [message, ...missing];
  });
}

/** Ids of the calls in the content of an assistant's message. */
export function callIds(content: unknown): string[] {
  return v.parse(CallsSchema, content).flatMap((call) => call?.id ?? []);
}

/** The parts of an assistant's message: null for those that are not calls of tools. */
const CallsSchema = v.fallback(
  v.array(v.fallback(v.nullable(v.object({ type: v.literal("toolCall"), id: v.string() })), null)),
  [],
);
