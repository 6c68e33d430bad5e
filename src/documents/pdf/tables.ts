/** Words up to a gap, and where they stand in their line. */
export interface Piece {
  said: string;
  readonly x: number;
  end: number;
  /**
   * True if the gap before it parts cells in any line; a smaller one does so in rows of a table.
   */
  readonly isWide: boolean;
}

/** A line, or a row of a table with cells of several lines. */
export interface Line {
  /** Its pieces, from the side at which reading begins. */
  readonly pieces: readonly Piece[];
  /** Its highest and its lowest baseline. */
  readonly top: number;
  readonly y: number;
  readonly size: number;
  /** The direction in which it is written. */
  readonly turn: string;
}

type Column = Pick<Piece, "x" | "end">;
type Row = readonly Piece[];

/** A line with more pieces is not a row of a table. */
const MOST_COLUMNS = 100;
// Distances are in sizes of the font.
/** Lines that are further apart have an empty line between them. */
const EMPTY_LINE = 1.9;
/** A line that is further from the one before begins another table. */
const APART = 4;
/** The most between lines of text, in distances between the lines beside it. */
const SAME = 1.1;
/** The most lines of a cell. */
const MOST_LINES = 12;
// Where a line begins beside a cell: above the last line of the cell, and not much below its first.
const HIGHER = 0.3;
const NEAR = 0.75;
const LABEL = /^(?:[^\p{L}\p{N}\s]|\(?[\p{L}\p{N}]{1,4}[.)])$/u;

/** The columns of text beside each other. */
const MOST_COLUMNS_OF_TEXT = 3;

/** The number of a clause, which could be an amount if no words stood behind it. */
const CLAUSE = /^\d{1,3}(?:\.\d{1,3}){1,5}\.?$/;
/** The most between the edges of cells that are one below the other. */
const ALIGNED = 0.15;
/** The gap between a label and its words. */
const HANGING = 4;

/**
 * Writes lines. Those that follow each other and have wide gaps are a table, or columns of text.
 */
export function textOfLines(given: readonly Line[]): string {
  const lines = withWholeCells(withLateLabels(given));
  const written: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const end = endOfTable(lines, at);
    const rows = lines.slice(at, end).map(({ pieces }) => pieces);
    const cells = cellsOf(rows.map(wide));
    const items = mostIn(rows) > 2 ? rows : rows.map(withLabel);
    const table = () => (isRegular(rows) ? cellsOf(items) : cells).map((row) => row.join("\t"));
    if (at > 0 && Math.abs(downTo(lines[at], lines[at - 1])) > EMPTY_LINE) written.push("");
    for (const line of columnsOfText(cells) ?? table()) written.push(line);
    at = end;
  }
  return written.join("\n");
}

/** The distance of a line from the one before, in sizes of the font; below 0 if it is higher. */
function downTo(line: Line | undefined, above: Line | undefined): number {
  return line && line.turn === above?.turn
    ? (above.y - line.top) / Math.max(line.size, above.size)
    : Number.POSITIVE_INFINITY;
}

/**
 * Puts the labels of items, which some programs draw behind all words of a page, before the words
 * on their baseline.
 */
function withLateLabels(given: readonly Line[]): Line[] {
  const lines: Line[] = [];
  // The last lines of each baseline: columns of text have several.
  const onBaseline = new Map<number, readonly number[]>();
  for (const line of given) {
    const baseline = Math.round(line.y);
    const others = onBaseline.get(baseline) ?? [];
    const at = others.find((other) => wordsOf(line, lines[other]) !== undefined);
    const item = lines[at ?? lines.length];
    const words = wordsOf(line, item);
    if (at !== undefined && item && words) lines[at] = { ...item, pieces: [words, ...item.pieces.slice(1)] };
    else onBaseline.set(baseline, [lines.push(line) - 1, ...others.slice(0, MOST_COLUMNS_OF_TEXT - 1)]);
  }
  return lines;
}

/**
 * The first words of a line with the label that is a line of its own; nothing if it does not stand
 * before them.
 */
function wordsOf({ pieces: [label, ...others], size }: Line, item: Line | undefined): Piece | undefined {
  const words = item?.pieces[0];
  if (!label || !words || others.length > 0 || !LABEL.test(label.said)) return undefined;
  const gap = words.x - label.end;
  return gap > 0 && gap < HANGING * size ? joined(label, words) : undefined;
}

/**
 * Puts the lines of a cell together. Programs write a table cell by cell: if a line begins again
 * higher up, to the right of the lines before, these are a cell.
 */
function withWholeCells(given: readonly Line[]): Line[] {
  const lines: Line[] = [];
  for (const [at, line] of given.entries()) {
    const above = lines.at(-1);
    const [first, ...others] = lines.slice(startOfCell(lines, line));
    // Columns of text are written so as well, and stay as they are.
    const isText = others.length > 1 && isColumn(given.slice(at, at + LEAST_OF_COLUMN), rightOf(others));
    if (above && above.top > above.y && isBelow(line, above) && line.y > above.y - HIGHER * line.size) {
      lines.splice(-1, 1, withLine(above, line));
    } else if (first && !isText) {
      const cell = others.reduce(withLine, first);
      // A cell in the middle of its row has as much of the row below as above.
      const y = Math.min(cell.y, cell.top + cell.y - line.y);
      const top = Math.max(cell.top, line.y);
      lines.splice(-1 - others.length);
      lines.push({ ...cell, pieces: [...cell.pieces, ...line.pieces], top, y });
    } else lines.push(line);
  }
  return lines;
}

/** The lines of which the shorter one of two columns of text has at least so many. */
const LEAST_OF_COLUMN = 3;

const rightOf = (lines: readonly Line[]) => Math.max(...lines.map(({ pieces }) => pieces.at(-1)?.end ?? 0));

