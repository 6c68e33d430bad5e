import { pipeline, Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import { BadLine, type Input, LINE_BYTES, type LineDecoding, linesOf, placeOf } from "./jsonl.ts";

/** An object of strings for each row, by the names in the header (RFC 4180). @throws BadLine */
export async function* csvRows(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  decoding?: LineDecoding,
): AsyncIterable<Input> {
  const parser = parse({ info: true, max_record_size: LINE_BYTES, record_delimiter: ENDS, skip_empty_lines: true });
  // A failure of either side destroys the parser, which then rejects below.
  pipeline(Readable.from(withEnds(chunks, name, decoding)), parser, () => {});
  let header: readonly string[] | null = null;
  try {
    for await (const { record, info } of parser) {
      const row: readonly string[] = record;
      const at = placeOf(info.lines, name);
      if (header === null) header = checkedHeader(row, at);
      else yield { at, value: Object.fromEntries(header.map((column, index) => [column, row[index] ?? ""])) };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const line = Number("lines" in error ? error.lines : 1);
    throw new BadLine(placeOf(line, name), PROBLEMS[error.code] ?? error.message.slice(0, 200));
  }
}

/** A file may have both. */
const ENDS = ["\r\n", "\n"];

async function* withEnds(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  decoding: LineDecoding | undefined,
): AsyncIterable<string> {
  for await (const { text } of linesOf(chunks, name, LINE_BYTES, decoding)) yield `${text}\n`;
}

function checkedHeader(row: readonly string[], at: string): readonly string[] {
  const [only = ""] = row;
  const other = row.length === 1 ? OTHER_SEPARATORS.find(([separator]) => only.includes(separator)) : undefined;
  if (other) {
    throw new BadLine(at, `has ${other[1]} between its columns, and .csv has commas`, "Save the table with commas.");
  }
  const empty = row.findIndex((column) => column.trim() === "");
  if (empty !== -1) throw new BadLine(at, `has no name for column ${empty + 1}`, "The first row names the columns.");
  const twice = row.find((column, index) => row.indexOf(column) !== index);
  if (twice === undefined) return row;
  throw new BadLine(at, `names two columns ${JSON.stringify(twice.slice(0, 80))}`, "Rename one of them.");
}

const OTHER_SEPARATORS = Object.entries({ ";": "semicolons", "\t": "tabs" });

const PROBLEMS: Readonly<Partial<Record<CsvError["code"], string>>> = {
  CSV_RECORD_INCONSISTENT_FIELDS_LENGTH: "has another number of fields than the header",
  CSV_QUOTE_NOT_CLOSED: "has a quote that is not closed",
  CSV_INVALID_CLOSING_QUOTE: "goes on after a closing quote; a quote within a field is doubled",
  INVALID_OPENING_QUOTE: "has a quote within a field that does not begin with one; such a field stands in quotes",
  CSV_MAX_RECORD_SIZE: "belongs to a row of more than 1 MB",
};
