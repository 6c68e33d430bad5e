import { readFileSync, statSync } from "node:fs";
import { pipeline, Readable } from "node:stream";
import type { CsvError } from "csv-parse";
import { isHiddenPart, lossText, MOST_ORIGINAL_BYTES, OLD_VALUE, tableOf } from "../../context/index.ts";
import { amount, thousands } from "../../platform/figures.ts";
import { statsOf } from "../../platform/paths.ts";
import { shellWord } from "../../platform/shell-word.ts";
import type { WrittenJson } from "../../platform/written-json.ts";
import { BadInput, type Input, LINE_BYTES, linesOf, placeOf, readValue, type TableDecoding } from "./lines.ts";

/** A row of a table, and its place: `line 3 of jobs.csv`. */
interface TableRow {
  readonly at: string;
  readonly cells: readonly WrittenJson[];
}

/** Facts of a table that the user states by flags. */
export interface TableShape {
  /** The character between columns; absent: that of the file's extension. */
  readonly delimiter?: string | undefined;
  /** The names of the columns, in place of those that the table has. */
  readonly columns?: readonly string[] | undefined;
  /** The first row is not one of names. */
  readonly noHeader?: boolean | undefined;
  /** The sheet of a workbook. */
  readonly sheet?: string | undefined;
  /** The table of a database. */
  readonly table?: string | undefined;
}

/**
 * An object for each row, by the names of the columns. Rows are numbered from 1.
 *
 * @throws BadInput
 */
export async function* rowInputs(
  rows: AsyncIterable<TableRow>,
  { columns, noHeader = false }: TableShape,
): AsyncIterable<Input> {
  let names: readonly string[] | null = null;
  let row = 0;
  for await (const { at, cells } of rows) {
    const isHeader = names === null && !noHeader;
    names ??= columns ?? (noHeader ? cells.map((_, index) => numbered(index)) : checkedHeader(cells, at));
    if (columns !== undefined && cells.length > columns.length) throw otherWidth(at, cells, columns);
    if (cells.length > names.length) {
      const wide = [...names, ...cells.slice(names.length).map(() => "")];
      throw new BadInput(at, `has ${cells.length} columns, and the first row has ${names.length}`, wayOn(wide));
    }
    if (isHeader) continue;
    row += 1;
    yield { at, row, value: Object.fromEntries(names.map((name, index) => [name, cellAt(cells, index)])) };
  }
}

/** The problem of a row that has not as many columns as the user named. */
function otherWidth(at: string, cells: readonly unknown[], columns: readonly string[]): BadInput {
  return new BadInput(at, `has ${amount(cells.length, "column")}, and --columns names ${columns.length}`);
}

/** A row of a sheet ends with its last cell that is filled. */
const cellAt = (cells: readonly WrittenJson[], index: number) => (index < cells.length ? (cells[index] ?? null) : "");

const numbered = (index: number) => `column_${index + 1}`;

function checkedHeader(cells: readonly WrittenJson[], at: string): readonly string[] {
  const names = cells.map((cell) => (typeof cell === "string" ? cell : JSON.stringify(cell)));
  const empty = names.findIndex((name) => name.trim() === "" || name === "null");
  if (empty !== -1) throw new BadInput(at, `has no name for column ${empty + 1}`, wayOn(names));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new BadInput(at, `names two columns ${JSON.stringify(twice.slice(0, 80))}`, wayOn(names));
  const [first = ""] = names;
  if (!NUMBER.test(first)) return names;
  throw new BadInput(at, `names its first column ${first}, so that it may be no header`, wayOn(names));
}

const NUMBER = /^[+-]?\d+([.,]\d+)*$/;

/** The flag that names the columns, with names that are free. */
function wayOn(names: readonly string[]): string {
  const taken = new Set<string>();
  const free = names.map((name, index) => {
    const plain = name.trim().replaceAll(",", " ");
    const isName = plain !== "" && plain !== "null" && !NUMBER.test(plain) && !taken.has(plain);
    const chosen = isName ? plain : numbered(index);
    taken.add(chosen);
    return chosen;
  });
  const listed = free.length > MOST_SHOWN ? [...free.slice(0, MOST_SHOWN), "…"] : free;
  return `Name the columns: --columns ${shellWord(listed.join(","))}; add --no-header if the first row is not one of names.`;
}

