import type { Parts } from "./archives.ts";
import { cell, type Growing } from "./growing.ts";
import { durationOf, momentOf, type NumberFormat, numberFormat } from "./moments.ts";
import { mainOf, refuseEncrypted, relatedPart, relationsOf } from "./office.ts";
import { type Handlers, isSaid, openXml, textsIn, walkXml } from "./xml.ts";

const MOST_COLUMNS = 16_384;
const MOST_ROWS = 1_048_576;
const MOST_SPACES = 100;
/** Empty rows up to so many are empty lines. More of them begin the sheet's next part, since lines tell the numbers of rows. */
const EMPTY_LINES = 100;

/** Takes the rows of a sheet by their numbers, in their order. */
function rowsOf(text: Growing, sheet: string): (number: number, cells: readonly string[]) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (number, cells) => {
    const filled = cells.slice(0, cells.findLastIndex((said) => said !== "") + 1);
    if (filled.length === 0) return;
    if (number <= last || number > last + EMPTY_LINES) text.part(sheet, number);
    else text.add("\n".repeat(number - last - 1));
    text.add(`${filled.map(cell).join("\t")}\n`);
    last = number;
  };
}

/** A value of a cell. */
export interface CellValue {
  readonly type: "text" | "number" | "boolean";
  /** As it stands in texts. */
  readonly said: string;
  /** As it stands in the rows of jobs: a number as its file has it, `true` or `false`, or a text. */
  readonly raw: string;
}

const textValue = (said: string): CellValue => ({ type: "text", said, raw: said });

/** A workbook's strings, and what its styles show numbers as. */
interface Workbook {
  readonly strings: readonly string[];
  readonly formats: readonly NumberFormat[];
  readonly is1904: boolean;
}

/** A pass through a sheet: what it makes of cells, and where its rows go. */
export interface SheetPass<Cell> {
  /** Stands for a cell that is not there. */
  readonly empty: Cell;
  cell(value: CellValue): Cell;
  /** Called with each row, also with those that have no cells. */
  row(number: number, cells: readonly Cell[]): void;
  /** Called for what is left out of the sheet. */
  lose(kind: string): void;
  /** Called for each element whose text is not read. */
  unread(element: string): void;
}

export function readXlsx(parts: Parts, text: Growing): void {
  const { book, sheets } = openXlsx(parts);
  for (const { name, part } of sheets) {
    if (parts.names.has(part)) walkSheet(parts.text(part), book, textPass(text, name));
    else text.lose("damaged part", name);
  }
  const drawings = [...parts.names].filter((name) => /\/drawings\/drawing\d+\.xml$/.test(name));
  for (const name of drawings) if (isSaid(parts.text(name), "a:t")) text.lose("text box");
}

function textPass(text: Growing, sheet: string): SheetPass<string> {
  return {
    empty: "",
    cell: ({ said }) => said,
    row: rowsOf(text, sheet),
    lose: (kind) => text.lose(kind, sheet),
    unread: text.unread,
  };
}

/** The sheets of a workbook, each with the name of its part, and what their cells refer to. */
export function openXlsx(parts: Parts) {
  const main = mainOf(parts, "xl/workbook.xml");
  const related = relationsOf(parts, main);
  const sheets: { name: string; part: string }[] = [];
  let is1904 = false;
  walkXml(parts.text(main), {
    sheet: ({ name = "", "r:id": id = "" }) => sheets.push({ name, part: related.get(id)?.target ?? "" }),
    workbookPr: ({ date1904 }) => (is1904 = date1904 === "1" || date1904 === "true"),
  });
  const of = (type: string) => parts.text(relatedPart(parts, main, type));
  // Phonetic runs tell how the others are spoken.
  const strings = textsIn(of("sharedStrings"), "si", "t", { left: "rPh" }).map((one) => signsIn(one.text));
  const book: Workbook = { strings, formats: formatsIn(of("styles")), is1904 };
  return { book, sheets };
}

/** Text in which characters are written by their codes, since XML cannot hold them: `_x000D_`. */
function signsIn(text: string): string {
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** The formats of numbers by the styles of cells. */
function formatsIn(styles: string): NumberFormat[] {
  const codes = new Map<number, string>();
  const inherited: NumberFormat[] = [];
  const found: NumberFormat[] = [];
  const xml = openXml(styles);
  const on: Handlers = {
    numFmt({ numFmtId, formatCode }) {
      if (formatCode) codes.set(Number(numFmtId), formatCode);
    },
    xf({ numFmtId, xfId }) {
      const id = Number(numFmtId ?? 0);
      const format = (numFmtId === undefined && inherited[Number(xfId)]) || numberFormat(id, codes.get(id));
      if (xml.within("cellStyleXfs")) inherited.push(format);
      if (xml.within("cellXfs")) found.push(format);
    },
  };
  xml.walk({ on });
  return found;
}

/** Walks through the rows and cells of a sheet. @throws Unreadable */
export function walkSheet<Cell>(source: string, book: Workbook, pass: SheetPass<Cell>): void {
  const xml = openXml(source);
  let [row, cells, value]: [number, Cell[], string] = [0, [], ""];
  let [column, type, style, isFormula, isStored] = [0, "n", 0, false, false];
  const take = (said: string) => {
    // Phonetic runs tell how the others are spoken.
    if (xml.within("v", "t") && !xml.within("rPh")) value += said;
    return xml.within("v", "t", "f");
  };
  const on: Handlers = {
    row({ r }) {
      row = Math.min(Number(r) || row + 1, MOST_ROWS);
      cells = [];
    },
    "/row": () => pass.row(row, cells),
    c({ r = "", t = "n", s = "0" }) {
      column = Math.min(columnOf(r) ?? cells.length, MOST_COLUMNS - 1);
      [type, style, value, isFormula, isStored] = [t, Number(s), "", false, false];
    },
    v: () => (isStored = true),
    f: () => (isFormula = true),
    "/c"() {
      const isEmptyText = type === "str" && isStored;
      if (value === "" && isFormula && !isEmptyText) pass.lose("formula without a stored value");
      while (cells.length < column) cells.push(pass.empty);
      const found = xlsxValue(value, type, style, book);
      if (found === null) pass.lose("damaged cell");
      cells[column] = found ? pass.cell(found) : pass.empty;
    },
  };
  xml.walk({ take, unread: pass.unread, on });
}

/** The index of the column in a reference such as `AB12`. */
function columnOf(reference: string): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0];
  if (letters === undefined) return null;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

