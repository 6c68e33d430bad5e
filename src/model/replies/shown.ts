import type { Json } from "../../../runtime/index.ts";
import { isJsonObject } from "../schema/pointer.ts";

/**
 * True if a value stands in one of the texts that a model was shown. White space, quotes and backslashes do not count, and
 * neither does the order of an object's fields.
 */
export function isShown(value: Json, shown: readonly string[]): boolean {
  const texts = shown.map(withoutQuotes);
  const parts = isJsonObject(value)
    ? Object.entries(value).map(([name, field]) => `${name}:${JSON.stringify(field)}`)
    : [JSON.stringify(value)];
  return parts.map(withoutQuotes).every((part) => texts.some((text) => text.includes(part)));
}

/** A text without its white space, quotes and backslashes, also as JSON and HTML write them: what is left of it where it is quoted. */
export function withoutQuotes(text: string): string {
  return text.replace(/\\u00(?:22|27|60)|&(?:quot|apos|#3[49]);|[\s"'`\\“”„‘’]/g, "");
}
