import { extname } from "node:path";
import { type Json, RlmError } from "../../index.ts";
import type { Format } from "../flags/declared.ts";
import { type Data, dataTable } from "./data-table.ts";
import type { Output } from "./terminal.ts";

/**
 * The text of a result, in pieces. Without a format a string is as it is and everything else JSON.
 *
 * @param json of the result
 * @param place by which a table is cut, and ends of lines are those of the place
 * @throws RlmError `invalid_argument` if the result does not fit the format; before the first piece
 * is given
 */
export function formatted(json: string, format: Format | null, place: Place = A_FILE): Iterable<string> {
  switch (format) {
    case "json":
      return [json, "\n"];
    case "jsonl":
      return jsonLines(JSON.parse(json));
    case "csv":
      return csvLines(dataOf(JSON.parse(json), format), place.isTerminal ? "\n" : "\r\n");
    case "table":
      return dataTable(dataOf(JSON.parse(json), format), place);
    case "raw":
      return [rawText(JSON.parse(json))];
    case null:
      return json.startsWith('"') ? [rawText(JSON.parse(json))] : [json, "\n"];
  }
}

type Place = Pick<Output, "isTerminal" | "columns">;

const A_FILE: Place = { isTerminal: false, columns: 0 };

/**
 * The format that the name of a file asks for; null: a string as it is, else JSON. A string may be
 * such a table already.
 */
export function formatOfFile(path: string, json: string): Format | null {
  return json.startsWith('"') ? null : (OF_ENDINGS[extname(path).toLowerCase()] ?? null);
}

const OF_ENDINGS: Readonly<Record<string, Format>> = { ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl" };

function jsonLines(value: Json): Iterable<string> {
  if (Array.isArray(value)) return value.values().map((item) => `${JSON.stringify(item)}\n`);
  throw misfit("jsonl", `it takes an array, and the result is ${kindOf(value)}`);
}

function rawText(value: Json): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return `${value}\n`;
  throw misfit("raw", `it takes a string, a number or a boolean, and the result is ${kindOf(value)}`);
}

/**
 * The rows of a table: an array of arrays, or of objects, whose names make the header, in the order
 * in which they come first.
 *
 * @throws RlmError `invalid_argument`, naming the row, for what is not such an array
 */
function dataOf(value: Json, format: "csv" | "table"): Data {
  if (!Array.isArray(value)) throw misfit(format, `it takes an array of rows, and the result is ${kindOf(value)}`);
  const rows = Array.from(value, (row: Json, index) => rowOf(row, index, format));
  const lists = rows.filter((row) => isList(row));
  if (lists.length === rows.length) return { names: [], rows: lists };
  const fields = rows.map((row, index) => {
    if (isList(row)) throw misfit(format, `row ${index + 1} is an array, and others are objects`);
    return row;
  });
  const names = [...new Set(fields.flatMap((row) => Object.keys(row)))];
  return { names, rows: fields.map((row) => names.map((name) => (Object.hasOwn(row, name) ? row[name] : null))) };
}

type Row = readonly Json[];
type Fields = { readonly [name: string]: Json };

function rowOf(row: Json, index: number, format: string): Row | Fields {
  if (typeof row === "object" && row !== null) return row;
  throw misfit(format, `row ${index + 1} is ${kindOf(row)}, and a row is an object or an array`);
}

const isList = (row: Row | Fields): row is Row => Array.isArray(row);

/**
 * A table by RFC 4180, a line at a time. Null and a field that is missing are empty; an empty
 * string stands in quotes, and a list or an object is JSON.
 */
function* csvLines({ names, rows }: Data, end: string): Iterable<string> {
  for (const row of names.length > 0 ? [names, ...rows] : rows) yield `${row.map(fieldText).join(",")}${end}`;
}

function fieldText(value: Json | undefined): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
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
