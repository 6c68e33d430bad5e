import type { ModelMessage, ModelRequest, ToolUse } from "./port.ts";

/**
 * The messages as chat templates take them. The beginning of a conversation stays the same while it
 * grows.
 */
export function sentMessages({ messages, tools }: Pick<ModelRequest, "messages" | "tools">): readonly ModelMessage[] {
  return joined(tools.length === 0 ? messages.map(inWords) : messages);
}

/**
 * The messages with each note joined to what stands before it: many templates refuse a user who
 * speaks twice.
 */
function joined(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const result: ModelMessage[] = [];
  for (const message of messages) {
    const before = result.at(-1);
    if (message.role !== "user" || before === undefined || before.role === "assistant") result.push(message);
    else result.splice(-1, 1, { ...before, text: `${before.text}\n\n${message.text}` });
  }
  return result;
}

/**
 * A message without calls of tools and their results: a request that offers no tools cannot have
 * them.
 */
function inWords(message: ModelMessage): ModelMessage {
  if (message.role === "tool") return { role: "user", text: message.text };
  if (message.role === "user" || message.answer.toolUses.length === 0) return message;
  const { text, toolUses } = message.answer;
  const words = [text, ...toolUses.map(callInWords)].filter((part) => part !== "").join("\n");
  return { role: "assistant", answer: { text: words, toolUses: [], stop: "end", raw: null } };
}

/** A call as a model without tools writes it: code is a fenced block. */
function callInWords({ name, arguments: given }: ToolUse): string {
  const { code } = given;
  return typeof code === "string" ? `\`\`\`js\n${code}\n\`\`\`` : `${name}(${JSON.stringify(given)})`;
}
