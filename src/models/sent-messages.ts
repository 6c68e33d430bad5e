import type { Json } from "../../runtime/index.ts";
import { isRecord } from "../platform/json.ts";
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

/** The texts that a request shows to the model: all but its own replies. */
export function shownTexts({ system, messages }: Pick<ModelRequest, "system" | "messages">): readonly string[] {
  const said = messages.flatMap((message) => (message.role === "assistant" ? [] : [message.text]));
  return system === null ? said : [system, ...said];
}

/**
 * True if a value stands in one of the texts that a model was shown. White space, quotes and
 * backslashes do not count, and neither does the order of an object's fields.
 */
export function isShown(value: Json, shown: readonly string[]): boolean {
  const texts = shown.map(withoutQuotes);
  const parts = isRecord(value)
    ? Object.entries(value).map(([name, field]) => `${name}:${JSON.stringify(field)}`)
    : [JSON.stringify(value)];
  return parts.map(withoutQuotes).every((part) => texts.some((text) => text.includes(part)));
}

/**
 * True if one of the texts stands in what a model was shown, whatever quotes are around it and in
 * it.
 */
export function isQuoted(texts: readonly string[], shown: readonly string[]): boolean {
  const bare = shown.map(withoutQuotes);
  return texts.map(withoutQuotes).some((text) => text !== "" && bare.some((one) => one.includes(text)));
}

/**
 * A text without its white space, quotes and backslashes, also as JSON and HTML write them: what is
 * left of it where it is quoted.
 */
function withoutQuotes(text: string): string {
  return text.replace(/\\u00(?:22|27|60)|&(?:quot|apos|#3[49]);|[\s"'`\\“”„‘’]/g, "");
}
