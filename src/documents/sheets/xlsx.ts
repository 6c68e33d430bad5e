import { posix } from "node:path";
import type { Parts } from "../archives.ts";
import { type Growing, HIDDEN, OLD_VALUE, Unreadable } from "../growing.ts";
import { VERTICAL } from "../labels.ts";
import type { Attributes } from "../markup.ts";
import { type Handlers, isSaid, openXml, textsIn } from "../markup.ts";
import { mainOf, relatedPart, relationsOf } from "../office.ts";
import {
  type CellRuns,
  type CellValue,
  cellRuns,
  hasOwnWords,
  hiddenColumns,
  isRounded,
  MOST_COLUMNS,
  MOST_ROWS,
  momentOf,
  type NumberFormat,
  numberFormat,
  type SheetPass,
  textPass,
  textValue,
  UNSTORED,
} from "./sheets.ts";

export function readXlsx(parts: Parts, text: Growing): void {
  const { book, sheets } = openXlsx(parts, text);
  for (const { name, part, isHidden } of sheets) {
    const source = parts.text(part);
    if (source === "") text.lose("damaged part", name);
    else readSheet(parts, { part, source }, book, textPass(text, name, isHidden));
  }
  const drawings = parts.unopened().filter((name) => /\/drawings\/drawing\d+\.xml$/.test(name));
  for (const name of drawings) if (isSaid(parts.text(name), "a:t")) text.lose("text box");
}

/** A workbook's strings, and what its styles show numbers as. */
interface Workbook {
  readonly strings: readonly string[];
  readonly formats: readonly NumberFormat[];
  readonly is1904: boolean;
  /** True if a program is to calculate all formulas anew, whose values may be placeholders. */
  readonly isOld: boolean;
}

/** A sheet of a workbook. */
interface Sheet {
  readonly name: string;
  /** The name of its part; "" if it has none. */
  readonly part: string;
  readonly isHidden: boolean;
}

/**
 * The sheets of a workbook, and what their cells refer to.
 *
 * @throws Unreadable if its parts are binary
 */
export function openXlsx(parts: Parts, { unread }: Growing): { readonly book: Workbook; readonly sheets: Sheet[] } {
  const main = mainOf(parts, "xl/workbook.xml");
  if (main.endsWith(".bin"))
    throw new Unreadable("old_office", "is an XLSB workbook, which `soffice --convert-to xlsx` converts");
  const related = relationsOf(parts, main);
  const sheets: Sheet[] = [];
  let is1904 = false;
  let isOld = false;
  const xml = openXml(parts.text(main));
  const on: Handlers = {
    sheet({ name = "", "r:id": id = "", state = "" }) {
      const usual =
        related.size === 0 ? posix.join(posix.dirname(main), `worksheets/sheet${sheets.length + 1}.xml`) : "";
      const isHidden = /^(?:hidden|veryHidden)$/.test(state);
      sheets.push({ name: signsIn(name), part: related.get(id)?.target ?? usual, isHidden });
    },
    workbookPr: ({ date1904 }) => (is1904 = isTrue(date1904)),
    calcPr: ({ fullCalcOnLoad }) => (isOld = isTrue(fullCalcOnLoad)),
  };
  xml.walk({ take: () => xml.within("definedName"), unread, on });
  const of = (type: string) => parts.text(relatedPart(parts, main, type));
  const strings = stringsIn(of("sharedStrings"), unread);
  return { book: { strings, formats: formatsIn(of("styles")), is1904, isOld }, sheets };
}

const isTrue = (given: string | undefined) => given === "1" || given === "true";

/** The strings to which cells refer. */
function stringsIn(source: string, unread: (element: string) => void): string[] {
  const strings: string[] = [];
  const xml = openXml(source);
  const runs = cellRuns();
  let string = "";
  const take = (words: string) => {
    if (xml.within("t")) string += runs.said(words);
    return xml.within("t");
  };
  const on: Handlers = {
    ...runHandlers(runs),
    si() {
      string = "";
      runs.begin();
    },
    "/si": () => strings.push(signsIn(string)),
  };
  xml.walk({ take, unread, on, silent: SILENT });
  return strings;
}

/** Handlers of runs, which say for themselves whether they are raised. */
const runHandlers = ({ look }: CellRuns): Handlers => ({
  r: () => look(""),
  vertAlign: ({ val = "" }) => look(VERTICAL.get(val) ?? ""),
});

