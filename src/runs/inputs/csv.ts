import { pipeline, Readable } from "node:stream";
import type { CsvError } from "csv-parse";
import { shellWord } from "../../platform/shell-word.ts";
import { BadInput, type Input, LINE_BYTES, type LineDecoding, linesOf, placeOf } from "./lines.ts";
import { otherWidth, rowInputs, type TableRow, type TableShape } from "./table-rows.ts";

/** An object of strings for each row, by the names in the header (RFC 4180). @throws BadInput */
export function csvRows(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  decoding?: LineDecoding,
  shape: TableShape = {},
): AsyncIterable<Input> {
  return rowInputs(parsedRows(chunks, name, decoding, shape), shape);
}

const TAB = "\t";

async function* parsedRows(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  decoding: LineDecoding | undefined,
  { delimiter, columns }: TableShape,
): AsyncIterable<TableRow> {
  const usual = /\.(?:tsv|tab)(?:\.\w+)?$/i.test(name) ? TAB : ",";
  const separator = delimiter ?? usual;
  const { CsvError, parse } = await import("csv-parse");
  const parser = parse({
    info: true,
    delimiter: separator,
    max_record_size: LINE_BYTES,
    record_delimiter: ENDS,
    skip_empty_lines: true,
    // Programs that write tabs between columns seldom quote.
    relax_quotes: separator === TAB,
  });
  const lines = linesOf(chunks, name, LINE_BYTES, decoding);
  const checked = delimiter === undefined ? checkedLines(lines, name, separator) : lines;
  // A failure of either side destroys the parser, which then rejects below.
  pipeline(Readable.from(withEnds(checked)), parser, () => {});
  try {
    for await (const { record, info } of parser) {
      const cells: readonly string[] = record;
      const at = placeOf(info.lines, name);
      // All rows have as many fields as the first one.
      if (columns !== undefined && cells.length !== columns.length) throw otherWidth(at, cells, columns);
      yield { at, cells };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number("lines" in error ? error.lines : 1);
    throw new BadInput(placeOf(line, name), PROBLEMS[error.code] ?? error.message.slice(0, 200));
  }
}

/** A file may have both. */
const ENDS = ["\r\n", "\n"];

/** A line of the file, with its number from 1. */
interface Line {
  readonly number: number;
  readonly text: string;
}

async function* withEnds(lines: AsyncIterable<Line>): AsyncIterable<string> {
  for await (const { text } of lines) yield `${text}\n`;
}

/**
 * The lines, of which the first one is looked at before the parser complains of quotes.
 *
 * @throws BadInput if its columns have another separator
 */
async function* checkedLines(lines: AsyncIterable<Line>, name: string, separator: string): AsyncIterable<Line> {
  let isChecked = false;
  for await (const line of lines) {
    if (!isChecked && line.text.trim() !== "") {
      isChecked = true;
      checkSeparator(line, name, separator);
    }
    yield line;
  }
}

function checkSeparator({ number, text }: Line, name: string, separator: string): void {
  const unquoted = text.replace(/"(?:[^"]|"")*"?/g, "");
  if (unquoted.includes(separator)) return;
  const other = Object.keys(SEPARATORS).find((one) => one !== separator && unquoted.includes(one));
  if (other === undefined) return;
  const problem = `has ${SEPARATORS[other]} between its columns, and not ${SEPARATORS[separator]}`;
  throw new BadInput(
    placeOf(number, name),
    problem,
    `Say so: --delimiter ${other === TAB ? "tab" : shellWord(other)}.`,
  );
}

const SEPARATORS: Readonly<Record<string, string>> = { ";": "semicolons", [TAB]: "tabs", "|": "bars", ",": "commas" };

const PROBLEMS: Readonly<Partial<Record<CsvError["code"], string>>> = {
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: "has another number of fields than the header",
  CSV_QUOTE_NOT_CLOSED: "has a quote that is not closed",
  CSV_INVALID_CLOSING_QUOTE: "goes on after a closing quote; a quote within a field is doubled",
  INVALID_OPENING_QUOTE: "has a quote within a field that does not begin with one; put such a field in quotes",
  CSV_MAX_RECORD_SIZE: "belongs to a row of more than 1 MB",
};
