import { openParts, type Parts } from "./archives.ts";
import { type Growing, Unreadable } from "./growing.ts";
import { extensionOf, type FileKind } from "./kinds.ts";
import { relationsOf } from "./office.ts";
import { walkOds } from "./sheets/ods.ts";
import { type CellValue, passOf, type SheetPass } from "./sheets/sheets.ts";
import { openXlsx, readSheet } from "./sheets/xlsx.ts";
import { inDatabase, passParquet, passTable, type TablePass, tablesIn, tellReplaced } from "./tables.ts";

// Rows of one sheet or table with their raw values: `[7,["a",1.50,null]]` for the seventh row, a
// line for each. Numbers are as the file has them, and dates have their ISO form. Tables with named
// columns begin with a line `[0,[names]]`.

/** The sheet or table whose rows are wanted; null: the only one. */
export interface RowsRequest {
  readonly table: string | null;
}

/** An original whose rows are wanted. */
interface Tabular {
  readonly kind: FileKind;
  readonly name: string;
  readonly bytes: Buffer;
  /** The private copy of a database. */
  readonly file: string | undefined;
}

/** Reads the rows of a sheet or table into lines. Returns its name. @throws Unreadable */
export async function readRows(from: Tabular, request: RowsRequest, text: Growing): Promise<string> {
  let isEmpty = true;
  const add = (line: string) => {
    isEmpty = false;
    text.add(line);
  };
  const name = await rowsInto(from, request, { ...text, add });
  if (isEmpty) throw new Unreadable("which_table", `has no rows in ${JSON.stringify(name)}`);
  return name;
}

async function rowsInto(from: Tabular, { table }: RowsRequest, text: Growing): Promise<string> {
  const { kind, bytes } = from;
  if (kind === "sqlite") return databaseRows(from.file ?? bytes, table, text);
  if (kind === "parquet") return parquetRows(bytes, table, text);
  if (kind !== "zip") throw new Unreadable("left_out", "not a workbook or a database");
  const parts = await openParts(bytes, text.lose);
  return extensionOf(from.name) === "ods" ? odsRows(parts, table, text) : xlsxRows(parts, table, text);
}

/** JSON of a value within a row. */
type CellJson = string;

/** A cell that is empty. */
const EMPTY: CellJson = '""';

function addRow(text: Growing, number: number, cells: readonly CellJson[]): void {
  const filled = cells.slice(0, cells.findLastIndex((cell) => cell !== EMPTY) + 1);
  if (filled.length > 0) text.add(`[${number},[${filled.join(",")}]]\n`);
}

const SHOWN = 20;

/** The one that is wanted. @throws Unreadable that names those there are */
function chosen<T extends { readonly name: string }>(all: readonly T[], wanted: string | null, what: string): T {
  const [first] = all;
  const match = wanted === null ? first : all.find(({ name }) => name === wanted);
  if (match && (wanted !== null || all.length === 1)) return match;
  const names = all.slice(0, SHOWN).map(({ name }) => JSON.stringify(name));
  const listed = `${names.join(", ")}${all.length > SHOWN ? ", …" : ""}`;
  if (all.length === 0) throw new Unreadable("no_text", `has no ${what} with rows`);
  const problem =
    wanted === null ? `has ${all.length} ${what}s` : `has no ${what} ${JSON.stringify(wanted.slice(0, 100))}`;
  throw new Unreadable("which_table", `${problem}${wanted === null ? ":" : "; it has"} ${listed}`);
}

function xlsxRows(parts: Parts, wanted: string | null, text: Growing): string {
  const { book, sheets } = openXlsx(parts, text);
  const all = sheets.map((sheet) => ({ ...sheet, source: parts.text(sheet.part) }));
  // Programs add sheets, and the last ones stay empty.
  const filled = all.filter(({ source }) => /<(?:[^\s<>/:]+:)?[vtf][\s>]/.test(source));
  const sheet = chosen(wanted === null ? filled : all, wanted, "sheet");
  readSheet(parts, sheet, book, rowsPass(sheet.name, text));
  for (const { type } of relationsOf(parts, sheet.part).values()) {
    if (/^(?:comments|threadedComment)$/.test(type)) text.lose("part with comments");
  }
  return sheet.name;
}

function rowsPass(sheet: string, text: Growing): SheetPass<CellJson> {
  return passOf(text, sheet, { empty: EMPTY, cell: cellJson, row: (number, cells) => addRow(text, number, cells) });
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A number as it is written; a text if it is not one of JSON. */
const numberJson = (value: string): CellJson => (NUMBER.test(value) ? value : JSON.stringify(value));

function cellJson({ type, raw }: CellValue): CellJson {
  if (type === "boolean") return raw;
  return type === "number" ? numberJson(raw) : JSON.stringify(raw);
}

function odsRows(parts: Parts, wanted: string | null, text: Growing): string {
  const names: { readonly name: string }[] = [];
  const silent = { empty: EMPTY, cell: cellJson, row: () => {}, lose: () => {}, unread: () => {} };
  walkOds<CellJson>(parts, (name) => ({
    ...silent,
    row: () => {
      if (!names.some((one) => one.name === name)) names.push({ name });
    },
  }));
  const { name } = chosen(names, wanted, "sheet");
  walkOds(parts, (sheet) => (sheet === name ? rowsPass(name, text) : silent));
  return name;
}

function databaseRows(from: string | Buffer, wanted: string | null, text: Growing): string {
  return inDatabase(from, (database) => {
    const tables = tablesIn(database).filter(({ type }) => type === "table");
    const { name } = chosen(tables, wanted, "table");
    passTable(database, name, jsonPass(text, name));
    return name;
  });
}

const ROWS = "rows";

async function parquetRows(bytes: Buffer, wanted: string | null, text: Growing): Promise<string> {
  chosen([{ name: ROWS }], wanted, "table");
  await passParquet(bytes, text.progress, jsonPass(text, ROWS));
  return ROWS;
}

/** A pass that adds a line of JSON for the columns of a table and for each row. */
function jsonPass(text: Growing, table: string): TablePass {
  let number = 0;
  return {
    columns: (names) => text.add(`[0,${JSON.stringify(names)}]\n`),
    row(values) {
      number += 1;
      text.add(`[${number},[${values.map((value) => valueJson(value, table, text)).join(",")}]]\n`);
    },
  };
}

/** A value of a database or a Parquet file. Binary ones are a loss. */
function valueJson(value: unknown, table: string, text: Growing): CellJson {
  if (value === null || value === undefined) return "null";
  tellReplaced(value, table, text);
  if (typeof value === "bigint") return String(value);
  if (value instanceof Date) return JSON.stringify(value.toISOString().replace("T00:00:00.000Z", ""));
  if (value instanceof Uint8Array) {
    text.lose("binary value", table);
    return "null";
  }
  if (typeof value === "number" && !Number.isFinite(value)) return JSON.stringify(String(value));
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "bigint" ? JSON.rawJSON(String(inner)) : inner,
  );
}
