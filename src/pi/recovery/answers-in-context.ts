import type { ToolResultMessage } from "../host.ts";
import { callsOf, type PiMessage } from "../outside/message.ts";

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
    const missing = callsOf(message).flatMap(({ id }) => (present.has(id) ? [] : (answers.get(id) ?? [])));
    return [message, ...missing];
  });
}
