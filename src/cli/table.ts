import type { Output } from "./terminal.ts";

/** Columns of a table: where their text stands. */
export type Column = "left" | "right";

/** Rows as lines whose columns stand under each other, two spaces apart; the last is not padded. */
export function table(rows: readonly (readonly string[])[], columns: readonly Column[]): string[] {
  const widths = columns.map((_, column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((text, at) => (columns[at] === "right" ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

/** A line as it fits into a terminal; whole in a file or pipe. */
export function cut(line: string, { isTerminal, columns }: Pick<Output, "isTerminal" | "columns">): string {
  return isTerminal && line.length > columns ? `${line.slice(0, columns - 1)}…` : line;
}
