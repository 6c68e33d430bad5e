import type { Parts } from "./archives.ts";
import { cell, type Growing } from "./growing.ts";
import { openXml, textsIn, walkXml } from "./markup.ts";
import { refuseEncrypted, relationsOf } from "./office.ts";

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

/** A workbook's strings, and the styles that are dates. */
interface Workbook {
  readonly strings: readonly string[];
  readonly dates: readonly boolean[];
  readonly is1904: boolean;
}

export function readXlsx(parts: Parts, text: Growing): void {
  const main = "xl/workbook.xml";
  const related = relationsOf(parts, main);
  const sheets: { name: string; part: string }[] = [];
  let is1904 = false;
  walkXml(parts.text(main), {
    sheet: ({ name = "", "r:id": id = "" }) => sheets.push({ name, part: related.get(id)?.target ?? "" }),
    workbookPr: ({ date1904 }) => (is1904 = date1904 === "1" || date1904 === "true"),
  });
  const shared = [...related.values()].find(({ type }) => type === "sharedStrings");
  const strings = shared
    ? // Phonetic runs tell how the others are spoken.
      textsIn(parts.text(shared.target), "si", "t", { left: "rPh" }).map((one) => one.text)
    : [];
  const book = { strings, dates: datesIn(parts.text("xl/styles.xml")), is1904 };
  for (const { name, part } of sheets) {
    if (parts.names.has(part)) readSheet(parts.text(part), text, name, book);
    else text.lose("damaged part", name);
  }
  const drawings = [...parts.names].filter((name) => /^xl\/drawings\/drawing\d+\.xml$/.test(name));
  for (const name of drawings) if (parts.text(name).includes("<a:t>")) text.lose("text box");
}

/** Formats of dates and times that have no code of their own (ECMA-376, 18.8.30). */
const DATES = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]);

/** True for each style that shows a date or a time. */
function datesIn(styles: string): boolean[] {
  const codes = new Map<number, string>();
  const found: boolean[] = [];
  const xml = openXml(styles);
  xml.walk(() => {}, {
    numFmt: ({ numFmtId, formatCode = "" }) => codes.set(Number(numFmtId), formatCode),
    xf({ numFmtId }) {
      if (!xml.within("cellXfs")) return;
      const code = (codes.get(Number(numFmtId)) ?? "").replace(/"[^"]*"|\[[^\]]*\]|\\.|general/gi, "");
      found.push(DATES.has(Number(numFmtId)) || /[ymdhs]/i.test(code));
    },
  });
  return found;
}

function readSheet(source: string, text: Growing, sheet: string, book: Workbook): void {
  const add = rowsOf(text, sheet);
  const xml = openXml(source);
  let [row, cells, value, isFormula]: [number, string[], string, boolean] = [0, [], "", false];
  let [column, type, style] = [0, "n", 0];
  const put = (said: string) => {
    if (xml.within("v", "t")) value += said;
  };
  xml.walk(put, {
    row({ r }) {
      row = Math.min(Number(r) || row + 1, MOST_ROWS);
      cells = [];
    },
    "/row": () => add(row, cells),
    c({ r = "", t = "n", s = "0" }) {
      column = Math.min(columnOf(r) ?? cells.length, MOST_COLUMNS - 1);
      [type, style, value, isFormula] = [t, Number(s), "", false];
    },
    "/c"() {
      if (value === "" && isFormula) text.lose("formula without a stored value", sheet);
      while (cells.length < column) cells.push("");
      cells[column] = shown(value, type, style, book);
    },
    f: () => (isFormula = true),
  });
}

/** The index of the column in a reference such as `AB12`. */
function columnOf(reference: string): number | null {
  const letters = /^[A-Z]{1,3}/.exec(reference)?.[0];
  if (letters === undefined) return null;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function shown(value: string, type: string, style: number, { strings, dates, is1904 }: Workbook): string {
  if (value === "") return "";
  if (type === "s") return strings[Number(value)] ?? "";
  if (type === "b") return value === "1" ? "TRUE" : "FALSE";
  return type === "n" && dates[style] ? dateOf(Number(value), is1904) : value;
}

const DAY_MS = 86_400_000;
/** Days from the beginning of a workbook's calendar to 1970. */
const [TO_1970, FROM_1900_TO_1904] = [25_569, 1462];

function dateOf(days: number, is1904: boolean): string {
  const date = new Date(Math.round((days + (is1904 ? FROM_1900_TO_1904 : 0) - TO_1970) * DAY_MS));
  if (Number.isNaN(date.getTime())) return String(days);
  const iso = date.toISOString();
  if (Number.isInteger(days)) return iso.slice(0, 10);
  return days < 1 ? iso.slice(11, 19) : iso.slice(0, 19).replace("T", " ");
}

/** @throws Unreadable */
export function readOds(parts: Parts, text: Growing): void {
  refuseEncrypted(parts);
  let add = rowsOf(text, "");
  let [row, rows, cells, value, columns]: [number, number, string[], string | null, number] = [0, 1, [], null, 1];
  let stored: string | undefined;
  const times = (given: string | undefined, most: number) => Math.min(Math.max(Number(given) || 1, 1), most);
  const put = (said: string) => {
    if (value !== null) value += said;
  };
  openXml(parts.text("content.xml")).walk(put, {
    "table:table"({ "table:name": name = "" }) {
      add = rowsOf(text, name);
      row = 0;
    },
    "table:table-row"({ "table:number-rows-repeated": given }) {
      [rows, cells] = [times(given, MOST_ROWS), []];
    },
    "/table:table-row"() {
      const isEmpty = cells.every((said) => said === "");
      for (let n = 1; n <= rows && !isEmpty; n++) add(row + n, cells);
      row += rows;
    },
    "table:table-cell"(found) {
      [value, columns] = ["", times(found["table:number-columns-repeated"], MOST_COLUMNS - cells.length)];
      stored = found["office:date-value"] ?? found["office:value"];
    },
    "/table:table-cell"() {
      if (cells.length < MOST_COLUMNS) cells.push(...new Array<string>(columns).fill(stored ?? value ?? ""));
      value = null;
    },
    // Another cell covers these.
    "table:covered-table-cell": ({ "table:number-columns-repeated": given }) =>
      cells.push(...new Array<string>(times(given, Math.max(MOST_COLUMNS - cells.length, 1))).fill("")),
    "text:p": () => put(value === "" ? "" : "\n"),
    "text:s": () => put(" "),
  });
}
