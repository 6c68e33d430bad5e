import type { ToolResultMessage } from "../host.ts";

/** A message as Pi is about to send it, as far as it is looked at. */
interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly toolCallId?: string;
}

/**
 * The messages with our results where the session has none: each behind the assistant's message that called. The same
 * array where nothing is missing.
 */
export function withAnswers<M extends Message>(
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

function callIds(content: unknown): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: unknown) => {
    const isCall = typeof part === "object" && part !== null && Reflect.get(part, "type") === "toolCall";
    const id: unknown = isCall ? Reflect.get(part, "id") : undefined;
    return typeof id === "string" ? [id] : [];
  });
}
