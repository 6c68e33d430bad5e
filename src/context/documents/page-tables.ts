/** Words up to a gap, and where they stand in their line. */
export interface Piece {
  readonly said: string;
  readonly x: number;
  readonly end: number;
  /** True if the gap before it parts cells in any line; a smaller one does so in rows of a table. */
  readonly isWide: boolean;
}

export interface Line {
  /** Its pieces, from the side at which reading begins. */
  readonly pieces: readonly Piece[];
  readonly y: number;
  readonly size: number;
  /** The distance from the line before, in sizes of the font. */
  readonly down: number;
  /** True if it was put together of cells with several lines. */
  readonly isWhole?: true;
}

type Column = Pick<Piece, "x" | "end">;
type Row = readonly Piece[];

/** A line with more pieces is not a row of a table. */
const MOST_COLUMNS = 100;
/** Lines that are further apart have an empty line between them. */
const EMPTY_LINE = 1.9;
/** A line that is further from the one before begins another table. */
const APART = 4;
/** The most lines of a cell. */
const MOST_LINES = 12;
// Where a line begins beside a cell: above the last line of the cell, not much below its first, and not far above that.
const HIGHER = 0.3;
const NEAR = 0.75;
const FAR = 4;
/** The least distance between rows, in distances between the lines of a cell. */
const ROW = 1.1;
const LABEL = /^(?:[^\p{L}\p{N}\s]|\(?[\p{L}\p{N}]{1,4}[.)])$/u;
/** The number of a clause, which could be an amount if no words stood behind it. */
const CLAUSE = /^\d{1,3}(?:\.\d{1,3}){1,5}\.?$/;

/** Writes lines. Those that follow each other and have wide gaps are a table, or columns of text. */
export function textOfLines(given: readonly Line[]): string {
  const lines = withWholeCells(withLateLabels(given));
  const written: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const end = endOfTable(lines, at);
    const rows = lines.slice(at, end).map(({ pieces }) => pieces);
    const cells = cellsOf(rows.map(wide));
    if ((lines[at]?.down ?? 0) > EMPTY_LINE) written.push("");
    const items = mostIn(rows) > 2 ? rows : rows.map(withLabel);
    const table = () => (isRegular(rows) ? cellsOf(items) : cells).map((row) => row.join("\t"));
    for (const line of columnsOfText(cells) ?? table()) written.push(line);
    at = end;
  }
  return written.join("\n");
}

/** The gap between a label and its words. */
const HANGING = 4;

/** Puts the labels of items, which some programs draw behind all words of a page, before the words on their baseline. */
function withLateLabels(given: readonly Line[]): Line[] {
  const lines: Line[] = [];
  const onBaseline = new Map<number, number>();
  for (const line of given) {
    const baseline = Math.round(line.y);
    const at = onBaseline.get(baseline) ?? lines.length;
    const item = lines[at];
    const words = item && wordsOf(line, item);
    if (words) lines[at] = { ...item, pieces: [words, ...item.pieces.slice(1)] };
    else onBaseline.set(baseline, lines.push(line) - 1);
  }
  return lines;
}

/** The first words of a line with the label that is a line of its own; nothing if it does not stand before them. */
function wordsOf({ pieces: [label, ...others], size }: Line, { pieces: [words] }: Line): Piece | undefined {
  if (!label || !words || others.length > 0 || !LABEL.test(label.said)) return undefined;
  const gap = words.x - label.end;
  return gap > 0 && gap < HANGING * size ? { ...words, said: `${label.said} ${words.said}` } : undefined;
}

/**
 * Puts the lines of a cell together. Programs write a table cell by cell: if a line begins again higher up, to the right of the
 * lines before, these are a cell.
 */
