import { type Json, RlmError } from "../../index.ts";
import type { Format } from "../flags/declared.ts";

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
  if (Array.isArray(value)) return value.values().map((item) => `${JSON.stringify(item)}\n`);
  throw misfit("jsonl", `it takes an array, and the result is ${kindOf(value)}`);
}

function rawText(value: Json): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return `${value}\n`;
  throw misfit("raw", `it takes a string, a number or a boolean, and the result is ${kindOf(value)}`);
}

type Row = readonly Json[];
type Fields = { readonly [name: string]: Json };

/**
 * A table by RFC 4180, a line at a time: an array of arrays, or of objects, whose names make the header. Null and a field
 * that is missing are empty; an empty string stands in quotes.
 *
 * @throws RlmError `invalid_argument`, naming the row, for what is not flat
 */
function csvLines(value: Json): Iterable<string> {
  if (!Array.isArray(value)) throw misfit("csv", `it takes an array of rows, and the result is ${kindOf(value)}`);
  const rows = Array.from(value, (row: Json, index) => rowOf(row, index));
  const isTable = rows.every((row) => Array.isArray(row));
  const names = isTable ? [] : namesOf(rows);
  for (const [index, row] of rows.entries()) checkFlat(row, index);
  return lines(rows, names);
}

function rowOf(row: Json, index: number): Row | Fields {
  if (typeof row === "object" && row !== null) return row;
  throw misfit("csv", `row ${index + 1} is ${kindOf(row)}, and a row is an object or an array`);
}

/** Every name of the objects, in the order in which they come first. */
function namesOf(rows: readonly (Row | Fields)[]): string[] {
  const names = new Set<string>();
  for (const [index, row] of rows.entries()) {
    if (Array.isArray(row)) throw misfit("csv", `row ${index + 1} is an array, and others are objects`);
    for (const name of Object.keys(row)) names.add(name);
  }
  return [...names];
}

function checkFlat(row: Row | Fields, index: number): void {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value !== "object" || value === null) continue;
    const place = Array.isArray(row) ? `column ${Number(name) + 1}` : JSON.stringify(name);
    throw misfit("csv", `${place} of row ${index + 1} is ${kindOf(value)}`);
  }
}

function* lines(rows: readonly (Row | Fields)[], names: readonly string[]): Iterable<string> {
  if (names.length > 0) yield lineOf(names);
  for (const row of rows)
    yield lineOf(isRow(row) ? row : names.map((name) => (Object.hasOwn(row, name) ? row[name] : null)));
}

const isRow = (row: Row | Fields): row is Row => Array.isArray(row);

const lineOf = (values: readonly (Json | undefined)[]) => `${values.map(fieldOf).join(",")}\r\n`;

function fieldOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  const text = String(value);
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The error for a result that a format cannot hold. */
function misfit(format: string, why: string): RlmError {
  return new RlmError("invalid_argument", `the result does not fit ${format}: ${why}`, {
    suggestion: "Use --format json, or change what the cell returns.",
  });
}

/** `an array`, `null`: what a value is, for messages. */
function kindOf(value: Json | undefined): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
