import type { Stats } from "node:fs";
import { glob } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { addAbortSignal } from "node:stream";
import { compareUnits, HEAD_BYTES, openRoots, packedBy, pauses, type WalkOptions, walk } from "../../context/index.ts";
import { firstBytes } from "../../platform/bounded-file.ts";
import { amount } from "../../platform/figures.ts";
import { statsOf } from "../../platform/stats.ts";
import { commandLine, quoted, UsageError } from "../flags/usage.ts";
import { savedAs } from "../input/path-cures.ts";
import { isHandedOver, openFile } from "../input/sources.ts";
import { withFlag } from "../render/skipped.ts";
import { csvRows } from "./csv.ts";
import { documentRows, kindOfDocument, type TabularKind } from "./document-rows.ts";
import { jsonItems } from "./json-items.ts";
import { type Input, jsonLines, LINE_BYTES } from "./jsonl.ts";
import type { TableDecoding } from "./table-decoding.ts";
import { rowInputs, type TableShape } from "./table-rows.ts";
import { unpackedChunks, unpackedName } from "./unpacked.ts";

/** The way in which a table of jobs is read. */
export interface TableReading {
  readonly decoding?: TableDecoding | undefined;
  readonly shape?: TableShape | undefined;
}

/**
 * The inputs that `--jobs` names; files are the contexts of their jobs. `leftOut` has reasons for files that are none of them, such
 * as `3 files that .gitignore names`. `isText`: an encoding says something of them.
 * @throws UsageError if there is nothing of this name, or a flag does not fit it; reading the inputs throws BadLine
 */
export async function inputsOf(
  jobs: string,
  signal: AbortSignal,
  how: WalkOptions = {},
  { decoding, shape = {} }: TableReading = {},
) {
  const found = jobs === "-" ? undefined : statsOf(jobs);
  const kind = kindOfInputs(jobs, found, shape);
  checkShape(jobs, kind, shape);
  if (kind === "folder") return folderFiles(jobs, how);
  if (kind === "files") return files(await globFiles(jobs), jobs);
  if (kind !== "rows" && kind !== "json" && kind !== "lines") {
    const note = (sentence: string) => decoding?.note(sentence);
    return values(rowInputs(documentRows(jobs, kind, shape, { signal, note }), shape), false);
  }
  const stream = addAbortSignal(signal, jobs === "-" ? process.stdin : openFile(jobs));
  const chunks = unpackedChunks(stream, jobs);
  const name = jobs === "-" ? "stdin" : jobs;
  if (kind === "rows") return values(csvRows(chunks, name, decoding, shape));
  if (kind === "json") return values(jsonItems(chunks, name, decoding));
  return values(jsonLines(chunks, name, LINE_BYTES, decoding));
}

const EXTENSIONS: Readonly<Record<string, "rows" | "lines" | "json">> = {
  ".csv": "rows",
  ".tsv": "rows",
  ".tab": "rows",
  ".jsonl": "lines",
  ".ndjson": "lines",
  ".json": "json",
};

type KindOfInputs = "rows" | "lines" | "json" | "folder" | "files" | TabularKind;

function kindOfInputs(jobs: string, found: Stats | undefined, { delimiter }: TableShape): KindOfInputs {
  if (jobs !== "-" && !found) return "files";
  if (found?.isDirectory()) return "folder";
  if (delimiter !== undefined) return "rows";
  const kind = EXTENSIONS[extname(unpackedName(jobs)).toLowerCase()];
  if (kind !== undefined) return kind;
  // A shell hands streams over without a name of their own.
  if (jobs === "-" || isHandedOver(jobs) || !found?.isFile()) return "lines";
  const document = kindOfDocument(jobs);
  if (document !== null) return document;
  const program = packedBy(firstBytes(jobs, HEAD_BYTES));
  const unpacked = jobs.replace(/\.(?:bz2|xz)$/i, "");
  if (program !== null && unpacked !== jobs) {
    const line = `${program} -dc ${quoted(jobs)} > ${quoted(unpacked)}`;
    throw new UsageError(
      `--jobs ${jobs} is compressed (${program}); unpack it, and type --jobs ${quoted(unpacked)}`,
      line,
    );
  }
  throw new UsageError(`--jobs reads ${TAKES}, and ${jobs} is one file`, commandLine(["help", "batch"]));
}

const TAKES =
  ".jsonl (a JSON value on each line), .json (an array), .csv and .tsv, also with .gz, .xlsx, .ods, .parquet and databases of SQLite; a pattern or a folder makes a job of each file";

/** Refuses flags that would say nothing of these inputs. @throws UsageError */
function checkShape(jobs: string, kind: KindOfInputs, { columns, noHeader, sheet, table }: TableShape): void {
  const misfit = (flag: string, what: string) =>
    new UsageError(`${flag} is for ${what}, and --jobs ${jobs} is none`, commandLine(["help", "batch"]));
  const isWorkbook = kind === "zip" || kind === "ole";
  const hasNames = kind === "sqlite" || kind === "parquet";
  const isTable = kind === "rows" || isWorkbook || hasNames;
  if (columns !== undefined && !isTable) throw misfit("--columns", "tables");
  if (noHeader && (!isTable || hasNames)) throw misfit("--no-header", "tables whose first row may be one of names");
  if (sheet !== undefined && !isWorkbook) throw misfit("--sheet", "workbooks");
  if (table !== undefined && kind !== "sqlite") throw misfit("--table", "databases");
}

const values = (all: AsyncIterable<Input>, isText = true) => ({ isFiles: false, isText, all, leftOut: [] });

function files(all: readonly Input[], jobs: string, leftOut: readonly string[] = []) {
  if (all.length > 0) return { isFiles: true, isText: true, all, leftOut };
  const saved = savedAs(jobs);
  if (saved) {
    const problem = `--jobs reads files, and ${jobs} is an address; save it, and type --jobs ${quoted(saved.name)}`;
    throw new UsageError(problem, saved.line);
  }
  const problem = /[*?[{]/.test(jobs) ? `no file matches ${jobs}` : `--jobs ${jobs}: no such file, or no file in it`;
  throw new UsageError(problem, commandLine(["help", "batch"]));
}

/** A job for each file of a folder, as a load would read it, in the order of their paths. */
async function folderFiles(folder: string, how: WalkOptions) {
  const roots = openRoots([folder], process.cwd());
  const { files: found, skipped, ignored } = await walk(roots, roots[0] ?? "", pauses(), how);
  const inputs = found.map(({ relative }) => fileInput(join(folder, relative)));
  const unseen = ignored > 0 ? [`${amount(ignored, "file or folder", "files and folders")} that .gitignore names`] : [];
  return files(inputs, folder, [...unseen, ...skipped.map(({ path, reason }) => `${path} (${withFlag(reason)})`)]);
}

/** A job for each file that a pattern matches, in the order of their paths. */
async function globFiles(pattern: string): Promise<Input[]> {
  const paths: string[] = [];
  for await (const path of glob(pattern)) {
    if (statsOf(path)?.isFile()) paths.push(path);
  }
  return paths.sort(compareUnits).map(fileInput);
}

function fileInput(path: string): Input {
  return { at: path, value: { path: sep === "/" ? path : path.replaceAll(sep, "/") } };
}