function withWholeCells(given: readonly Line[]): Line[] {
  const lines: Line[] = [];
  for (const [at, line] of given.entries()) {
    const [above, next] = [lines.at(-1), given[at + 1]];
    const [first, ...others] = lines.slice(startOfCell(lines, line));
    const cell = first && others.reduce(withLine, first);
    // Columns of text are written so as well, and stay as they are.
    const isColumn = others.length > 1 && next && isBelow(next, line) && next.down < ROW * (others[0]?.down ?? 0);
    if (above?.isWhole && isBelow(line, above) && line.y > above.y - HIGHER * line.size) {
      lines.splice(-1, 1, withLine(above, line));
    } else if (cell && !isColumn) {
      // A cell in the middle of its row has as much of the row below as above.
      const y = first.isWhole ? cell.y : Math.min(cell.y, 2 * first.y - line.y);
      lines.splice(-1 - others.length);
      lines.push({ ...cell, pieces: [...cell.pieces, ...line.pieces], y, isWhole: true });
    } else lines.push(line);
  }
  return lines;
}

/** A line whose last piece goes on with another line. */
function withLine(line: Line, { pieces: [piece], y }: Line): Line {
  const last = line.pieces.at(-1);
  if (!last || !piece) return line;
  const said = `${last.said} ${piece.said}`;
  const whole = { ...last, said, x: Math.min(last.x, piece.x), end: Math.max(last.end, piece.end) };
  return { ...line, pieces: [...line.pieces.slice(0, -1), whole], y: Math.min(line.y, y) };
}

/** The place of the first line of the cell that ends before a line; the number of lines if none does. */
function startOfCell(lines: readonly Line[], { pieces: [beside], y, size }: Line): number {
  const lowest = lines.at(-1)?.y ?? y;
  const isHigher = lowest < y - HIGHER * size;
  for (let start = lines.length; isHigher && start > lines.length - MOST_LINES; start--) {
    const line = lines[start - 1];
    const below = lines[start];
    if (beside && line && isLeftOf(line, beside) && (!below || isBelow(below, line))) {
      // A line in the middle of the cell has as much of it above as below, and the gap between rows is above that.
      const isCentered = line.y < 2 * y - lowest + HIGHER * size && line.down > ROW * (below?.down ?? 0);
      if (line.y < y + NEAR * size || isCentered) continue;
    }
    return below && below.y > y - FAR * size ? start : lines.length;
  }
  return lines.length;
}

const isLeftOf = ({ pieces }: Line, { x }: Piece) => pieces.every(({ end }) => end < x);

/** True if a line is one piece, below the last one of the other line. */
function isBelow({ pieces: [piece, ...others] }: Line, { pieces }: Line): boolean {
  const last = pieces.at(-1);
  return piece !== undefined && last !== undefined && others.length === 0 && piece.x < last.end && piece.end > last.x;
}

/** The end of the table that begins with a line, or of the line if none begins. */
function endOfTable(lines: readonly Line[], start: number): number {
  let columns: readonly Column[] = [];
  let count = 0;
  let usual = EMPTY_LINE;
  for (let at = start; at < lines.length; at++) {
    const { pieces = [], y = 0, size = 0, down = 0 } = lines[at] ?? {};
    const row = wide(pieces);
    const under = pieces.map((piece) => columnOf(piece, columns));
    const isRow = row.length > 1 && row.length <= MOST_COLUMNS;
    const isLower = y <= (lines[at - 1]?.y ?? y) + FAR * size;
    const isInColumns = under.every((column, n) => column > (under[n - 1] ?? -1));
    // Words in a later column alone need rows above that show it; words in the first one have to be near.
    const isCell = isInColumns && (under.at(-1) === 0 ? down <= usual : count > 1);
    // What stands above a page or table by itself is not a row of it.
    const isFirstApart = at === start + 1 && down > Math.max(EMPTY_LINE, 2 * (lines[at + 1]?.down ?? down));
    const isGoingOn = down <= APART && !isFirstApart && isLower && (isRow || isCell);
    if (at > start ? !isGoingOn : !isRow) return Math.max(at, start + 1);
    if (isRow) {
      columns = columnsWith(columns, row);
      count += 1;
    }
    if (at > start) usual = Math.max(usual, 1.1 * down);
  }
  return lines.length;
}

