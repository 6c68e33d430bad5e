import type { Json } from "../index.ts";
import { csvLines } from "./csv.ts";
import { kindOf, misfit } from "./misfit.ts";

/** How a result is written: as JSON, a line of JSON for each item, rows of a table, or a string as it is. */
export const FORMATS = ["json", "jsonl", "csv", "raw"] as const;
export type Format = (typeof FORMATS)[number];

/**
 * The text of a result, in pieces. Without a format a string is as it is and everything else JSON.
 *
 * @param json of the result
 * @throws RlmError `invalid_argument` if the result does not fit the format; before the first piece is given
 */
export function formatted(json: string, format: Format | null): Iterable<string> {
  switch (format) {
    case "json":
      return [json, "\n"];
    case "jsonl":
      return jsonLines(JSON.parse(json));
    case "csv":
      return csvLines(JSON.parse(json));
    case "raw":
      return [rawText(JSON.parse(json))];
    case null:
      return json.startsWith('"') ? [rawText(JSON.parse(json))] : [json, "\n"];
  }
}

function jsonLines(value: Json): Iterable<string> {
  if (Array.isArray(value)) return linesOf(value);
  throw misfit("jsonl", `it takes an array, and the result is ${kindOf(value)}`);
}

function* linesOf(items: readonly Json[]): Iterable<string> {
  for (const item of items) yield `${JSON.stringify(item)}\n`;
}

function rawText(value: Json): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return `${value}\n`;
  throw misfit("raw", `it takes a string, a number or a boolean, and the result is ${kindOf(value)}`);
}
