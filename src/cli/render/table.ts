import { createRequire } from "node:module";
import { inLine } from "../../platform/visible.ts";
import type { Output, Style } from "./terminal.ts";

type Alignment = "left" | "right";

/**
 * The alignment of a column. On a narrow terminal columns with a number are left out, those with
 * the lowest first.
 */
export type Column = Alignment | `${Alignment} ${number}`;

type Rows = readonly (readonly string[])[];

/**
 * Rows as lines with aligned columns, two spaces apart; the last is not padded. A terminal that is
 * too narrow leaves out the least important columns, and cuts a line only if that is not enough. A
 * name with a line feed stays in its line.
 */
export function table(given: Rows, columns: readonly Column[], output: Place = WIDE): string[] {
  const rows = given.map((row) => row.map(inLine));
  const all = columns.map((column, at) => ({ at, column, width: widthOf(rows, at) }));
  const shown = output.isTerminal ? fitting(all, output.columns) : all;
  return rows.map((row) => {
    const texts = shown.map(({ at, column, width }) => aligned(row[at] ?? "", column, width));
    return cut(texts.join(GAP).trimEnd(), output);
  });
}

/** Prints a table with its titles. @param styleOf the style of a row, by its place */
export function showTable(
  titles: readonly string[],
  rows: Rows,
  columns: readonly Column[],
  output: Output,
  styleOf: (at: number) => Style | undefined = () => undefined,
): void {
  const [head = "", ...lines] = table([titles, ...rows], columns, output);
  output.write(`${head}\n`, "dim");
  for (const [at, line] of lines.entries()) output.write(`${line}\n`, styleOf(at));
}

type Place = Pick<Output, "isTerminal" | "columns">;

const WIDE: Place = { isTerminal: false, columns: 0 };
const GAP = "  ";
/** Characters of the last column that are worth a column before it. */
const LAST = 24;

interface Measured {
  readonly at: number;
  readonly column: Column;
  readonly width: number;
}

/** The columns that stand in a line of this width. */
function fitting(columns: readonly Measured[], width: number): readonly Measured[] {
  const dropped = columns.filter(({ column }) => dropOf(column) > 0);
  const order = dropped.sort((a, b) => dropOf(a.column) - dropOf(b.column));
  let kept = columns;
  for (const next of order) {
    if (lengthOf(kept) <= width) break;
    kept = kept.filter((column) => column !== next);
  }
  return kept;
}

function lengthOf(columns: readonly Measured[]): number {
  const widths = columns.map(({ width }, at) => (at === columns.length - 1 ? Math.min(width, LAST) : width));
  return widths.reduce((sum, width) => sum + width, GAP.length * (columns.length - 1));
}

const dropOf = (column: Column) => Number(column.split(" ")[1] ?? 0);

const widthOf = (rows: Rows, at: number) => rows.reduce((most, row) => Math.max(most, displayWidth(row[at] ?? "")), 0);

function aligned(text: string, column: Column, width: number): string {
  return padded(text, width, column.startsWith("right") ? "right" : "left");
}

/** A line as it fits into a terminal; whole in a file or pipe. */
export function cut(line: string, { isTerminal, columns }: Place): string {
  return isTerminal ? fitted(line, columns) : line;
}

/** Text in lines of at most `width` characters, broken at spaces. */
export function paragraph(text: string, width: number): string {
  return wrap(text.split(" "), width).join("\n");
}

/** Words in lines of at most `width` characters; a longer word has a line of its own. */
export function wrap(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/**
 * Columns of a terminal that a text takes: two for a wide letter and an emoji, none for a combining
 * mark.
 */
export function displayWidth(text: string): number {
  return PLAIN.test(text) ? text.length : widthOfAny(text);
}

/** Characters of one column each. */
const PLAIN = /^[ -~]*$/;

const require = createRequire(import.meta.url);
let measure: ((text: string) => number) | undefined;

/** The package takes some 15 ms to load, and most texts do not need it. */
function widthOfAny(text: string): number {
  measure ??= loadMeasure();
  return measure(text);
}

function loadMeasure(): (text: string) => number {
  const loaded: { readonly default: (text: string) => number } = require("string-width");
  return loaded.default;
}

/** The text; one that takes more columns ends with `…`, at a whole character. */
export function fitted(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  if (PLAIN.test(text)) return `${text.slice(0, Math.max(0, width - 1))}…`;
  let left = width - 1;
  let end = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    left -= displayWidth(segment);
    if (left < 0) break;
    end += segment.length;
  }
  return `${text.slice(0, end)}…`;
}

/** The text with blanks on one side, so that it takes so many columns. */
export function padded(text: string, width: number, side: "left" | "right"): string {
  const blanks = " ".repeat(Math.max(0, width - displayWidth(text)));
  return side === "left" ? `${text}${blanks}` : `${blanks}${text}`;
}
