import type { Json } from "../../../runtime/index.ts";
import type { ModelRequest } from "../port.ts";
import { isJsonObject } from "../schema/pointer.ts";

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
  const parts = isJsonObject(value)
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
