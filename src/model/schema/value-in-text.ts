import type { Json } from "../../../runtime/index.ts";
import { parseJson } from "../../platform/json.ts";
import { violations } from "./violations.ts";

/** Deeper values would overflow the stack of the code that handles them. */
const MAX_DEPTH = 200;
/** Places in the prose around an answer where JSON may begin. */
const MAX_STARTS = 20;

export type ReadValue =
  | {
      readonly ok: true;
      readonly value: Json;
      /** Kinds of what was put right in its text. Absent: nothing was. */
      readonly mended?: readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * The value in an answer that fits the schema: the whole text, else a fenced block, else a balanced `{…}` or `[…]` in
 * it. `problems` are those of the first that is JSON at all.
 */
export function readValue(text: string, schema: Json): ReadValue {
  let problems: readonly string[] | undefined;
  for (const candidate of candidatesIn(text.trim())) {
    const value = parseJson(candidate);
    if (value === undefined) continue;
    const found = isTooDeep(value) ? [`the value is nested more than ${MAX_DEPTH} deep`] : violations(schema, value);
    if (found.length === 0) return { ok: true, value };
    problems ??= found;
  }
  return { ok: false, problems: problems ?? ["the answer is not JSON"] };
}

function* candidatesIn(text: string): Generator<string> {
  yield text;
  for (const [, block = ""] of text.matchAll(/```(?:json)?[ \t]*\n(.*?)```/gis)) yield block;
  let end = 0;
  let starts = 0;
  for (const { index } of text.matchAll(/[{[]/g)) {
    if (index < end || ++starts > MAX_STARTS) continue;
    const close = balancedEnd(text, index);
    if (close === undefined) continue;
    end = close;
    yield text.slice(index, close);
  }
}

/** The place at which the bracket of `start` is closed; brackets in strings do not count. */
function balancedEnd(text: string, start: number): number | undefined {
  let depth = 0;
  let token = /"(?:[^"\\]|\\.)*("?)|[{}[\]]/gs;
  token.lastIndex = start;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[1] === "") {
      // No quote is closed from here on, and to try each takes the square of the text.
      token = /[{}[\]]/g;
      token.lastIndex = match.index + 1;
    } else if (match[0] === "{" || match[0] === "[") depth += 1;
    else if (match[0] === "}" || match[0] === "]") depth -= 1;
    if (depth === 0) return token.lastIndex;
  }
  return undefined;
}

function isTooDeep(value: Json): boolean {
  let level: Json[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}
