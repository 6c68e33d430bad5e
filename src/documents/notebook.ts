import { stripVTControlCharacters } from "node:util";
import * as v from "valibot";
import { isNumber, propertiesIn, propertiesWritten, readJson, type WrittenJson } from "../platform/written-json.ts";
import { decodedXml } from "./decoded.ts";
import { damaged, type Growing } from "./growing.ts";
import { textOfHtml } from "./html/html.ts";

/** A cell, an output, or another part of a notebook. Nothing is known of its values. */
type Named = Readonly<Record<string, unknown>>;

const NamedSchema = v.fallback(v.record(v.string(), v.unknown()), {});
const named = (value: unknown): Named => v.parse(NamedSchema, value);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value ?? {}]);

/**
 * The names in cells and outputs whose values are read, or say nothing that people see: settings,
 * numbers, ids, languages.
 */
const NAMES =
  "cell_type source input code outputs attachments metadata execution_count prompt_number id language level collapsed " +
  "output_type data name stream ename etype evalue traceback transient";

/** Formats of outputs by their names before nbformat 4. */
const OLDER_FORMATS: Readonly<Record<string, string>> = {
  text: "text/plain",
  html: "text/html",
  latex: "text/latex",
  json: "application/json",
  javascript: "application/javascript",
  svg: "image/svg+xml",
  png: "image/png",
  jpeg: "image/jpeg",
  pdf: "application/pdf",
};

const KNOWN = new Set([...NAMES.split(" "), ...Object.keys(OLDER_FORMATS)]);

/** Reads the sources of a Jupyter notebook and what its outputs say. @throws Unreadable */
export function readNotebook(bytes: Buffer, text: Growing): void {
  for (const [at, given] of cellsIn(bytes, text).entries()) {
    const cell = named(given);
    const place = `cell ${at + 1}`;
    text.part(place);
    text.add(`${headingOf(cell)}${wordsOf(cell.source ?? cell.input ?? cell.code ?? cell.text)}`);
    text.line();
    // Pictures to which the source refers.
    for (const _ of Object.keys(named(cell.attachments))) text.lose("image", place);
    for (const output of joined(list(cell.outputs))) readOutput(output, text, place);
    tellUnknown({ cell: given, ...cell }, text);
  }
}

/** The cells of all sheets: before nbformat 4 a notebook had several. */
function cellsIn(bytes: Buffer, text: Growing): readonly unknown[] {
  const json = decodedXml(bytes, () => text.lose("character without a meaning"));
  const value = parsed(json);
  const properties = value === undefined ? null : propertiesIn(value);
  if (properties !== null && properties < propertiesWritten(json)) text.lose("repeated property");
  const notebook = named(value);
  const sheets = [notebook, ...list(notebook.worksheets).map(named)].filter(({ cells }) => Array.isArray(cells));
  if (sheets.length === 0) throw damaged("it has no cells, as notebooks have");
  return sheets.flatMap(({ cells }) => list(cells));
}

