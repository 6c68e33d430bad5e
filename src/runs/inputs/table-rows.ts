import { amount } from "../../platform/figures.ts";
import { shellWord } from "../../platform/shell-word.ts";
import type { WrittenJson } from "../../platform/written-json.ts";
import { BadInput, type Input } from "./lines.ts";

/** A row of a table, and its place: `line 3 of jobs.csv`. */
export interface TableRow {
  readonly at: string;
  readonly cells: readonly WrittenJson[];
}

/** Facts of a table that the user states by flags. */
export interface TableShape {
  /** The character between columns; absent: that of the file's extension. */
  readonly delimiter?: string | undefined;
  /** The names of the columns, in place of those that the table has. */
  readonly columns?: readonly string[] | undefined;
  /** The first row is not one of names. */
  readonly noHeader?: boolean | undefined;
  /** The sheet of a workbook. */
  readonly sheet?: string | undefined;
  /** The table of a database. */
  readonly table?: string | undefined;
}

/**
 * An object for each row, by the names of the columns. Rows are numbered from 1.
 *
 * @throws BadInput
 */
export async function* rowInputs(
  rows: AsyncIterable<TableRow>,
  { columns, noHeader = false }: TableShape,
): AsyncIterable<Input> {
  let names: readonly string[] | null = null;
  let row = 0;
  for await (const { at, cells } of rows) {
    const isHeader = names === null && !noHeader;
    names ??= columns ?? (noHeader ? cells.map((_, index) => numbered(index)) : checkedHeader(cells, at));
    if (columns !== undefined && cells.length > columns.length) throw otherWidth(at, cells, columns);
    if (cells.length > names.length) {
      const wide = [...names, ...cells.slice(names.length).map(() => "")];
      throw new BadInput(at, `has ${cells.length} columns, and the first row has ${names.length}`, wayOn(wide));
    }
    if (isHeader) continue;
    row += 1;
    yield { at, row, value: Object.fromEntries(names.map((name, index) => [name, cellAt(cells, index)])) };
  }
}

/** The problem of a row that has not as many columns as the user named. */
export function otherWidth(at: string, cells: readonly unknown[], columns: readonly string[]): BadInput {
  return new BadInput(at, `has ${amount(cells.length, "column")}, and --columns names ${columns.length}`);
}

/** A row of a sheet ends with its last cell that is filled. */
const cellAt = (cells: readonly WrittenJson[], index: number) => (index < cells.length ? (cells[index] ?? null) : "");

const numbered = (index: number) => `column_${index + 1}`;

function checkedHeader(cells: readonly WrittenJson[], at: string): readonly string[] {
  const names = cells.map((cell) => (typeof cell === "string" ? cell : JSON.stringify(cell)));
  const empty = names.findIndex((name) => name.trim() === "" || name === "null");
  if (empty !== -1) throw new BadInput(at, `has no name for column ${empty + 1}`, wayOn(names));
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new BadInput(at, `names two columns ${JSON.stringify(twice.slice(0, 80))}`, wayOn(names));
  const [first = ""] = names;
  if (!NUMBER.test(first)) return names;
  throw new BadInput(at, `names its first column ${first}, so that it may be no header`, wayOn(names));
}

const NUMBER = /^[+-]?\d+([.,]\d+)*$/;

/** The flag that names the columns, with names that are free. */
function wayOn(names: readonly string[]): string {
  const taken = new Set<string>();
  const free = names.map((name, index) => {
    const plain = name.trim().replaceAll(",", " ");
    const isName = plain !== "" && plain !== "null" && !NUMBER.test(plain) && !taken.has(plain);
    const chosen = isName ? plain : numbered(index);
    taken.add(chosen);
    return chosen;
  });
  const listed = free.length > MOST_SHOWN ? [...free.slice(0, MOST_SHOWN), "…"] : free;
  return `Name the columns: --columns ${shellWord(listed.join(","))}; add --no-header if the first row is not one of names.`;
}

const MOST_SHOWN = 20;
