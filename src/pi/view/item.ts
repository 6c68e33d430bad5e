import { oneLine } from "./texts.ts";

/**
 * A line of what is shown of a branch: a heading, or something that can be looked at more closely.
 */
export interface Item {
  /** The number of its indents. */
  readonly depth: number;
  readonly style: "heading" | "plain" | "good" | "bad" | "quiet";
  /** One line of harmless text. */
  readonly text: string;
  /** The whole text about it. */
  whole?(): string;
}

/** Beyond it a part of a line is not read. */
const PART_UNITS = 400;

/** A line of these parts, without those that are empty. */
export function item(
  depth: number,
  style: Item["style"],
  parts: readonly (string | null)[],
  whole?: () => string,
): Item {
  const shown = parts.map((part) => oneLine(part ?? "", PART_UNITS)).filter((part) => part !== "");
  return { depth, style, text: shown.join("  "), ...(whole ? { whole } : {}) };
}

/** A line for each row; their columns stand under each other. */
export function itemsInColumns(
  depth: number,
  rows: readonly (Pick<Item, "style" | "whole"> & { readonly cells: readonly string[] })[],
): readonly Item[] {
  const lines = columns(rows.map(({ cells }) => cells.map((cell) => oneLine(cell, PART_UNITS))));
  return rows.map(({ cells: _cells, ...row }, at) => ({ ...row, depth, text: lines[at] ?? "" }));
}

/** Rows whose columns stand under each other, two spaces apart. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) for (const [at, text] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, text.length);
  return rows.map((row) =>
    row
      .map((text, at) => text.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