/** True if lines lie below each other, to the right of the others. */
function isColumn(lines: readonly Line[], others: number): boolean {
  return (
    lines.length === LEAST_OF_COLUMN &&
    lines.every(({ pieces: [first], y }, at) => first && first.x > others && y < (lines[at - 1]?.y ?? y + 1))
  );
}

/** A line whose last piece continues another line. */
function withLine(line: Line, { pieces: [piece], y }: Line): Line {
  const last = line.pieces.at(-1);
  if (!last || !piece) return line;
  return { ...line, pieces: [...line.pieces.slice(0, -1), joined(last, piece)], y: Math.min(line.y, y) };
}

/**
 * The place of the first line of the cell that ends before a line; the number of lines if none
 * does.
 */
function startOfCell(lines: readonly Line[], line: Line): number {
  const {
    pieces: [beside],
    y,
    size,
  } = line;
  const lowest = lines.at(-1)?.y ?? y;
  // A line in the middle of the cell has as much of it above as below.
  const highest = Math.max(y + NEAR * size, 2 * y - lowest + HIGHER * size);
  let start = lines.length;
  let found = start;
  while (lowest < y - HIGHER * size && start > lines.length - MOST_LINES) {
    const above = lines[start - 1];
    if (!beside || !above?.pieces.every(({ end }) => end < beside.x) || above.top > highest) break;
    if (start < lines.length && !isBelow(lines[start], above)) break;
    start -= 1;
    const isInMiddle = Math.abs(above.top + lowest - 2 * y) < HIGHER * size;
    if (above.top > y - APART * size && (above.top < y + NEAR * size || isInMiddle)) found = start;
  }
  return found;
}

/** True if a line is one piece, below the last one of the other line. */
function isBelow(line: Line | undefined, above: Line | undefined): boolean {
  const piece = line?.pieces[0];
  const other = above?.pieces.at(-1);
  return piece !== undefined && other !== undefined && line?.pieces.length === 1 && distance(piece, other) < 0;
}

/** The end of the table that begins with a line, or of the line if none begins. */
function endOfTable(lines: readonly Line[], start: number): number {
  let columns: readonly Column[] = [];
  let usual = EMPTY_LINE;
  let end = start;
  for (let line = lines[start]; line; line = lines[end]) {
    const row = isAlike(line, lines[end > start ? end - 1 : end + 1]) ? line.pieces : wide(line.pieces);
    const isRow = row.length > 1 && row.length <= MOST_COLUMNS;
    const down = end > start ? downTo(line, lines[end - 1]) : 0;
    // Words in one column alone have to be near.
    const isGoingOn = down > -APART && down <= (isRow ? APART : usual);
    // A line by itself above a page or table is not a row of it.
    const isTitle = end === start + 1 && down > Math.max(EMPTY_LINE, 2 * Math.abs(downTo(lines[end + 1], line)));
    if (isTitle || !isGoingOn || !(isRow || isInColumns(line.pieces, columns))) break;
    columns = columnsWith(columns, row);
    usual = Math.max(usual, SAME * down);
    end += 1;
  }
  return Math.max(end, start + 1);
}

/** True if the pieces of two lines stand one below the other, as cells do even with small gaps. */
function isAlike({ pieces, size }: Line, line: Line | undefined): boolean {
  const cells = withLabel(pieces);
  const others = withLabel(line?.pieces ?? []);
  const isNear = (one: number, other = Number.POSITIVE_INFINITY) => Math.abs(one - other) < ALIGNED * size;
  const isBelow = ({ x, end }: Piece, at: number) => isNear(x, others[at]?.x) || isNear(end, others[at]?.end);
  return cells.length > 1 && cells.length === others.length && cells.every(isBelow);
}

/** True if each piece stands under one column, in their order. */
function isInColumns(pieces: Row, columns: readonly Column[]): boolean {
  const under = pieces.map((piece) => columnOf(piece, columns));
  return under.every((column, at) => column > (under[at - 1] ?? -1));
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

function joined(piece: Piece, { said, x, end }: Piece): Piece {
  return { ...piece, said: `${piece.said} ${said}`, x: Math.min(piece.x, x), end: Math.max(piece.end, end) };
}

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
  const isAbove = (column: Column) => distance(piece, column) < 0;
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

/**
 * The cells of rows. Each piece gets the nearest column that leaves enough of them for those behind
 * it.
 */
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

/**
 * The distance of a piece from a column. It is negative if one is above the other, by as much as
 * they share.
 */
function distance({ x, end }: Column, column: Column | undefined): number {
  return column ? Math.max(x, column.x) - Math.min(end, column.end) : Number.POSITIVE_INFINITY;
}

/**
 * The lines of columns of text, one column behind the other; nothing if the rows are a table. In
 * columns of text most rows fill all columns with some words, and sentences continue from row to
 * row (docs/decisions/0024-columns-of-text.md).
 */
function columnsOfText(rows: readonly (readonly string[])[]): string[] | undefined {
  // One column may be longer than the others.
  const beside = rows.findLastIndex((row) => row.length > 1) + 1;
  const count = mostIn(rows);
  if (beside < 3 || count > MOST_COLUMNS_OF_TEXT) return undefined;
  const columns = Array.from({ length: count }, (_, column) => rows.flatMap((row) => row[column] || []));
  const cells = columns.flat();
  const isWordy = columns.every((column) => column.join(" ").split(" ").length >= 3 * column.length);
  const goingOn = cells.filter((cell) => /^[\p{Ll}\p{Lo}]/u.test(cell));
  // Empty cells are gaps between paragraphs.
  const isFull = cells.length >= 0.75 * beside * count;
  return isFull && isWordy && goingOn.length >= 0.25 * cells.length ? cells : undefined;
}
