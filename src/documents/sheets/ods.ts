import type { Parts } from "../archives.ts";
import { type Growing, HIDDEN } from "../growing.ts";
import { boundedNumber, type Shift } from "../labels.ts";
import { type Attributes, type Handlers, openXml } from "../markup.ts";
import { SHAPES } from "../odf/story.ts";
import { noStyles, type OdfStyles, styleHandlers, styleOf } from "../odf/styles.ts";
import { refuseEncrypted } from "../office.ts";
import {
  type CellRuns,
  type CellValue,
  cellRuns,
  durationOf,
  HAS_WORDS,
  hasOwnWords,
  hiddenColumns,
  MOST_COLUMNS,
  MOST_ROWS,
  type SheetPass,
  textPass,
  textValue,
  UNSTORED,
} from "./sheets.ts";

const MOST_SPACES = 100;

/** @throws Unreadable */
export function readOds(parts: Parts, text: Growing): void {
  walkOds(parts, (sheet, isHidden) => textPass(text, sheet, isHidden));
  loseHeaders(parts.text("styles.xml"), text);
}

/** Fields that programs write into headers and footers by themselves. */
const WRITTEN = [
  "text:date",
  "text:time",
  "text:title",
  "text:sheet-name",
  "text:file-name",
  "text:page-number",
  "text:page-count",
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

/** Elements with text beside the values of cells, by the kind of the loss. */
const BESIDE: Readonly<Record<string, string>> = {
  "office:annotation": "comment",
  "text:ruby-text": "reading of characters",
  "table:help-message": "cell prompt",
  "table:deletion": "deleted by a tracked change",
  "table:previous": "deleted by a tracked change",
};

/** Elements whose text people do not see on the sheet, or which are told. */
const SILENT = new Set([
  ...Object.keys(BESIDE),
  // A merged cell covers it, a mistake shows it, or it stands in another file.
  "table:covered-table-cell",
  "table:error-message",
  "table:dde-links",
  // Programs, and descriptions for those who cannot see.
  "office:scripts",
  "table:title",
  "table:desc",
  "svg:title",
  "svg:desc",
  // Who made a change, and when.
  "office:change-info",
]);

/** The name of a sheet that keeps the values of another file: `'file:///a.ods'#$Sheet1`. */
const OF_ANOTHER_FILE = /^'.*'#/;

/**
 * Walks through the sheets of an ODS file. Rows that are repeated come that often, unless they are
 * empty.
 *
 * @throws Unreadable
 */
export function walkOds<Cell>(parts: Parts, passOf: (sheet: string, isHidden: boolean) => SheetPass<Cell>): void {
  refuseEncrypted(parts);
  const xml = openXml(parts.text("content.xml"));
  const runs = cellRuns();
  let pass = passOf("", false);
  let row = 0;
  let rows = 1;
  let cells: Cell[] = [];
  let value: string | null = null;
  let columns = 1;
  let isSheet = false;
  const hidden = hiddenParts();
  const styles = noStyles();
  const boxes = textBoxes(() => pass.lose("text box"));
  // Empty cells that none with a value follows yet: most rows end with thousands.
  let gap = 0;
  let facts: Readonly<Record<string, string>> = {};
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
    if (boxes.take(said)) return true;
    if (value !== null && xml.within("text:p")) value += runs.said(said);
    // Formats of numbers have signs.
    else return xml.within("office:automatic-styles");
    return true;
  };
  const beside = Object.entries(BESIDE).map(([name, kind]) => [name, () => pass.lose(kind)] as const);
  const on: Handlers = {
    ...styleHandlers(styles, true),
    ...spanHandlers(runs, styles),
    ...Object.fromEntries(beside),
    ...boxes.handlers,
    ...hidden.handlers,
    "table:table"({ "table:name": name = "", "table:style-name": style = "" }) {
      isSheet = !OF_ANOTHER_FILE.test(name);
      pass = passOf(name, styleOf(styles, "table", style).isHidden === true);
      hidden.begin();
      row = 0;
    },
    "/table:table": () => hidden.tell(pass),
    "table:table-row"({ "table:number-rows-repeated": given, "table:visibility": look }) {
      [rows, cells, gap] = [times(given, MOST_ROWS), [], 0];
      hidden.beginRow(look);
    },
    "/table:table-row"() {
      for (let n = 1; n <= rows && isSheet && cells.length > 0; n++) {
        pass.row(row + n, cells);
        hidden.tellRow(pass, cells);
      }
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
    "table:covered-table-cell": (given) => add(pass.empty, times(given["table:number-columns-repeated"], room())),
    "draw:control": () => pass.lose("form field"),
    "text:p": () => put(value === "" ? "" : "\n"),
    ...spaceHandlers(put),
  };
  xml.walk({ take: put, unread: (element) => pass.unread(element), on, silent: SILENT });
}

/** The shapes on a sheet. @param lose told of those that have words */
function textBoxes(lose: () => void) {
  // The number of shapes that are open.
  let open = 0;
  let hasWords = false;
  const enter = () => (open += 1);
  const leave = () => {
    open -= 1;
    if (open > 0) return;
    if (hasWords) lose();
    hasWords = false;
  };
  const handlers = ["draw:g", "draw:frame", ...SHAPES].flatMap((name) => [
    [name, enter] as const,
    [`/${name}`, leave] as const,
  ]);
  return {
    handlers: Object.fromEntries(handlers),
    /** True if the words are those of a shape. */
    take(said: string): boolean {
      hasWords ||= open > 0 && HAS_WORDS.test(said);
      return open > 0;
    },
  };
}

/** A number of repetitions, at least 1. */
const times = (given: string | undefined, most: number) => Math.min(Math.max(Math.trunc(Number(given)) || 1, 1), most);

/** Handlers of spaces in the words of a cell. */
const spaceHandlers = (put: (said: string) => boolean): Handlers => ({
  "text:s": (spaces) => put(" ".repeat(times(spaces["text:c"], MOST_SPACES))),
  "text:tab": () => put("\t"),
  "text:line-break": () => put("\n"),
});

/** Columns and groups of rows that are hidden. */
function hiddenParts() {
  let columns = hiddenColumns();
  let column = 0;
  // The groups that are open, and whether they are folded.
  const groups: boolean[] = [];
  let isRow = false;
  const isHidden = (look: string | undefined) => /^(?:collapse|filter)$/.test(look ?? "") || groups.includes(true);
  const open = ({ "table:display": shown }: Attributes) => groups.push(shown === "false");
  const close = () => groups.pop();
  const handlers: Handlers = {
    "table:table-row-group": open,
    "/table:table-row-group": close,
    "table:table-column-group": open,
    "/table:table-column-group": close,
    "table:table-column"({ "table:number-columns-repeated": given, "table:visibility": look }) {
      const count = boundedNumber(given, 1, MOST_COLUMNS);
      if (isHidden(look)) columns.hide(column, count);
      column += count;
    },
  };
  return {
    handlers,
    beginRow(look: string | undefined): void {
      isRow = isHidden(look);
    },
    begin(): void {
      columns = hiddenColumns();
      column = 0;
    },
    tellRow<Cell>(pass: SheetPass<Cell>, cells: readonly Cell[]): void {
      if (isRow) pass.lose(HIDDEN.row);
      columns.see(cells, pass.empty);
    },
    tell: (pass: Pick<SheetPass<never>, "lose">) => columns.tell(pass),
  };
}

/** Handlers of the spans of a cell. @param styles say which of them are raised */
function spanHandlers(runs: CellRuns, styles: OdfStyles): Handlers {
  const open: Shift[] = [];
  const look = () => runs.look(open.at(-1) ?? "");
  return {
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
