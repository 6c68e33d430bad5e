import { cell, type Growing, HIDDEN } from "../growing.ts";
import { type Shift, type Shifting, shifting } from "../labels.ts";

// Values of cells, and where rows go: common to the sheets of all programs.

export const MOST_COLUMNS = 16_384;
export const MOST_ROWS = 1_048_576;
/**
 * Empty rows up to so many are empty lines. More of them begin the sheet's next part, since lines
 * tell the numbers of rows.
 */
const EMPTY_LINES = 100;

/** The loss of the value of a formula that no program has calculated. */
export const UNSTORED = "formula without a stored value";

/** A value of a cell. */
export interface CellValue {
  readonly type: "text" | "number" | "boolean";
  /** As texts show it. */
  readonly said: string;
  /** As rows of jobs have it: a number as its file has it, `true` or `false`, or a text. */
  readonly raw: string;
}

/** The value of a text. */
export const textValue = (said: string): CellValue => ({ type: "text", said, raw: said });

/** A pass through a sheet: what it makes of cells, and where its rows go. */
export interface SheetPass<Cell> extends OwnPass<Cell> {
  /** Called for what is left out of the sheet. */
  lose(kind: string): void;
  /** Called for each element whose text is not read. */
  unread(element: string): void;
}

/** The cells and rows that a pass makes. */
interface OwnPass<Cell> {
  /** Stands for a cell that is not there. */
  readonly empty: Cell;
  cell(value: CellValue): Cell;
  /** Called with each row, also with those that have no cells. */
  row(number: number, cells: readonly Cell[]): void;
}

/** A pass that tells a text what is lost of a sheet. */
export function passOf<Cell>(text: Growing, sheet: string, own: OwnPass<Cell>): SheetPass<Cell> {
  return { ...own, lose: (kind) => text.lose(kind, sheet || undefined), unread: text.unread };
}

/** A pass that adds the rows of a sheet to a text. */
export function textPass(text: Growing, sheet: string, isHidden: boolean): SheetPass<string> {
  if (isHidden) text.lose(HIDDEN.sheet, sheet);
  return passOf(text, sheet, { empty: "", cell: ({ said }) => said, row: rowsOf(text, sheet, isHidden) });
}

/** Takes the rows of a sheet by their numbers, in their order. */
function rowsOf(text: Growing, sheet: string, isHidden: boolean): (number: number, cells: readonly string[]) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (number, cells) => {
    const filled = cells.slice(0, cells.findLastIndex((said) => said !== "") + 1);
    if (filled.length === 0) return;
    if (number <= last || number > last + EMPTY_LINES) text.part(sheet, number, isHidden);
    else text.add("\n".repeat(number - last - 1));
    text.add(`${filled.map(cell).join("\t")}\n`);
    last = number;
  };
}

/** The columns of a sheet that are hidden. */
export interface HiddenColumns {
  /** Hides columns from the first one on, whose number is 0. */
  hide(first: number, count: number): void;
  /** Notes the columns of a row that have values. */
  see<Cell>(cells: readonly Cell[], empty: Cell): void;
  /** Tells of each hidden column that has values. */
  tell(pass: Pick<SheetPass<never>, "lose">): void;
}

/** Begins a sheet in which no column is hidden. */
export function hiddenColumns(): HiddenColumns {
  const unseen = new Set<number>();
  const filled = new Set<number>();
  return {
    hide(first, count) {
      const end = Math.min(first + count, MOST_COLUMNS);
      for (let at = Math.max(first, 0); at < end; at++) unseen.add(at);
    },
    see(cells, empty) {
      if (unseen.size === 0) return;
      for (const [at, cell] of cells.entries()) {
        if (cell !== empty && unseen.delete(at)) filled.add(at);
      }
    },
    tell(pass) {
      for (const _ of filled) pass.lose(HIDDEN.column);
    },
  };
}

/** Runs of the words of a cell, of which some may be raised or lowered. */
export interface CellRuns {
  /** Begins the words of a cell. */
  begin(): void;
  /** Says where the next words stand. */
  look(shift: Shift): void;
  /** The next words, with a sign before them if they need one. */
  said(words: string): string;
}

export function cellRuns(): CellRuns {
  let shift: Shift = "";
  // Most cells have no run that is raised.
  let shifted: Shifting | undefined;
  let last = "";
  return {
    begin() {
      shift = "";
      shifted = undefined;
      last = "";
    },
    look(next) {
      shift = next;
      if (shift !== "") shifted ??= shifting();
    },
    said(words) {
      last = shifted?.(last, words, shift) ?? words;
      return last;
    },
  };
}

export const HAS_WORDS = /[\p{L}\p{N}]/u;

/** Words that programs write beside the number of a page, and between it and the number of all. */
const PAGE_WORDS =
  /(?<!\p{L})(?:p|pp|pag|pages?|página|pagina|pàgina|seite|blatt|side|sida|sivu|oldal|str|strona|stránka|strana|sayfa|стр|страница|trang|halaman|of|von|de|sur|di|van|av|af|z|из)(?!\p{L})|[第共页頁페이지ページ]/giu;

/**
 * True if the header or footer of a page says more than programs write by themselves: the page's
 * number, the sheet's name, the day.
 *
 * @param codes as XLSX has them: `&LPlan&RPage &P`
 */
