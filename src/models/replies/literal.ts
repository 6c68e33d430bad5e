import type { Json } from "../../../runtime/index.ts";
import { parseJson } from "../../platform/json.ts";

/**
 * The value of a literal of JavaScript or Python: JSON that may have other quotes, bare keys and commas behind last fields.
 * Nothing is run. undefined: the source is something else, or its escapes mean different things in the two languages.
 */
export function readLiteral(source: string): Json | undefined {
  return parseJson(source.replace(TOKENS, jsonOf));
}

/** Strings, which need not be closed, keys without quotes, and commas behind last fields. */
const TOKENS =
  /"""(?:[^"\\]|\\.|""?(?!"))*(?:""")?|'''(?:[^'\\]|\\.|''?(?!'))*(?:''')?|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\$]|\\.|\$(?!\{))*`?|(?<![\w$])[A-Za-z_$][\w$]*(?=\s{0,99}:)|,(?=\s{0,99}[}\]])/gs;

function jsonOf(token: string): string {
  if (token === ",") return "";
  const [quotes] = /^(?:"""|'''|["'`])/.exec(token) ?? [];
  if (quotes === undefined) return JSON.stringify(token);
  const isClosed = token.length >= 2 * quotes.length && token.endsWith(quotes);
  if (!isClosed) return NOT_JSON;
  return `"${token.slice(quotes.length, -quotes.length).replace(PIECES, stringPiece)}"`;
}

const NOT_JSON = "?";

/** Pieces of a string that JSON writes otherwise, or knows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has them as escapes
const PIECES = /\\(['`$])|\\x(?=[\da-fA-F]{2})|\\\n|\\["\\/bfnrtu]|["\u0000-\u001f]/g;

function stringPiece(piece: string, bare: string | undefined): string {
  if (bare !== undefined) return bare;
  if (piece === "\\x") return "\\u00";
  if (piece === "\\\n") return "";
  return piece.startsWith("\\") ? piece : JSON.stringify(piece).slice(1, -1);
}
