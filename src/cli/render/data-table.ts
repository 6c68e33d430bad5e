import type { Json } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { displayWidth, fitted, padded } from "./table.ts";
import type { Output } from "./terminal.ts";

/** Rows of data, each with its values in the order of the columns. */
export interface Data {
  /** Names of the columns; empty if they have none. */
  readonly names: readonly string[];
  readonly rows: readonly (readonly (Json | undefined)[])[];
}

type Place = Pick<Output, "isTerminal" | "columns">;

/**
 * Data as lines with aligned columns, numbers to the right. On a terminal long values end with `…`,
 * and a last line counts the columns that have no room; in a file or pipe all is there.
 */
export function* dataTable(data: Data, place: Place): Iterable<string> {
  const head = data.names.length > 0 ? [data.names] : [];
  const lines = [...head, ...data.rows].map((row) => row.map((value) => shownText(value, place)));
  const all = columnsOf(data, lines);
  const shown = place.isTerminal ? fitting(all, place.columns) : all;
  for (const line of lines) {
    const texts = shown.map(({ at, width, side }) => padded(fitted(line[at] ?? "", width), width, side));
    yield `${texts.join(GAP).trimEnd()}\n`;
  }
  const hidden = amount(all.length - shown.length, "more column");
  if (shown.length < all.length) yield `… and ${hidden}; a wider terminal or a pipe has them all\n`;
}

const GAP = "  ";

interface Column {
  /** Its place in a row. */
  readonly at: number;
  readonly width: number;
  readonly side: "left" | "right";
}

function columnsOf({ rows }: Data, lines: readonly (readonly string[])[]): readonly Column[] {
  const count = lines.reduce((most, { length }) => Math.max(most, length), 0);
  return Array.from({ length: count }, (_, at) => ({
    at,
    width: lines.reduce((most, line) => Math.max(most, displayWidth(line[at] ?? "")), 0),
    side: isOfNumbers(rows, at) ? "right" : "left",
  }));
}

function isOfNumbers(rows: Data["rows"], at: number): boolean {
  const values = rows.map((row) => row[at] ?? null).filter((value) => value !== null);
  return values.length > 0 && values.every(isNumber);
}

/** A number of a table is often a text. */
const isNumber = (value: Json | undefined) =>
  typeof value === "number" || (typeof value === "string" && NUMBER.test(value));
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

/** A value is clipped before it is measured: only its beginning can stand in a line. */
const UNITS_FOR_A_COLUMN = 4;

function shownText(value: Json | undefined, { isTerminal, columns }: Place): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const most = isTerminal ? columns * UNITS_FOR_A_COLUMN : text.length;
  return text.length > most ? `${inLine(text.slice(0, most).toWellFormed())}…` : inLine(text);
}

/** No column is made narrower than this. */
const NARROWEST = 8;

/**
 * The first columns, as many as have room side by side. The widest of them are made narrower, so
 * that they fit.
 */
function fitting(all: readonly Column[], width: number): readonly Column[] {
  let least = -GAP.length;
  const tooMany = all.findIndex((column) => {
    least += GAP.length + Math.min(column.width, NARROWEST);
    return least > width;
  });
  const shown = tooMany === -1 ? all : all.slice(0, Math.max(1, tooMany));
  let left = width - GAP.length * (shown.length - 1);
  const narrowed = shown
    .toSorted((a, b) => a.width - b.width)
    .map((column, at) => {
      const share = Math.min(column.width, Math.floor(left / (shown.length - at)));
      left -= share;
      return { ...column, width: share };
    });
  return narrowed.sort((a, b) => a.at - b.at);
}