/** The pieces of a line that wide gaps part. The label of an item is a part of it. */
function wide(pieces: Row): Row {
  const parted: Piece[] = [];
  for (const piece of withLabel(pieces)) {
    const last = parted.at(-1);
    if (!last || piece.isWide) parted.push(piece);
    else parted.splice(-1, 1, joined(last, piece));
  }
  return parted;
}

/** The pieces of a line. If it is an item, its label and words are one. */
function withLabel(pieces: Row): Row {
  const [label, words, ...others] = pieces;
  if (!label || !words || others.length > 0) return pieces;
  const isClause = CLAUSE.test(label.said) && /^\p{L}/u.test(words.said);
  return isClause || LABEL.test(label.said) ? [joined(label, words)] : pieces;
}

const joined = (piece: Piece, next: Piece) => ({ ...piece, said: `${piece.said} ${next.said}`, end: next.end });

/** The columns are those of the rows that have the most pieces. */
function columnsWith(columns: readonly Column[], row: Row): readonly Column[] {
  if (row.length !== columns.length) return row.length > columns.length ? row : columns;
  return columns.map(({ x, end }, at) => ({
    x: Math.min(x, row[at]?.x ?? x),
    end: Math.max(end, row[at]?.end ?? end),
  }));
}

/** The column under which a piece stands; -1 if there are several or none. */
function columnOf(piece: Piece, columns: readonly Column[]): number {
  const isAbove = ({ x, end }: Column) => piece.x < end && piece.end > x;
  const column = columns.findIndex(isAbove);
  return columns.findLastIndex(isAbove) === column ? column : -1;
}

/** True if at least two rows have the most pieces, whose gaps are no accident then. */
function isRegular(rows: readonly Row[]): boolean {
  const most = mostIn(rows);
  return rows.filter((row) => row.length === most).length > 1;
}

const mostIn = (rows: readonly { readonly length: number }[]) =>
  rows.reduce((most, { length }) => Math.max(most, length), 0);

/** The cells of rows. Each piece gets the nearest column that leaves enough of them for those behind it. */
function cellsOf(rows: readonly Row[]): string[][] {
  const columns = rows.reduce(columnsWith, []);
  return rows.map((row) => {
    const cells: string[] = [];
    for (const [at, piece] of row.entries()) {
      const last = columns.length - row.length + at;
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

/**
 * The lines of columns of text, one column behind the other; nothing if the rows are a table. In columns of text most rows fill
 * all columns with some words, and sentences go on from row to row.
 */
function columnsOfText(rows: readonly (readonly string[])[]): string[] | undefined {
  // One column may be longer than the others.
  const beside = rows.findLastIndex((row) => row.length > 1) + 1;
  const count = mostIn(rows);
  if (beside < 3 || count > 3) return undefined;
  const columns = Array.from({ length: count }, (_, column) => rows.flatMap((row) => row[column] || []));
  const cells = columns.flat();
  const filled = rows
    .slice(0, beside)
    .flat()
    .filter((cell) => cell !== "");
  const isWordy = (column: readonly string[], least: number) =>
    column.join(" ").split(" ").length >= least * column.length;
  const goingOn = cells.filter((cell) => /^[\p{Ll}\p{Lo}]/u.test(cell)).length / cells.length;
  // Where sentences go on, what is empty is the gap between two paragraphs.
  const isFull = filled.length >= (goingOn >= 0.4 ? 0.75 : 0.9) * beside * count;
  const isText = isFull && goingOn >= 0.25 && isWordy(cells, 3.5) && columns.every((column) => isWordy(column, 3));
  return isText ? cells : undefined;
}
