import { boundedNumber } from "./labels.ts";
import type { Attributes } from "./markup.ts";

/** The columns of a row in which spans count. */
const MOST_COLUMNS = 1000;
const BAR = " | ";

/** A row that is open. */
interface OpenRow {
  /** The words of its cells, and the bars before them. */
  readonly pieces: string[];
  /** The words of cells that have some: a line for each block. */
  readonly filled: string[];
  /** The column of its last cell. */
  last: number;
  /** The columns that its cells take, and cells above that span it. */
  columns: number;
}

interface Row extends Pick<OpenRow, "last" | "columns"> {
  readonly line: string;
  /** The words of the only cell that has some; undefined: there are several. */
  readonly alone: string | undefined;
}

/** A table of HTML that is open. */
export type HtmlTable = ReturnType<typeof openTable>;

/** Puts cells into columns. Rows are written together: how wide the table is shows at its end, and its foot may stand first. */
export function openTable() {
  let rows: Row[] = [];
  let foot: Row[] = [];
  let row: OpenRow | null = null;
  /** The column of the cell that is open. */
  let column: number | null = null;
  let [number, width, isFoot] = [0, 0, false];
  /** For each column the first row that no cell above spans. */
  let free: number[] = [];
  const begun = () => {
    row ??= { pieces: [], filled: [], last: 0, columns: 0 };
    while ((free[row.columns] ?? 0) > number) row.columns += 1;
    return row;
  };
  const keep = ({ pieces, filled, last, columns }: OpenRow) => {
    const alone = filled.length === 1 ? filled[0] : undefined;
    if (filled.length > 0) (isFoot ? foot : rows).push({ line: pieces.join(""), alone, last, columns });
  };
  const table = {
    isInCell: () => column !== null,
    beginRow: () => void begun(),
    endRow(): void {
      if (row === null) return;
      keep(begun());
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
      if (row === null || column === null) return;
      row.pieces.push(BAR.repeat(column - row.last), words.replaceAll("\n", " "));
      if (words !== "") row.filled.push(words);
      row.last = column;
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
      if (row) keep(row);
      const lines = linesOf([...rows, ...foot], width);
      [rows, foot] = [[], []];
      row &&= { pieces: [], filled: [], last: 0, columns: row.columns };
      column = open;
      return lines;
    },
  };
  return table;
}

/** A line for each row. A table that has words in one cell of each row parts blocks, and has no columns. */
function linesOf(rows: readonly Row[], width: number): string[] {
  const hasBlocks = rows.some(({ alone }) => alone?.includes("\n")) && rows.every(({ alone }) => alone !== undefined);
  return rows.map(({ line, alone = "", last, columns }) =>
    hasBlocks ? alone : line + BAR.repeat(Math.min(columns, width) - 1 - last),
  );
}