export function hasOwnWords(codes: string): boolean {
  return codes.split(/&[LCR]/).some((section) => {
    const said = section.replace(/&(?:"[^"]{0,100}"|K.{6}|\d{1,3}|[^PN])/g, "");
    const own = /&[PN]/.test(said) ? said.replace(PAGE_WORDS, "").replace(/&[PN]/g, "") : said;
    return HAS_WORDS.test(own);
  });
}

// Numbers of sheets that stand for dates, times of day and durations, and the formats that show
// them so.

/** The form in which a format shows numbers. */
export interface NumberFormat {
  readonly shows: "number" | "date" | "time" | "duration";
  /** The number of digits behind a second. */
  readonly digits: number;
}

/** Programs take no longer codes. */
const MOST_CODE = 255;

const PLAIN: NumberFormat = { shows: "number", digits: 0 };

/** The format of an id. @param code undefined if the file does not define this format */
export function numberFormat(id: number, code = builtIn(id)): NumberFormat {
  // Quoted words, escapes, padding, colors, conditions, currencies and languages.
  const words = /"[^"]*"?|\\.|[_*].|\[(?!(?:h+|m+|s+)\])[^\]]*\]|general|(?<=[0#?])E[+-]/gis;
  const sections = code.slice(0, MOST_CODE).replace(words, "").split(";").map(shownBy);
  return sections.find(({ shows }) => shows !== "number") ?? PLAIN;
}

function shownBy(section: string): NumberFormat {
  const digits = Math.min(/s\]?\.(0*)/i.exec(section)?.[1]?.length ?? 0, 3);
  const has = (letters: RegExp) => letters.test(section);
  // Units such as `0.0 kg` need no quotes everywhere.
  if (/[0#?]/.test(section.replace(/[.,]0+/g, ""))) return PLAIN;
  if (has(/\[[hms]+\]/i)) return { shows: "duration", digits };
  // Years of eras are `e`, `g` and `b`, and `m` is a month unless it stands beside hours or
  // seconds.
  if (has(/[ydegb]/i) || (has(/m/i) && !has(/[hs]/i))) return { shows: "date", digits };
  return has(/[hs]/i) ? { shows: "time", digits } : PLAIN;
}

/**
 * The code of a format that has none in its file (ECMA-376, 18.8.30), also in East Asian programs.
 */
function builtIn(id: number): string {
  if (id === 46) return "[h]:mm:ss";
  if (id === 47) return "mm:ss.0";
  if (id === 45 || (id >= 18 && id <= 21)) return "h:mm:ss";
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? "yyyy-mm-dd" : "";
}

const DAY = 86_400;
/** Days from the beginning of a workbook's calendar to 1970, and to the end of the year 9999. */
const TO_1970 = 25_569;
const FROM_1900_TO_1904 = 1462;
const TO_10000 = 2_958_466;

/**
 * A date, a time, or both with a space between them, of days since the calendar of a workbook
 * began; null: a program would not show them.
 */
export function momentOf(days: number, { shows, digits }: NumberFormat, is1904: boolean): string | null {
  const unit = 10 ** digits;
  const seconds = Math.round(days * DAY * unit) / unit;
  const offset = is1904 ? FROM_1900_TO_1904 : 0;
  if (!(Math.abs(seconds) / DAY + offset < TO_10000)) return null;
  if (shows === "duration") return clockOf(seconds, digits);
  const time = clockOf(seconds % DAY, digits);
  if ((days > 0 && days < 1) || (shows === "time" && Math.abs(days) < 1)) return time;
  if (days < 0) return null;
  const day = Math.floor(seconds / DAY);
  const date = is1904 ? isoOf(day + offset) : dateOf1900(day);
  return shows === "date" && Number.isInteger(days) ? date : `${date} ${time}`;
}

/** Seconds by which the sums of a program may be off. */
const INEXACT = 0.001;

/** True if days have a fraction of a second that their format does not show. */
export function isRounded(days: number, { digits }: NumberFormat): boolean {
  const units = days * DAY * 10 ** digits;
  return Math.abs(units - Math.round(units)) > INEXACT * 10 ** digits;
}

/**
 * A day of Excel's calendar, in which the year 1900 has a 29th of February and begins with a day 0.
 */
function dateOf1900(day: number): string {
  if (day === 0 || day === 60) return day === 0 ? "1900-01-00" : "1900-02-29";
  return isoOf(day < 60 ? day + 1 : day);
}

const isoOf = (day: number) => new Date((day - TO_1970) * DAY * 1000).toISOString().slice(0, 10);

/** `36:00:00` of seconds, whatever the number of hours. */
function clockOf(seconds: number, digits: number): string {
  const all = Math.abs(seconds);
  const two = (part: number) => String(Math.trunc(part)).padStart(2, "0");
  const fraction = (all % 1).toFixed(digits).slice(1);
  return `${seconds < 0 ? "-" : ""}${two(all / 3600)}:${two((all / 60) % 60)}:${two(all % 60)}${fraction}`;
}

/** The same of an ISO duration such as `PT36H`; null: it has years or months, or is none. */
export function durationOf(iso: string): string | null {
  const match = /^(-)?P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(iso);
  if (!match) return null;
  const [days = 0, hours = 0, minutes = 0, rest = 0] = match.slice(2).map((part) => Number(part ?? 0));
  const ms = Math.round((days * DAY + hours * 3600 + minutes * 60 + rest) * 1000);
  if (ms >= TO_10000 * DAY * 1000) return null;
  return clockOf((match[1] ? -ms : ms) / 1000, ms % 1000 === 0 ? 0 : 3);
}