/** Text in which characters are written by their codes, since XML cannot hold them: `_x000D_`. */
function signsIn(text: string): string {
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** The formats of numbers by the styles of cells. */
function formatsIn(styles: string): NumberFormat[] {
  const codes = new Map<number, string>();
  const formats: NumberFormat[] = [];
  const xml = openXml(styles);
  const on: Handlers = {
    numFmt({ numFmtId, formatCode }) {
      // Looks by conditions have formats of their own, whose numbers may be the same.
      if (formatCode && xml.within("numFmts")) codes.set(Number(numFmtId), formatCode);
    },
    xf({ numFmtId = "0" }) {
      const id = Number(numFmtId);
      if (xml.within("cellXfs")) formats.push(numberFormat(id, codes.get(id)));
    },
  };
  xml.walk({ on });
  return formats;
}

/** Reads the rows and cells of a sheet, and names what stands beside them. @throws Unreadable */
export function readSheet<Cell>(
  parts: Parts,
  { part, source }: { readonly part: string; readonly source: string },
  book: Workbook,
  pass: SheetPass<Cell>,
): void {
  walkSheet(source, book, pass);
  for (const { type, target } of relationsOf(parts, part).values()) {
    const [shape, words] = type === "vmlDrawing" ? ["v:shape", "v:textbox"] : ["xdr:sp", "xdr:txBody"];
    const isDrawing = type === "vmlDrawing" || type === "drawing";
    // Newer programs keep a form of shapes of their own, before the one for others. That of a
    // control is empty.
    const texts = isDrawing ? textsIn(parts.text(target), shape, words, "mc:Choice") : [];
    for (const text of texts) if (text.trim() !== "") pass.lose("text box");
  }
}

/**
 * Elements whose text people do not see: formulas, ids, choices of cells that are formulas as well,
 * and how words are spoken.
 */
const SILENT = new Set("f formula formula1 formula2 xm:f xm:sqref x14:id x12ac:list customSheetViews rPh".split(" "));
const HEADERS = ["oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter"];

function walkSheet<Cell>(source: string, book: Workbook, pass: SheetPass<Cell>): void {
  const xml = openXml(source);
  const runs = cellRuns();
  let header = "";
  let row = 0;
  let cells: Cell[] = [];
  let value = "";
  let column = 0;
  let type = "n";
  let style = 0;
  let isFormula = false;
  let isStored = false;
  let hasCells = false;
  let isHidden = false;
  // Rows are hidden that do not say otherwise.
  let areHidden = false;
  const columns = hiddenColumns();
  const take = (said: string) => {
    if (xml.within("v", "t")) value += runs.said(said);
    else if (xml.within("headerFooter")) header += said;
    else return false;
    return true;
  };
  const beginHeader = () => {
    header += "&L";
  };
  const losePrompt = ({ prompt, promptTitle, tooltip }: Attributes) => {
    if (prompt || promptTitle || tooltip) pass.lose("cell prompt");
  };
  const on: Handlers = {
    ...Object.fromEntries(HEADERS.map((element) => [element, beginHeader])),
    "/headerFooter"() {
      if (hasOwnWords(header)) pass.lose("header or footer");
    },
    dataValidation: losePrompt,
    "x14:dataValidation": losePrompt,
    hyperlink: losePrompt,
    sheetData: () => (hasCells = true),
    sheetFormatPr: ({ zeroHeight }) => (areHidden = isTrue(zeroHeight)),
    col({ min, max, hidden }) {
      if (isTrue(hidden)) columns.hide(Number(min) - 1, Number(max) - Number(min) + 1);
    },
    row({ r, hidden }) {
      row = Math.min(Number(r) || row + 1, MOST_ROWS);
      cells = [];
      isHidden = hidden === undefined ? areHidden : isTrue(hidden);
    },
    "/row"() {
      if (isHidden && cells.some((one) => one !== pass.empty)) pass.lose(HIDDEN.row);
      columns.see(cells, pass.empty);
      pass.row(row, cells);
    },
    ...runHandlers(runs),
    c({ r = "", t = "n", s = "0", ph }) {
      runs.begin();
      column = columnOf(r) ?? cells.length;
      [type, style, value, isFormula, isStored] = [t, Number(s), "", false, false];
      if (ph === "1") pass.lose("reading of characters");
    },
    v: () => (isStored = true),
    f: () => (isFormula = true),
    "/c"() {
      const isEmptyText = type === "str" && isStored;
      if (value === "" && isFormula && !isEmptyText) pass.lose(UNSTORED);
      else if (isFormula && book.isOld) pass.lose(OLD_VALUE);
      const content = xlsxValue({ value, type, style }, book, () => pass.lose("fraction of a second"));
      const cell = content ? pass.cell(content) : pass.empty;
      const isFree = column < MOST_COLUMNS && (cells[column] ?? pass.empty) === pass.empty;
      if (content === null || (cell !== pass.empty && !isFree)) pass.lose("damaged cell");
      if (!isFree) return;
      while (cells.length < column) cells.push(pass.empty);
      cells[column] = cell;
    },
  };
  xml.walk({ take, unread: pass.unread, on, silent: SILENT });
  columns.tell(pass);
  if (!hasCells) pass.lose("sheet without cells");
}

/** The index of the column in a reference such as `AB12`. */
function columnOf(reference: string): number | null {
  const letters = /^[A-Z]{1,4}/.exec(reference)?.[0];
  if (letters === undefined) return null;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

/** A cell as its sheet has it. */
interface XlsxCell {
  readonly value: string;
  readonly type: string;
  readonly style: number;
}

/**
 * The value of a cell by its type and style; null: it refers to a string that is not there.
 *
 * @param round told if a moment is rounded
 */
function xlsxValue({ value, type, style }: XlsxCell, book: Workbook, round: () => void): CellValue | null {
  if (value === "") return textValue("");
  if (type === "s") {
    const string = book.strings[Number(value)];
    return string === undefined ? null : textValue(string);
  }
  if (type === "b") {
    const is = isTrue(value);
    return { type: "boolean", said: is ? "TRUE" : "FALSE", raw: String(is) };
  }
  if (type === "str" || type === "inlineStr") return textValue(signsIn(value));
  if (type === "d") return momentValue(value.replace("T", " ").replace(/ 00:00:00(?:\.000)?Z?$/, ""));
  if (type !== "n") return textValue(value);
  const format = book.formats[style];
  const moment = format && format.shows !== "number" ? momentOf(Number(value), format, book.is1904) : null;
  if (!format || moment === null) return { type: "number", said: value, raw: value };
  if (isRounded(Number(value), format)) round();
  return momentValue(moment);
}

const momentValue = (said: string): CellValue => ({ type: "text", said, raw: said.replace(" ", "T") });
