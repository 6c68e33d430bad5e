import { boundedNumber } from "./labels.ts";
import type { Attributes } from "./markup.ts";

/** The columns of a row in which spans count. */
const MOST_COLUMNS = 1000;

interface Cell {
  readonly column: number;
  /** A line for each block. */
  readonly words: string;
}

interface Row {
  readonly cells: Cell[];
  /** The columns that its cells take, and cells above that span it. */
  columns: number;
  readonly isFoot: boolean;
}

/** A table of HTML that is open. */
export type HtmlTable = ReturnType<typeof openTable>;

/** Puts cells into columns. Rows are written together: how wide the table is shows at its end, and its foot may stand first. */
export function openTable() {
  let rows: Row[] = [];
  let row: Row | null = null;
  /** The column of the cell that is open. */
  let column: number | null = null;
  let [number, width, isFoot] = [0, 0, false];
  /** For each column the first row that no cell above spans. */
  let free: number[] = [];
  const begun = () => {
    row ??= { cells: [], columns: 0, isFoot };
    while ((free[row.columns] ?? 0) > number) row.columns += 1;
    return row;
  };
  const table = {
    isInCell: () => column !== null,
    beginRow: () => void begun(),
    endRow(): void {
      if (row === null) return;
      rows.push(begun());
      row = null;
      number += 1;
    },
    beginCell({ colspan, rowspan }: Attributes): void {
      const open = begun();
      column = open.columns;
      width = Math.max(width, column + 1);
      const end = Math.min(column + boundedNumber(colspan, 1), MOST_COLUMNS);
      open.columns = Math.max(end, column + 1);
      // 0 spans the rows that are left.
      const below = rowspan?.trim() === "0" ? Number.POSITIVE_INFINITY : boundedNumber(rowspan, 1);
      for (let at = column; below > 1 && at < end; at++) free[at] = number + below;
    },
    endCell(words: string): void {
      if (column !== null) row?.cells.push({ column, words });
      column = null;
    },
    /** Begins a head, body or foot, which no cell above spans. */
    beginGroup(name: string): void {
      free = [];
      isFoot = name === "tfoot";
    },
    /** Takes the rows so far, as lines. What is yet to come of an open cell stands in its column. @param words what the cell has */
    taken(words: string): string[] {
      const open = column;
      table.endCell(words);
      if (row) rows.push(row);
      const lines = linesOf(rows, width);
      rows = [];
      row &&= { ...row, cells: [] };
      column = open;
      return lines;
    },
  };
  return table;
}

const isFilled = ({ words }: Cell) => words !== "";

/** A line for each row that has words. A table that has one cell with words in a row parts blocks and not columns. */
function linesOf(rows: readonly Row[], width: number): string[] {
  const inOrder = rows.toSorted((a, b) => Number(a.isFoot) - Number(b.isFoot));
  const filled = inOrder.filter(({ cells }) => cells.some(isFilled));
  const hasBlocks = filled.some(({ cells }) => cells.some(({ words }) => words.includes("\n")));
  if (hasBlocks && filled.every(({ cells }) => cells.filter(isFilled).length === 1)) {
    return filled.map(({ cells }) => cells.map(({ words }) => words).join(""));
  }
  return filled.map(({ cells, columns }) => lineOf(cells, Math.min(columns, width)));
}

function lineOf(cells: readonly Cell[], columns: number): string {
  let [line, last] = ["", 0];
  for (const { column, words } of cells) {
    line += `${BAR.repeat(column - last)}${words.replaceAll("\n", " ")}`;
    last = column;
  }
  return line + BAR.repeat(columns - 1 - last);
}

const BAR = " | ";
