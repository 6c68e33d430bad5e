import type { Json } from "../../../runtime/index.ts";
import { standInOf, textsIn } from "../../models/index.ts";
import { withoutBlocks } from "./reply.ts";

/** Parts of a text that something was to fill in: of templates, and notes of a writer to itself. */
const PARTS: readonly RegExp[] = [
  /\$\{[^{}\n]{1,80}\}/g,
  /\{\{ ?[\w.]{1,60} ?\}\}/g,
  /(?<=^|[\s("'“‘:=€£])\{[A-Za-z_]\w{0,40}(?:\.\w{1,40}|\[\w{1,20}\]){0,3}\}/gm,
  /\[(?:insert|fill in|to be (?:filled|determined|computed|calculated)|placeholder|TBD|your answer)\b[^\]\n]{0,60}\](?!\()/gi,
  /<(?:insert [\w ]{1,40}|(?:number|value|count|total|amount|name|list) of [\w ]{1,40}|placeholder)>/gi,
];
const IN_BACKTICKS = /`[^`\n]{1,200}`/g;

/**
 * The part of an answer that nothing has filled in, such as `${count}`. What stands in code, or in a
 * text that the model was shown, is spoken of. null: there is none.
 */
export function unfilledIn(value: Json, shown: readonly string[]): string | null {
  for (const text of textsIn(value)) {
    const said = withoutBlocks(text).replace(IN_BACKTICKS, "");
    const parts = PARTS.flatMap((pattern) => said.match(pattern) ?? []);
    const own = parts.find((part) => !shown.some((one) => one.includes(part)));
    if (own !== undefined) return own;
  }
  return standInOf(value, shown);
}

/** Names that a cell gives values to. */
const MADE =
  /\b(?:const|let|var|function|class)\s{1,9}([A-Za-z_$][\w$]{0,60})|(?:^|[;{}])\s{0,9}([A-Za-z_$][\w$]{0,60})\s{0,9}=(?!=)/gm;

/** True if a text is nothing but the name of a variable that one of these cells has made. */
export function isVariable(value: Json, sources: readonly string[]): boolean {
  if (typeof value !== "string" || value.length > 61) return false;
  return sources.some((source) => Array.from(source.matchAll(MADE)).some(([, one, other]) => (one ?? other) === value));
}
