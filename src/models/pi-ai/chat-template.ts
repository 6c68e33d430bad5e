import type { AssistantMessage, Context, Message } from "belay-pi-ai";

/** The system prompt at the beginning of the first message, for templates that have none, such as those of Gemma 2. */
export function withoutSystem({ systemPrompt, ...context }: Context): Context {
  const [first, ...others] = context.messages;
  if (systemPrompt === undefined || first?.role !== "user" || typeof first.content !== "string") return context;
  return { ...context, messages: [{ ...first, content: `${systemPrompt}\n\n${first.content}` }, ...others] };
}

/** Calls that follow one another, each with its result, for templates with one call a message, such as those of Llama 3. */
export function oneByOne(messages: readonly Message[]): Message[] {
  const result: Message[] = [];
  let waiting: AssistantMessage[] = [];
  for (const message of messages) {
    if (message.role === "assistant") {
      const [, ...later] = message.content.filter(({ type }) => type === "toolCall");
      waiting = later.map((call) => ({ ...message, content: [call] }));
      result.push({ ...message, content: message.content.filter((part) => !later.includes(part)) });
      continue;
    }
    result.push(message);
    if (message.role === "toolResult") result.push(...waiting.splice(0, 1));
  }
  return result;
}
