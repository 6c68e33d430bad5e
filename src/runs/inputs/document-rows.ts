import { readFileSync, statSync } from "node:fs";
import { extname } from "node:path";
import { HEAD_BYTES, kindOf, lossText, MOST_ORIGINAL_BYTES, tableOf } from "../../context/index.ts";
import { firstBytes } from "../../platform/bounded-file.ts";
import { thousands } from "../../platform/figures.ts";
import { statsOf } from "../../platform/stats.ts";
import type { WrittenJson } from "../../platform/written-json.ts";
import { BadInput, LINE_BYTES, linesOf, readValue } from "./lines.ts";
import type { TableRow, TableShape } from "./table-rows.ts";

const WORKBOOKS = [".xlsx", ".xlsm", ".ods"];

/**
 * The kind of a file whose rows its reader gives: a workbook, also one that is encrypted or old, a
 * database or a Parquet file.
 */
export type TabularKind = "zip" | "ole" | "sqlite" | "parquet";

/** The kind of a file whose rows its reader gives; null for another file. */
export function kindOfDocument(path: string): TabularKind | null {
  const kind = kindOf(firstBytes(path, HEAD_BYTES), path);
  if (kind === "sqlite" || kind === "parquet") return kind;
  const isWorkbook = WORKBOOKS.includes(extname(path).toLowerCase());
  return isWorkbook && (kind === "zip" || kind === "ole") ? kind : null;
}

/**
 * The rows of a sheet or table.
 *
 * @param note told what of it no row has
 * @throws BadInput; RlmError as a load of the document has
 */
export async function* documentRows(
  path: string,
  kind: TabularKind,
  { sheet, table = sheet }: TableShape,
  { signal, note }: { readonly signal: AbortSignal; note(sentence: string): void },
): AsyncIterable<TableRow> {
  const wal = kind === "sqlite" && statsOf(`${path}-wal`)?.isFile() ? { wal: original(`${path}-wal`) } : {};
  const from = { way: { kind, plain: [] }, bytes: original(path), decoding: { bad: "none" }, ...wal } as const;
  const { name, lines, lost } = await tableOf(path, from, { table: table ?? null }, { signal });
  for (const loss of lost) note(`${path}: ${lossText(loss.kind, loss.count)} of ${name} left out`);
  async function* chunks(): AsyncIterable<Uint8Array> {
    yield lines;
  }
  for await (const { text } of linesOf(chunks(), path, LINE_BYTES)) {
    const [number, cells] = rowIn(readValue(text, path), path);
    const row = number === 0 ? "header" : `row ${thousands(number)}`;
    yield { at: `${row} of ${name} in ${path}`, cells };
  }
}

/** All bytes of a file. @throws BadInput if they are too many */
function original(path: string): Uint8Array {
  if (statSync(path).size <= MOST_ORIGINAL_BYTES) return readFileSync(path);
  const problem = `is larger than ${MOST_ORIGINAL_BYTES / 2 ** 20} MB`;
  throw new BadInput(path, problem, "Export what you need of it as .csv, and name that file.");
}

/**
 * The number and the cells of a row. A document may have taken over its reader, so nothing of the
 * line is trusted.
 */
function rowIn(line: WrittenJson, path: string): [number: number, cells: readonly WrittenJson[]] {
  if (Array.isArray(line)) {
    const [number, cells]: readonly WrittenJson[] = line;
    if (typeof number === "number" && Array.isArray(cells)) return [number, cells];
  }
  throw new BadInput(path, "cannot be read: its reader gave a row that is none");
}
