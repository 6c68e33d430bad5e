import { callsOf, isStopped, openCalls, type PiMessage } from "../externalize/message.ts";
import type { ToolResultMessage } from "../host.ts";

/**
 * The messages with the results that the session lacks. Each follows the assistant's message that made the call, or takes the
 * place of a result that says that Pi stopped it. If nothing is missing, the given array is returned.
 *
 * @param answers by the keys of their calls
 */
export function withAnswers<M extends PiMessage>(
  messages: readonly M[],
  answers: ReadonlyMap<string, ToolResultMessage>,
): readonly (M | ToolResultMessage)[] {
  if (answers.size === 0) return messages;
  const open = openCalls();
  const instead = new Map<M, ToolResultMessage>();
  for (const message of messages) {
    const call = open.take(message);
    const answer = call && isStopped(message) ? answers.get(call.key) : undefined;
    if (answer) instead.set(message, answer);
  }
  const lacking = new Set(open.left().map(({ key }) => key));
  return messages.flatMap((message) => {
    const missing = callsOf(message).flatMap(({ key }) => (lacking.has(key) ? (answers.get(key) ?? []) : []));
    return [instead.get(message) ?? message, ...missing];
  });
}
