import type { Parts } from "./archives.ts";
import type { Growing } from "./growing.ts";
import type { Shift } from "./labels.ts";
import { durationOf } from "./moments.ts";
import { noStyles, styleHandlers, styleOf } from "./odf-styles.ts";
import { refuseEncrypted } from "./office.ts";
import {
  type CellRuns,
  type CellValue,
  cellRuns,
  HAS_WORDS,
  hasOwnWords,
  MOST_COLUMNS,
  MOST_ROWS,
  type SheetPass,
  textPass,
  textValue,
  UNSTORED,
} from "./sheets.ts";
import { type Handlers, openXml } from "./xml.ts";

const MOST_SPACES = 100;

/** @throws Unreadable */
export function readOds(parts: Parts, text: Growing): void {
  walkOds(parts, (sheet) => textPass(text, sheet));
  loseHeaders(parts.text("styles.xml"), text);
}

/** Fields that programs write into headers and footers by themselves. */
const WRITTEN = [
  ...["text:date", "text:time", "text:title", "text:sheet-name", "text:file-name"],
  ...["text:page-number", "text:page-count"],
];

/** Loses paragraphs of headers and footers that say more than programs write by themselves. */
function loseHeaders(styles: string, text: Growing): void {
  const xml = openXml(styles);
  let said = "";
  const take = (more: string) => {
    if (!xml.within(...WRITTEN)) said += more.replaceAll("&", "");
    return true;
  };
  const on: Handlers = {
    "text:p": () => (said = ""),
    "text:page-number": () => (said += "&P"),
    "/text:p"() {
      if (hasOwnWords(said)) text.lose("header or footer");
    },
  };
  xml.walk({ take, on });
}

const DELETED = "deleted by a tracked change";

/** Elements with text beside the values of cells, by the kind of the loss; "": people do not see it on the sheet. */
const BESIDE: readonly (readonly [kind: string, elements: string])[] = [
  ["comment", "office:annotation"],
  ["reading of characters", "text:ruby-text"],
  ["cell prompt", "table:help-message"],
  [DELETED, "table:deletion table:previous"],
  ["text box", "draw:frame draw:custom-shape draw:rect draw:circle draw:ellipse draw:line draw:polyline draw:polygon"],
  ["text box", "draw:regular-polygon draw:path draw:connector draw:caption draw:measure draw:g"],
  // A merged cell covers it, a mistake shows it, or it stands in another file.
  ["", "table:covered-table-cell table:error-message table:dde-links"],
  // Formats, programs, and descriptions for those who cannot see.
  ["", "office:automatic-styles office:scripts table:title table:desc svg:title svg:desc"],
  // Who made a change, and when.
  ["", "office:change-info"],
];

/** The name of a sheet that keeps the values of another file: `'file:///a.ods'#$Sheet1`. */
const OF_ANOTHER_FILE = /^'.*'#/;

/** Walks through the sheets of an ODS file. Rows that are repeated come as often as they stand there, unless they are empty. @throws Unreadable */
export function walkOds<Cell>(parts: Parts, passOf: (sheet: string) => SheetPass<Cell>): void {
  refuseEncrypted(parts);
  const xml = openXml(parts.text("content.xml"));
  const runs = cellRuns();
  let pass = passOf("");
  let [row, rows, cells, value, columns]: [number, number, Cell[], string | null, number] = [0, 1, [], null, 1];
  let [depthBeside, hasWords, isSheet] = [0, false, false];
  // Empty cells that none with a value follows yet: most rows end with thousands.
  let gap = 0;
  let facts: Readonly<Record<string, string>> = {};
  const times = (given: string | undefined, most: number) =>
    Math.min(Math.max(Math.trunc(Number(given)) || 1, 1), most);
  const room = () => Math.max(MOST_COLUMNS - cells.length - gap, 1);
  const add = (cell: Cell, count: number) => {
    if (cell === pass.empty) {
      gap += count;
      return;
    }
    cells.push(...new Array<Cell>(gap).fill(pass.empty), ...new Array<Cell>(count).fill(cell));
    gap = 0;
  };
  const put = (said: string) => {
    if (depthBeside > 0) hasWords ||= HAS_WORDS.test(said) && !xml.within("svg:title", "svg:desc");
    else if (value !== null && xml.within("text:p")) value += runs.said(value, said);
    else return false;
    return true;
  };
  const enter = () => {
    if (depthBeside === 0) hasWords = false;
    depthBeside += 1;
  };
  const leave = (kind: string) => () => {
    depthBeside -= 1;
    if (depthBeside === 0 && hasWords && kind !== "") pass.lose(kind);
  };
  const beside = BESIDE.flatMap(([kind, elements]) =>
    elements.split(" ").flatMap((element) => [[element, enter] as const, [`/${element}`, leave(kind)] as const]),
  );
  const on: Handlers = {
    ...spanHandlers(runs),
    ...Object.fromEntries(beside),
    "table:table"({ "table:name": name = "" }) {
      isSheet = depthBeside === 0 && !OF_ANOTHER_FILE.test(name);
      pass = passOf(name);
      row = 0;
    },
    "table:table-row"({ "table:number-rows-repeated": given }) {
      [rows, cells, gap] = [times(given, MOST_ROWS), [], 0];
    },
    "/table:table-row"() {
      for (let n = 1; n <= rows && isSheet && cells.length > 0; n++) pass.row(row + n, cells);
      row += rows;
    },
    "table:table-cell"(found) {
      [value, columns] = ["", times(found["table:number-columns-repeated"], room())];
      facts = found;
      runs.begin();
    },
    "/table:table-cell"() {
      const found = odsValue(value ?? "", facts);
      if (found.said === "" && facts["table:formula"] && !facts["office:value-type"]) pass.lose(UNSTORED);
      if (cells.length + gap < MOST_COLUMNS) add(pass.cell(found), columns);
      value = null;
    },
    "table:covered-table-cell"({ "table:number-columns-repeated": given }) {
      enter();
      add(pass.empty, times(given, room()));
    },
    "draw:control": () => pass.lose("form field"),
    "text:p": () => put(value === "" ? "" : "\n"),
    "text:s": (spaces) => put(" ".repeat(times(spaces["text:c"], MOST_SPACES))),
    "text:tab": () => put("\t"),
    "text:line-break": () => put("\n"),
  };
  xml.walk({ take: put, unread: (element) => pass.unread(element), on });
}

/** Handlers of the spans of a cell, and of the styles that say which of them are raised. */
function spanHandlers(runs: CellRuns): Handlers {
  const styles = noStyles();
  const open: Shift[] = [];
  const look = () => runs.look(open.at(-1) ?? "");
  return {
    ...styleHandlers(styles, true),
    "text:span"({ "text:style-name": name }) {
      open.push(styleOf(styles, "text", name).shift ?? open.at(-1) ?? "");
      look();
    },
    "/text:span"() {
      open.pop();
      look();
    },
  };
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
  const date = facts["office:date-value"];
  if (date !== undefined) return { type: "text", said: date.replace("T", " "), raw: date };
  const time = facts["office:time-value"];
  if (time !== undefined) return textValue(durationOf(time) ?? time);
  const text = facts["office:string-value"];
  return { type: "text", said: words || text || "", raw: text || words };
}