const MOST_SHOWN = 20;

/** An object of strings for each row, by the names in the header (RFC 4180). @throws BadInput */
export function csvRows(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  decoding?: TableDecoding,
  shape: TableShape = {},
): AsyncIterable<Input> {
  return rowInputs(parsedRows(chunks, name, decoding, shape), shape);
}

const TAB = "\t";

async function* parsedRows(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  decoding: TableDecoding | undefined,
  { delimiter, columns }: TableShape,
): AsyncIterable<TableRow> {
  const usual = /\.(?:tsv|tab)(?:\.\w+)?$/i.test(name) ? TAB : ",";
  const lines = linesOf(chunks, name, LINE_BYTES, decoding);
  const { separator, begun } = await beginningOf(lines, name, { delimiter, usual });
  const { CsvError, parse } = await import("csv-parse");
  const parser = parse({
    info: true,
    delimiter: separator,
    max_record_size: LINE_BYTES,
    record_delimiter: ENDS,
    skip_empty_lines: true,
    // Programs that write tabs between columns seldom quote.
    relax_quotes: separator === TAB,
  });
  // A failure of either side destroys the parser, which then rejects below.
  pipeline(Readable.from(withEnds(begun, lines)), parser, () => {});
  let emptyBefore: number | undefined;
  let empty = 0;
  try {
    for await (const { record, info } of parser) {
      const cells: readonly string[] = record;
      const before = emptyBefore ?? info.empty_lines;
      emptyBefore = before;
      empty = cells.length === 1 ? info.empty_lines - before : 0;
      const at = placeOf(info.lines, name);
      // All rows have as many fields as the first one.
      if (columns !== undefined && cells.length !== columns.length) throw otherWidth(at, cells, columns);
      yield { at, cells };
    }
    // In one column an empty line may be meant as a value.
    const lines = amount(empty, "empty line is", "empty lines are");
    if (empty > 0) decoding?.note(`${name}: ${lines} passed over; an empty value is ""`);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number("lines" in error ? error.lines : 1);
    throw new BadInput(placeOf(line, name), PROBLEMS[error.code] ?? error.message.slice(0, 200));
  }
}

/** A file may have both. */
const ENDS = ["\r\n", "\n"];

/** A line of the file, with its number from 1. */
interface Line {
  readonly number: number;
  readonly text: string;
}

async function* withEnds(begun: readonly Line[], lines: AsyncIterable<Line>): AsyncIterable<string> {
  for (const { text } of begun) yield `${text}\n`;
  for await (const { text } of lines) yield `${text}\n`;
}

/** The separator of a table, and its lines up to the first one that has words. */
interface Beginning {
  readonly separator: string;
  readonly begun: readonly Line[];
}

/**
 * Looks at the beginning of a table before the parser complains of quotes.
 *
 * @throws BadInput if its lines or columns end with another sign
 */
async function beginningOf(
  lines: AsyncIterator<Line>,
  name: string,
  { delimiter, usual }: { readonly delimiter: string | undefined; readonly usual: string },
): Promise<Beginning> {
  const begun: Line[] = [];
  for (;;) {
    const next = await lines.next();
    if (next.done) return { separator: delimiter ?? usual, begun };
    const { number, text } = next.value;
    const said = SAID.exec(text)?.[1];
    if (said !== undefined) return { separator: delimiter ?? said, begun: [...begun, { number, text: "" }] };
    begun.push(next.value);
    if (text.trim() === "") continue;
    checkEnds(next.value, name);
    if (delimiter === undefined) checkSeparator(next.value, name, usual);
    return { separator: delimiter ?? usual, begun };
  }
}

/** A first line that tells spreadsheets the separator, and is no row. */
const SAID = /^"?sep=(.)"?\r?$/i;

const withoutQuoted = (text: string) => text.replace(/"(?:[^"]|"")*"?/g, "");

function checkEnds({ number, text }: Line, name: string): void {
  if (!/\r[^\r]/.test(withoutQuoted(text))) return;
  const problem = "ends its lines with carriage returns alone";
  throw new BadInput(placeOf(number, name), problem, "`tr '\\r' '\\n'` makes line feeds of them.");
}