/** The value of a cell by its type and style; null: it refers to a string that is not there. */
function xlsxValue(value: string, type: string, style: number, book: Workbook): CellValue | null {
  if (value === "") return textValue("");
  if (type === "s") {
    const found = book.strings[Number(value)];
    return found === undefined ? null : textValue(found);
  }
  if (type === "b") {
    const isTrue = value === "1" || value === "true";
    return { type: "boolean", said: isTrue ? "TRUE" : "FALSE", raw: String(isTrue) };
  }
  if (type === "str" || type === "inlineStr") return textValue(signsIn(value));
  if (type !== "n") return textValue(value);
  const format = book.formats[style];
  const moment = format && format.shows !== "number" ? momentOf(Number(value), format, book.is1904) : null;
  if (moment === null) return { type: "number", said: value, raw: value };
  return { type: "text", said: moment, raw: moment.replace(" ", "T") };
}

/** @throws Unreadable */
export function readOds(parts: Parts, text: Growing): void {
  walkOds(parts, (sheet) => textPass(text, sheet));
}

/** Walks through the sheets of an ODS file. Rows that are repeated come as often as they stand there, unless they are empty. @throws Unreadable */
export function walkOds<Cell>(parts: Parts, passOf: (sheet: string) => SheetPass<Cell>): void {
  refuseEncrypted(parts);
  const xml = openXml(parts.text("content.xml"));
  let pass = passOf("");
  let [row, rows, cells, value, columns]: [number, number, Cell[], string | null, number] = [0, 1, [], null, 1];
  let facts: Readonly<Record<string, string>> = {};
  const times = (given: string | undefined, most: number) => Math.min(Math.max(Number(given) || 1, 1), most);
  const put = (said: string) => {
    const isComment = xml.within("office:annotation");
    if (value !== null && !isComment) value += said;
    return value !== null || isComment;
  };
  const on: Handlers = {
    "table:table"({ "table:name": name = "" }) {
      pass = passOf(name);
      row = 0;
    },
    "table:table-row"({ "table:number-rows-repeated": given }) {
      [rows, cells] = [times(given, MOST_ROWS), []];
    },
    "/table:table-row"() {
      const isEmpty = cells.every((cell) => cell === pass.empty);
      for (let n = 1; n <= rows && !isEmpty; n++) pass.row(row + n, cells);
      row += rows;
    },
    "table:table-cell"(found) {
      [value, columns] = ["", times(found["table:number-columns-repeated"], MOST_COLUMNS - cells.length)];
      facts = found;
    },
    "/table:table-cell"() {
      if (cells.length < MOST_COLUMNS)
        cells.push(...new Array<Cell>(columns).fill(pass.cell(odsValue(value ?? "", facts))));
      value = null;
    },
    // Another cell covers these.
    "table:covered-table-cell": ({ "table:number-columns-repeated": given }) =>
      cells.push(...new Array<Cell>(times(given, Math.max(MOST_COLUMNS - cells.length, 1))).fill(pass.empty)),
    "text:p": () => put(value === "" ? "" : "\n"),
    "text:s": (spaces) => put(" ".repeat(times(spaces["text:c"], MOST_SPACES))),
    "text:tab": () => put("\t"),
    "text:line-break": () => put("\n"),
    "office:annotation": () => pass.lose("comment"),
  };
  xml.walk({ take: put, unread: (element) => pass.unread(element), on });
}

/** The value of a cell. @param words the cell's text, "" without one */
function odsValue(words: string, facts: Readonly<Record<string, string>>): CellValue {
  // The value of an error is 0.
  if (facts["calcext:value-type"] === "error") return textValue(words);
  const number = facts["office:value"];
  if (number !== undefined) return { type: "number", said: number, raw: number };
  const truth = facts["office:boolean-value"];
  if (truth !== undefined)
    return { type: "boolean", said: words || truth.toUpperCase(), raw: String(truth === "true") };
  const time = facts["office:time-value"];
  const exact = facts["office:date-value"] ?? (time && (durationOf(time) ?? time));
  if (exact !== undefined) return textValue(exact);
  const text = facts["office:string-value"];
  return { type: "text", said: words || text || "", raw: text || words };
}
