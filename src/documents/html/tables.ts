import { boundedNumber } from "../labels.ts";
import type { Attributes } from "../markup.ts";

/** The columns of a row in which spans count. */
const MOST_COLUMNS = 1000;
const BAR = " | ";

/** A row that is open. */
interface OpenRow {
  /** The words of its cells, a line for each block. Columns that others span have none. */
  readonly cells: string[];
  /** The columns that its cells take, and cells above that span it. */
  columns: number;
}

interface Row {
  readonly line: string;
  /** The words of the only cell that has some; undefined: there are several. */
  readonly alone: string | undefined;
  /** The columns to its last cell, and to the last one that is taken. */
  readonly filled: number;
  readonly columns: number;
}

/** A table of HTML that is open. */
export interface HtmlTable {
  isInCell(): boolean;
  beginRow(): void;
  endRow(): void;
  beginCell(options: Attributes): void;
  endCell(): void;
  /** Begins a head, body or foot, which no cell above spans. */
  beginGroup(): void;
  /** Takes the rows so far, as lines. What is yet to come of an open cell stands in its column. */
  taken(): string[];
}

/**
 * Puts cells into columns. Rows are written together: how wide the table is shows at its end.
 *
 * @param said takes the words of a cell
 */
export function openTable(said: () => string): HtmlTable {
  let rows: Row[] = [];
  let row: OpenRow | null = null;
  /** The column of the cell that is open. */
  let column: number | null = null;
  let number = 0;
  let width = 0;
  /** For each column the first row that no cell above spans. */
  let free: number[] = [];
  const begun = () => {
    row ??= { cells: [], columns: 0 };
    while ((free[row.columns] ?? 0) > number) row.columns += 1;
    return row;
  };
  const keep = ({ cells, columns }: OpenRow) => {
    const [first, second] = cells.filter((words) => words !== "");
    if (first === undefined) return;
    const line = cells.join(BAR).replaceAll("\n", " ");
    rows.push({ line, alone: second === undefined ? first : undefined, filled: cells.length, columns });
  };
  const table = {
    isInCell: () => column !== null,
    beginRow(): void {
      table.endRow();
      begun();
    },
    endRow(): void {
      table.endCell();
      if (row === null) return;
      keep(begun());
      row = null;
      number += 1;
    },
    beginCell({ colspan, rowspan }: Attributes): void {
      table.endCell();
      const open = begun();
      column = open.columns;
      width = Math.max(width, column + 1);
      const end = Math.min(column + boundedNumber(colspan, 1), MOST_COLUMNS);
      open.columns = Math.max(end, column + 1);
      const below = boundedNumber(rowspan, 1);
      for (let at = column; below > 1 && at < end; at++) free[at] = number + below;
    },
    endCell(): void {
      if (row === null || column === null) return;
      row.cells[column] = said();
      column = null;
    },
    beginGroup(): void {
      table.endRow();
      free = [];
    },
    taken(): string[] {
      const open = column;
      table.endCell();
      if (row) keep(row);
      const lines = linesOf(rows, width);
      rows = [];
      row &&= { cells: [], columns: row.columns };
      column = open;
      return lines;
    },
  };
  return table;
}

/**
 * A line for each row. A table that has words in one cell of each row parts blocks, and has no
 * columns.
 */
function linesOf(rows: readonly Row[], width: number): string[] {
  const hasBlocks = rows.some(({ alone }) => alone?.includes("\n")) && rows.every(({ alone }) => alone !== undefined);
  return rows.map(({ line, alone = "", filled, columns }) =>
    hasBlocks ? alone : line + BAR.repeat(Math.min(columns, width) - filled),
  );
}