function checkSeparator({ number, text }: Line, name: string, separator: string): void {
  const unquoted = withoutQuoted(text);
  const count = (sign: string) => unquoted.split(sign).length - 1;
  // Names of columns may have commas, and hardly anything else that separates.
  const others = Object.keys(SEPARATORS).filter((one) => one !== separator && count(one) > 0);
  const other =
    count(separator) === 0 ? others[0] : others.find((one) => one !== "," && count(one) >= count(separator));
  if (other === undefined || (separator === TAB && count(TAB) > 0)) return;
  const problem = `has ${SEPARATORS[other]} between its columns, and not ${SEPARATORS[separator]}`;
  const say = (one: string) => `--delimiter ${one === TAB ? "tab" : shellWord(one)}`;
  const both = count(separator) > 0 ? `, or ${say(separator)} if that separates them` : "";
  throw new BadInput(placeOf(number, name), problem, `Say so: ${say(other)}${both}.`);
}

const SEPARATORS: Readonly<Record<string, string>> = { ";": "semicolons", [TAB]: "tabs", "|": "bars", ",": "commas" };

const PROBLEMS: Readonly<Partial<Record<CsvError["code"], string>>> = {
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: "has another number of fields than the header",
  CSV_QUOTE_NOT_CLOSED: "has a quote that is not closed",
  CSV_INVALID_CLOSING_QUOTE: "goes on after a closing quote; a quote within a field is doubled",
  INVALID_OPENING_QUOTE: "has a quote within a field that does not begin with one; put such a field in quotes",
  CSV_MAX_RECORD_SIZE: "belongs to a row of more than 1 MB",
};

/**
 * The kind of a file whose rows its reader gives: a workbook, also one that is encrypted or old, a
 * database or a Parquet file.
 */
export type TabularKind = "zip" | "ole" | "sqlite" | "parquet";

interface DocumentReading {
  readonly signal: AbortSignal;
  /** Told what of the table no row has. */
  note(sentence: string): void;
  /** Bytes of a row. */
  readonly most?: number | undefined;
}

/**
 * The rows of a sheet or table.
 *
 * @throws BadInput; RlmError as a load of the document has
 */
export async function* documentRows(
  path: string,
  kind: TabularKind,
  { sheet, table = sheet }: TableShape,
  { signal, note, most = LINE_BYTES }: DocumentReading,
): AsyncIterable<TableRow> {
  const wal = kind === "sqlite" && statsOf(`${path}-wal`)?.isFile() ? { wal: original(`${path}-wal`) } : {};
  const from = { way: { kind, plain: [] }, bytes: original(path), decoding: { bad: "none" }, ...wal } as const;
  const { name, lines, lost } = await tableOf(path, from, { table: table ?? null }, { signal });
  for (const { kind, count } of lost) {
    const fate = isHiddenPart(kind) ? " read too" : kind === OLD_VALUE ? "" : " left out";
    note(`${path}: ${lossText(kind, count)} of ${name}${fate}`);
  }
  async function* chunks(): AsyncIterable<Uint8Array> {
    yield lines;
  }
  for await (const { text } of linesOf(chunks(), path, most)) {
    const [number, cells] = rowIn(readValue(text, path), path);
    const row = number === 0 ? "header" : `row ${thousands(number)}`;
    yield { at: `${row} of ${name} in ${path}`, cells };
  }
}

/** All bytes of a file. @throws BadInput if they are too many */
function original(path: string): Uint8Array {
  if (statSync(path).size <= MOST_ORIGINAL_BYTES) return readFileSync(path);
  const problem = `is larger than ${MOST_ORIGINAL_BYTES / 2 ** 20} MB`;
  throw new BadInput(path, problem, "Export what you need of it as .csv, and name that file.");
}

/**
 * The number and the cells of a row. A document may have taken over its reader, so nothing of the
 * line is trusted.
 */
function rowIn(line: WrittenJson, path: string): [number: number, cells: readonly WrittenJson[]] {
  if (Array.isArray(line)) {
    const [number, cells]: readonly WrittenJson[] = line;
    if (typeof number === "number" && Array.isArray(cells)) return [number, cells];
  }
  throw new BadInput(path, "cannot be read: its reader gave a row that is none");
}
