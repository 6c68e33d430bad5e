import type { Json } from "../../../runtime/index.ts";
import { compileFind, find, textFromString } from "../../context/index.ts";
import { compare } from "./compare.ts";

/**
 * The places where a value does not conform to a schema, in words. `$ref` is looked up in `root`.
 */
export function violations(schema: Json, value: Json, root = schema): string[] {
  return compare(schema, value, root, matches);
}

function matches(pattern: string, text: string): boolean {
  return find(textFromString(text), compileFind(pattern, ""), 1).matches.length > 0;
}