/** Strings, and numbers that Python writes and JSON has not. */
const NUMBERS = /"[^"\\]*(?:\\.[^"\\]*)*"?|-?\b(?:NaN|Infinity)\b/g;

/** The value of JSON as Python writes it; undefined if it is none. */
function parsed(json: string): WrittenJson | undefined {
  return jsonValue(json) ?? jsonValue(json.replace(NUMBERS, (it) => (it.startsWith('"') ? it : `"${it}"`)));
}

function jsonValue(json: string): WrittenJson | undefined {
  try {
    return readJson(json);
  } catch {
    return undefined;
  }
}

/** A text, which may be a list of its lines. */
function wordsOf(value: unknown, between = ""): string {
  if (Array.isArray(value)) return value.map((line) => wordsOf(line)).join(between);
  if (isNumber(value)) return JSON.stringify(value);
  return typeof value === "string" ? value : "";
}

function headingOf({ cell_type, level }: Named): string {
  if (cell_type !== "heading") return "";
  return `${"#".repeat(Math.min(Math.max(Number(level) || 1, 1), 6))} `;
}

/** Outputs, with those joined that one stream printed piece by piece. */
function joined(outputs: readonly unknown[]): readonly unknown[] {
  const all: unknown[] = [];
  for (const output of outputs) {
    const before = named(all.at(-1));
    const { text, ...printed } = named(output);
    const isNext = printed.output_type === "stream" && STREAM.every((name) => before[name] === printed[name]);
    if (isNext) all[all.length - 1] = { ...printed, text: wordsOf(before.text) + wordsOf(text) };
    else all.push(output);
  }
  return all;
}

/** The names that tell a stream. */
const STREAM = ["output_type", "name", "stream"];

function readOutput(given: unknown, text: Growing, place: string): void {
  const output = named(given);
  tellUnknown({ output: given, ...output }, text);
  const older = Object.entries(OLDER_FORMATS).filter(([name]) => name in output);
  const formats = { ...named(output.data), ...Object.fromEntries(older.map(([name, type]) => [type, output[name]])) };
  const said = onTerminal(errorOf(output) || bestOf(formats, text));
  if (said.trim() !== "") text.add(`[output]\n${said}`);
  text.line();
  const types = Object.keys(formats);
  if (types.some((type) => type.startsWith("image/"))) text.lose("image", place);
  else if (said.trim() === "" && types.some((type) => type !== "text/plain")) text.lose("output without text", place);
}

/**
 * The backtrace of an error, which mostly has its name and message; "" if the output is no error.
 */
function errorOf({ ename, etype = ename, evalue, traceback }: Named): string {
  const name = wordsOf(etype);
  const error = name === "" ? "" : onTerminal(`${name}: ${wordsOf(evalue)}`);
  const trace = onTerminal(wordsOf(traceback, "\n"));
  return trace === "" || trace.includes(error) ? trace || error : `${trace}\n${error}`;
}

/** Plain text that says only of what class a value is, where another format shows it. */
const ONLY_A_CLASS = /^<([\w.]+ object|[\w.]+ at 0x|Figure )[^<>]*>$/;

/** The text of the format that says most: Markdown, plain text, LaTeX, HTML, JSON. */
function bestOf(formats: Named, text: Growing): string {
  const plain = wordsOf(formats["text/plain"]);
  const isClass = Object.keys(formats).length > 1 && ONLY_A_CLASS.test(plain.trim());
  return (
    wordsOf(formats["text/markdown"]) ||
    (isClass ? "" : plain) ||
    wordsOf(formats["text/latex"]) ||
    textOfHtml(wordsOf(formats["text/html"]), text) ||
    jsonOf(formats["application/json"])
  );
}

/** Its numbers are as they were written. */
function jsonOf(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : wordsOf(value);
}

/** Loses texts under names that no version of the format has. */
function tellUnknown(part: Named, text: Growing): void {
  for (const [name, value] of Object.entries(part)) {
    if (!KNOWN.has(name) && wordsOf(value).trim() !== "") text.unread(name);
  }
}

/**
 * The text that a terminal shows of what was printed on it: each line as it was written last,
 * without colors.
 */
function onTerminal(printed: string): string {
  if (!MOVES.test(printed)) return printed;
  const lines = printed.split("\n").map((line) => (REWRITES.test(line) ? rewritten(line) : line));
  return stripVTControlCharacters(lines.join("\n"));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: codes of terminals begin with one.
const MOVES = /[\r\b\u001b]/;

/** A return to the beginning of a line, a step back, or a deletion. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: codes of terminals begin with one.
const REWRITES = /[\r\b]|\u001b\[\d?K/;

/** A deletion, another code, what moves in the line, or words. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: codes of terminals begin with one.
const PIECES = /\u001b\[(\d?)K|\u001b(?:\[[\d;]*[A-Za-z])?|[\r\b]|[^\r\b\u001b]+/g;

/** The last state of a line. */
function rewritten(line: string): string {
  const cells: string[] = [];
  let at = 0;
  for (const [piece, deleted] of line.matchAll(PIECES)) {
    if (piece === "\r") at = 0;
    else if (piece === "\b") at = Math.max(0, at - 1);
    else if (deleted !== undefined) {
      cells.fill(" ", deleted === "1" || deleted === "2" ? 0 : at, deleted === "1" ? at : cells.length);
    } else if (!piece.startsWith("\u001b")) for (const sign of piece) cells[at++] = sign;
  }
  return cells.join("").trimEnd();
}
