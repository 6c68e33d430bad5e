import { existsSync, readFileSync, statSync } from "node:fs";
import { extname } from "node:path";
import { HEAD_BYTES, kindOf, lossText, MOST_ORIGINAL_BYTES, tableOf } from "../../context/index.ts";
import { firstBytes } from "../../platform/bounded-file.ts";
import { thousands } from "../../platform/figures.ts";
import type { WrittenJson } from "../../platform/written-json.ts";
import { BadLine, linesOf, readValue } from "./jsonl.ts";
import type { TableRow, TableShape } from "./table-rows.ts";

const WORKBOOKS = [".xlsx", ".xlsm", ".ods"];
const OF_WORKBOOKS = ["zip", "ole"];

/** The kind of a file whose rows its reader gives: a workbook, a database or a Parquet file; null for another file. */
export function kindOfDocument(path: string) {
  const kind = kindOf(firstBytes(path, HEAD_BYTES), path);
  if (kind === "sqlite" || kind === "parquet") return kind;
  const isWorkbook = WORKBOOKS.includes(extname(path).toLowerCase());
  return isWorkbook && kind !== null && OF_WORKBOOKS.includes(kind) ? kind : null;
}

/** The rows of a sheet or table. @param note told what of it no row has @throws BadLine; RlmError as a load of the document has */
export async function* documentRows(
  path: string,
  kind: NonNullable<ReturnType<typeof kindOfDocument>>,
  { sheet, table = sheet }: TableShape,
  { signal, note }: { readonly signal: AbortSignal; note(sentence: string): void },
): AsyncIterable<TableRow> {
  const size = statSync(path).size;
  if (size > MOST_ORIGINAL_BYTES) {
    throw new BadLine(
      path,
      `is larger than ${MOST_ORIGINAL_BYTES / 2 ** 20} MB`,
      "Export it as .csv, and name that file.",
    );
  }
  const log = `${path}-wal`;
  const wal = kind === "sqlite" && existsSync(log) ? { wal: readFileSync(log) } : {};
  const original = { way: { kind, plain: [] }, bytes: readFileSync(path), decoding: { bad: "none" }, ...wal } as const;
  const { name, lines, lost } = await tableOf(path, original, { table: table ?? null }, { signal });
  for (const loss of lost) note(`${path}: ${lossText(loss.kind, loss.count)} of ${name} left out`);
  async function* chunks(): AsyncIterable<Uint8Array> {
    yield lines;
  }
  for await (const { text } of linesOf(chunks(), path, Number.POSITIVE_INFINITY)) {
    const [number, cells] = rowIn(readValue(text, path), path);
    const row = number === 0 ? "header" : `row ${thousands(number)}`;
    yield { at: `${row} of ${name} in ${path}`, cells };
  }
}

/** The number and the cells of a row. A document may have taken over its reader, so nothing of the line is trusted. */
function rowIn(line: WrittenJson, path: string): [number: number, cells: readonly WrittenJson[]] {
  if (Array.isArray(line)) {
    const [number, cells]: readonly WrittenJson[] = line;
    if (typeof number === "number" && Array.isArray(cells)) return [number, cells];
  }
  throw new BadLine(path, "cannot be read: its reader gave a row that is none");
}
