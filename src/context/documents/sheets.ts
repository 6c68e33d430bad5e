import type { Parts } from "./archives.ts";
import { cell, type Growing } from "./growing.ts";
import { mainOf, refuseEncrypted, relatedPart, relationsOf } from "./office.ts";
import { type Handlers, isSaid, openXml, textsIn, walkXml } from "./xml.ts";

const MOST_COLUMNS = 16_384;
const MOST_ROWS = 1_048_576;
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

/** A workbook's strings, and what its styles show numbers as. */
export interface Workbook {
  readonly strings: readonly string[];
  /** `date` of dates and times of day, `elapsed` of hours that go beyond a day. */
  readonly styles: readonly ("date" | "elapsed" | null)[];
  readonly is1904: boolean;
}

/** A pass through a sheet: what it makes of cells, and where its rows go. */
export interface SheetPass<Cell> {
  /** Stands for a cell that is not there. */
  readonly empty: Cell;
  cell(value: string, facts: CellFacts): Cell;
  /** Called with each row, also with those that have no cells. */
  row(number: number, cells: readonly Cell[]): void;
  /** Called for a formula whose value is not stored. */
  unstored(): void;
  /** Called for each element whose text is not read. */
  unread(element: string): void;
}

/** The type of a cell as its file has it, and the number of its style. */
export interface CellFacts {
  readonly type: string;
  readonly style: number;
}

export function readXlsx(parts: Parts, text: Growing): void {
  const { book, sheets } = openXlsx(parts);
  for (const { name, part } of sheets) {
    if (parts.names.has(part)) walkSheet(parts.text(part), textPass(text, name, book));
    else text.lose("damaged part", name);
  }
  const drawings = [...parts.names].filter((name) => /^xl\/drawings\/drawing\d+\.xml$/.test(name));
  for (const name of drawings) if (isSaid(parts.text(name), "a:t")) text.lose("text box");
}

function textPass(text: Growing, sheet: string, book: Workbook): SheetPass<string> {
  return {
    empty: "",
    cell: (value, facts) => shown(value, facts, book),
    row: rowsOf(text, sheet),
    unstored: () => text.lose("formula without a stored value", sheet),
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
  const strings = textsIn(of("sharedStrings"), "si", "t", { left: "rPh" }).map((one) => one.text);
  const book: Workbook = { strings, styles: stylesIn(of("styles")), is1904 };
  return { book, sheets };
}

/** Formats of dates and times that have no code of their own (ECMA-376, 18.8.30). */
const DATES = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]);

/** The code of a format that counts hours beyond a day. */
const ELAPSED = 46;

function stylesIn(styles: string): Workbook["styles"] {
  const codes = new Map<number, string>();
  const found: Workbook["styles"][number][] = [];
  const xml = openXml(styles);
  const on: Handlers = {
    numFmt: ({ numFmtId, formatCode = "" }) => codes.set(Number(numFmtId), formatCode),
    xf({ numFmtId }) {
      if (!xml.within("cellXfs")) return;
      const id = Number(numFmtId);
      const code = codes.get(id) ?? "";
      const plain = code.replace(/"[^"]*"|\[[^\]]*\]|\\.|general/gi, "");
      const isElapsed = id === ELAPSED || /\[(?:h+|m+|s+)\]/i.test(code);
      if (isElapsed) found.push("elapsed");
      else found.push(DATES.has(id) || /[ymdhs]/i.test(plain) ? "date" : null);
    },
  };
  xml.walk({ on });
  return found;
}

/** Walks through the rows and cells of a sheet. @throws Unreadable */
export function walkSheet<Cell>(source: string, pass: SheetPass<Cell>): void {
  const xml = openXml(source);
  let [row, cells, value, isFormula]: [number, Cell[], string, boolean] = [0, [], "", false];
  let [column, type, style] = [0, "n", 0];
  const take = (said: string) => {
    if (xml.within("v", "t")) value += said;
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
      [type, style, value, isFormula] = [t, Number(s), "", false];
    },
    "/c"() {
      if (value === "" && isFormula) pass.unstored();
      while (cells.length < column) cells.push(pass.empty);
      cells[column] = pass.cell(value, { type, style });
    },
    f: () => (isFormula = true),
  };
  xml.walk({ take, unread: pass.unread, on });
}

/** The index of the column in a reference such as `AB12`. */
function columnOf(reference: string): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0];
  if (letters === undefined) return null;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function shown(value: string, { type, style }: CellFacts, { strings, styles, is1904 }: Workbook): string {
  if (value === "") return "";
  if (type === "s") return strings[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  return type === "n" && styles[style] ? dateOf(Number(value), is1904) : value;
}

const DAY_MS = 86_400_000;
/** Days from the beginning of a workbook's calendar to 1970. */
const [TO_1970, FROM_1900_TO_1904] = [25_569, 1462];

/** A date, a time, or both with a space between them, of days since the workbook's calendar began. */
export function dateOf(days: number, is1904: boolean): string {
  const date = new Date(Math.round((days + (is1904 ? FROM_1900_TO_1904 : 0) - TO_1970) * DAY_MS));
  if (Number.isNaN(date.getTime())) return String(days);
  const iso = date.toISOString();
  if (Number.isInteger(days)) return iso.slice(0, 10);
  return days < 1 ? iso.slice(11, 19) : iso.slice(0, 19).replace("T", " ");
}

/** @throws Unreadable */
export function readOds(parts: Parts, text: Growing): void {
  walkOds(parts, (sheet) => {
    const row = rowsOf(text, sheet);
    return {
      empty: "",
      cell: (words, facts) => facts["office:date-value"] ?? facts["office:value"] ?? words,
      row,
      unread: text.unread,
      hasComments: true,
    };
  });
}

/** A pass through a sheet of an ODS file. */
export interface OdsPass<Cell> extends Pick<SheetPass<Cell>, "empty" | "row" | "unread"> {
  /** @param words the cell's text, "" without one */
  cell(words: string, facts: Readonly<Record<string, string>>): Cell;
  /** The words of comments are among those of their cells. */
  readonly hasComments: boolean;
}

/** Walks through the sheets of an ODS file. Rows that are repeated come as often as they stand there, unless they are empty. @throws Unreadable */
export function walkOds<Cell>(parts: Parts, passOf: (sheet: string) => OdsPass<Cell>): void {
  refuseEncrypted(parts);
  const xml = openXml(parts.text("content.xml"));
  let pass = passOf("");
  let [row, rows, cells, value, columns]: [number, number, Cell[], string | null, number] = [0, 1, [], null, 1];
  let facts: Readonly<Record<string, string>> = {};
  const times = (given: string | undefined, most: number) => Math.min(Math.max(Number(given) || 1, 1), most);
  const put = (said: string) => {
    const isComment = xml.within("office:annotation");
    if (value !== null && (pass.hasComments || !isComment)) value += said;
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
      if (cells.length < MOST_COLUMNS) cells.push(...new Array<Cell>(columns).fill(pass.cell(value ?? "", facts)));
      value = null;
    },
    // Another cell covers these.
    "table:covered-table-cell": ({ "table:number-columns-repeated": given }) =>
      cells.push(...new Array<Cell>(times(given, Math.max(MOST_COLUMNS - cells.length, 1))).fill(pass.empty)),
    "text:p": () => put(value === "" ? "" : "\n"),
    "text:s": () => put(" "),
  };
  xml.walk({ take: put, unread: (element) => pass.unread(element), on });
}
