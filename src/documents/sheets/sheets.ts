import { cell, type Growing } from "../growing.ts";
import { type Shift, type Shifting, shifting } from "../labels.ts";

// Values of cells, and where rows go: common to the sheets of all programs.

export const MOST_COLUMNS = 16_384;
export const MOST_ROWS = 1_048_576;
/** Empty rows up to so many are empty lines. More of them begin the sheet's next part, since lines tell the numbers of rows. */
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
export function textPass(text: Growing, sheet: string): SheetPass<string> {
  return passOf(text, sheet, { empty: "", cell: ({ said }) => said, row: rowsOf(text, sheet) });
}

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

/** True if the header or footer of a page says more than programs write by themselves: the page's number, the sheet's name, the day. @param codes as XLSX has them: `&LPlan&RPage &P` */
export function hasOwnWords(codes: string): boolean {
  return codes.split(/&[LCR]/).some((section) => {
    const said = section.replace(/&(?:"[^"]{0,100}"|K.{6}|\d{1,3}|[^PN])/g, "");
    const own = /&[PN]/.test(said) ? said.replace(PAGE_WORDS, "").replace(/&[PN]/g, "") : said;
    return HAS_WORDS.test(own);
  });
}
