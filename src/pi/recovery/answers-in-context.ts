import type { ToolResultMessage } from "../host.ts";
import { callsOf, openCalls, type PiMessage } from "../outside/message.ts";

/**
 * The messages with the results that the session lacks. Each follows the assistant's message that made the call. If
 * nothing is missing, the given array is returned.
 *
 * @param answers by the keys of their calls
 */
export function withAnswers<M extends PiMessage>(
  messages: readonly M[],
  answers: ReadonlyMap<string, ToolResultMessage>,
): readonly (M | ToolResultMessage)[] {
  if (answers.size === 0) return messages;
  const open = openCalls();
  for (const message of messages) open.take(message);
  const lacking = new Set(open.left().map(({ key }) => key));
  return messages.flatMap((message) => {
    const missing = callsOf(message).flatMap(({ key }) => (lacking.has(key) ? (answers.get(key) ?? []) : []));
    return [message, ...missing];
  });
}
