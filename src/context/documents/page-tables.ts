/** Words up to a wide gap, and where they stand in their line. */
export interface Piece {
  readonly said: string;
  readonly x: number;
  readonly end: number;
}

export interface Line {
  /** Its pieces, from the side at which reading begins. */
  readonly pieces: readonly Piece[];
  /** The distance from the line before, in sizes of the font. */
  readonly down: number;
}

type Column = Omit<Piece, "said">;

/** A line with more pieces is not a row of a table. */
const MOST_COLUMNS = 100;
/** Lines that are further apart have an empty line between them. */
const EMPTY_LINE = 1.9;
/** A row that is further from the one before begins another table, unless the rows beside it are as far from each other. */
const APART = 3;

/** Writes lines. Those that follow each other and have wide gaps are a table, or columns of text. */
export function textOfLines(lines: readonly Line[]): string {
  const written: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const table = tableAt(lines, at);
    const { columns } = table;
    let rows = rowsOf(lines.slice(at, table.end), columns);
    const isText = isColumnsOfText(rows, columns);
    const end = isText ? endOfText(lines, table) : table.end;
    if (isText) rows = rowsOf(lines.slice(at, end), columns);
    if ((lines[at]?.down ?? 0) > EMPTY_LINE) written.push("");
    if (isText) written.push(...columns.flatMap((_, column) => rows.flatMap((row) => row[column] || [])));
    else written.push(...rows.map((row) => row.join("\t")));
    at = end;
  }
  return written.join("\n");
}

interface Table {
  readonly columns: readonly Column[];
  readonly end: number;
}

/** The table that begins with a line. A line that begins none has no columns. */
function tableAt(lines: readonly Line[], start: number): Table {
  let columns: readonly Column[] = [];
  let end = start + 1;
  let count = 0;
  for (let at = start; at < lines.length; at++) {
    const { pieces = [] } = lines[at] ?? {};
    if (isApart(lines, at, start)) break;
    if (pieces.length > 1 && pieces.length <= MOST_COLUMNS) {
      columns = columnsWith(pieces, columns);
      count += 1;
      end = at + 1;
    } else {
      const column = columnOf(pieces, columns);
      // Words in the first column alone are a row only if one follows.
      if (column < 0 || (column > 0 && count < 2)) break;
      if (column > 0) end = at + 1;
    }
  }
  return { columns, end };
}

/** True if a line is so far below the one before that it does not go on with the table that begins at `start`. */
function isApart(lines: readonly Line[], at: number, start: number): boolean {
  const down = (line: number) => (line > start ? (lines[line]?.down ?? 0) : 0);
  return down(at) > APART && down(at) > 1.5 * Math.max(down(at - 1), down(at + 1));
}

/** The columns are those of the rows that have the most pieces. */
function columnsWith(pieces: readonly Piece[], columns: readonly Column[]): readonly Column[] {
  if (pieces.length < columns.length) return columns;
  if (pieces.length > columns.length) return pieces;
  return columns.map(({ x, end }, at) => ({
    x: Math.min(x, pieces[at]?.x ?? x),
    end: Math.max(end, pieces[at]?.end ?? end),
  }));
}

/** The column under which a piece stands that is alone in its line; -1 if it stands under several or none. */
function columnOf([piece, ...others]: readonly Piece[], columns: readonly Column[]): number {
  if (!piece || others.length > 0) return -1;
  const isAbove = ({ x, end }: Column) => piece.x < end && piece.end > x;
  const column = columns.findIndex(isAbove);
  return columns.findLastIndex(isAbove) === column ? column : -1;
}

/** The rows of a table, each with its cells. A line that is in no table is its only cell. */
function rowsOf(lines: readonly Line[], columns: readonly Column[]): string[][] {
  return lines.map(({ pieces }) => {
    const cells: string[] = [];
    for (const [at, piece] of pieces.entries()) {
      // Each piece gets the nearest column that leaves enough of them for those behind it.
      const last = columns.length - pieces.length + at;
      let column = cells.length;
      while (column < last && distance(piece, columns[column + 1]) < distance(piece, columns[column])) column += 1;
      while (cells.length < column) cells.push("");
      cells.push(piece.said);
    }
    return cells;
  });
}

/** The distance of a piece from a column. It is negative if one is above the other, by as much as they share. */
function distance({ x, end }: Piece, column: Column | undefined): number {
  return column ? Math.max(x, column.x) - Math.min(end, column.end) : Number.POSITIVE_INFINITY;
}

/** True if rows are lines of columns of text: most of them fill all columns with some words, and sentences go on in them. */
function isColumnsOfText(rows: readonly (readonly string[])[], columns: readonly Column[]): boolean {
  if (rows.length < 3 || columns.length > 3) return false;
  const cells = rows.flat().filter((cell) => cell !== "");
  const words = cells.reduce((sum, cell) => sum + cell.split(" ").length, 0);
  const goingOn = cells.filter((cell) => /^[\p{Ll}\p{Lo}]/u.test(cell));
  return (
    cells.length >= 0.9 * rows.length * columns.length &&
    words >= 3.5 * cells.length &&
    goingOn.length >= 0.25 * cells.length
  );
}

/** The end of columns of text, of which one may be longer than the others. */
function endOfText(lines: readonly Line[], { columns, end }: Table): number {
  const longer = lines.slice(end).findIndex(({ pieces, down }) => down > EMPTY_LINE || columnOf(pieces, columns) < 0);
  return longer < 0 ? lines.length : end + longer;
}
