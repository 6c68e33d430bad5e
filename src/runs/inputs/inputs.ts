import type { Stats } from "node:fs";
import { glob } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { addAbortSignal, pipeline, Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import {
  compareUnits,
  HEAD_BYTES,
  kindOf,
  openRoots,
  packedBy,
  pauses,
  type SkippedFile,
  type WalkOptions,
  walk,
} from "../../context/index.ts";
import { firstBytes, isHandedOver, openFile } from "../../platform/bounded-reads.ts";
import { errorCode } from "../../platform/errors.ts";
import { statsOf } from "../../platform/paths.ts";
import { savedAs, shellWord } from "../../platform/shell-word.ts";
import { frameCutter } from "../../platform/zstd-frames.ts";
import { arrayItems } from "./array-items.ts";
import { BadInput, type Input, jsonItems, jsonLines, LINE_BYTES, type TableDecoding } from "./lines.ts";
import { csvRows, documentRows, rowInputs, type TableShape, type TabularKind } from "./tables.ts";

/** The way in which a table of jobs is read. */
interface TableReading {
  readonly decoding?: TableDecoding | undefined;
  readonly shape?: TableShape | undefined;
  /** Bytes that an input may have, if it has a text that goes into no job. Default: those of a job. */
  readonly most?: number | undefined;
}

/** The inputs of one place. */
export interface Inputs {
  readonly all: AsyncIterable<Input> | readonly Input[];
  /** True if each input is a file, which is the context of its job. */
  readonly isFiles: boolean;
  /** True if an encoding says something about them. */
  readonly isText: boolean;
  /** Files of a folder that are not among them. */
  readonly skipped: readonly SkippedFile[];
  /** The number of files and folders that `.gitignore` leaves out. */
  readonly ignored: number;
}

/**
 * Opens the inputs that `--jobs` names.
 *
 * @throws BadInput if there is nothing of this name, or a flag does not fit it; so does reading the
 * inputs
 */
export async function inputsOf(
  jobs: string,
  signal: AbortSignal,
  how: WalkOptions = {},
  { decoding, shape = {}, most }: TableReading = {},
): Promise<Inputs> {
  const found = jobs === "-" ? undefined : statsOf(jobs);
  const kind = kindOfInputs(jobs, found, shape);
  checkShape(jobs, kind, shape);
  if (kind === "folder") return folderFiles(jobs, how);
  if (kind === "files") return files(await globFiles(jobs), jobs);
  if (kind !== "rows" && kind !== "json" && kind !== "lines") {
    const note = (sentence: string) => decoding?.note(sentence);
    return values(rowInputs(documentRows(jobs, kind, shape, { signal, note, most }), shape), false);
  }
  const stream = addAbortSignal(signal, jobs === "-" ? process.stdin : openFile(jobs));
  const chunks = unpackedChunks(found?.isFile() ? whileUnchanged(stream, jobs, found) : stream, jobs);
  const name = jobs === "-" ? "stdin" : jobs;
  if (kind === "rows") return values(csvRows(chunks, name, decoding, shape));
  if (kind === "json" && most !== undefined) return values(arrayItems(chunks, name, most));
  if (kind === "json") return values(jsonItems(chunks, name, decoding));
  return values(jsonLines(chunks, name, most ?? LINE_BYTES, decoding));
}

/** The bytes of a file, which must not be written to meanwhile: the last row might be half of one. @throws BadInput */
async function* whileUnchanged(bytes: AsyncIterable<Uint8Array>, path: string, before: Stats) {
  yield* bytes;
  const now = statsOf(path);
  if (now?.size === before.size && now.mtimeMs === before.mtimeMs) return;
  throw new BadInput(null, `${path} was changed while it was read`, "Copy it once it is whole, and name the copy.");
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

const WORKBOOKS = [".xlsx", ".xlsm", ".ods"];

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
    const problem = `--jobs ${jobs} is compressed (${program}); unpack it, and type --jobs ${shellWord(unpacked)}`;
    throw new BadInput(null, problem, null, `${program} -dc ${shellWord(jobs)} > ${shellWord(unpacked)}`);
  }
  throw new BadInput(null, `--jobs reads ${TAKES}, and ${jobs} is one file`);
}

/** The kind of a file whose rows its reader gives; null for another file. */
function kindOfDocument(path: string): TabularKind | null {
  const kind = kindOf(firstBytes(path, HEAD_BYTES), path);
  if (kind === "sqlite" || kind === "parquet") return kind;
  const isWorkbook = WORKBOOKS.includes(extname(path).toLowerCase());
  return isWorkbook && (kind === "zip" || kind === "ole") ? kind : null;
}

const TAKES =
  ".jsonl (a JSON value on each line), .json (an array), .csv and .tsv, also with .gz, " +
  ".xlsx, .ods, .parquet and databases of SQLite; a pattern or a folder makes a job of each file";

/** Refuses flags that would say nothing about these inputs. @throws BadInput */
function checkShape(jobs: string, kind: KindOfInputs, shape: TableShape): void {
  const { columns, noHeader, sheet, table } = shape;
  const misfit = (flag: string, what: string) =>
    new BadInput(null, `${flag} is for ${what}, and --jobs ${jobs} is none`);
  const isWorkbook = kind === "zip" || kind === "ole";
  const hasNames = kind === "sqlite" || kind === "parquet";
  const isTable = kind === "rows" || isWorkbook || hasNames;
  if (columns !== undefined && !isTable) throw misfit("--columns", "tables");
  if (noHeader && (!isTable || hasNames)) {
    throw misfit("--no-header", "tables whose first row may be one of names");
  }
  if (sheet !== undefined && !isWorkbook) throw misfit("--sheet", "workbooks");
  if (table !== undefined && kind !== "sqlite") throw misfit("--table", "databases");
}

function values(all: AsyncIterable<Input>, isText = true): Inputs {
  return { isFiles: false, isText, all, skipped: [], ignored: 0 };
}

type LeftOut = Pick<Inputs, "skipped" | "ignored">;

function files(all: readonly Input[], jobs: string, left: LeftOut = { skipped: [], ignored: 0 }): Inputs {
  if (all.length > 0) return { isFiles: true, isText: true, all, ...left };
  const saved = savedAs(jobs);
  if (saved) {
    const problem = `--jobs reads files, and ${jobs} is an address; save it, and type --jobs ${shellWord(saved.name)}`;
    throw new BadInput(null, problem, null, saved.line);
  }
  const isPattern = /[*?[{]/.test(jobs);
  const problem = isPattern ? `no file matches ${jobs}` : `--jobs ${jobs}: no such file, or no file in it`;
  throw new BadInput(null, problem);
}

/** A job for each file of a folder, as a load would read it, in the order of their paths. */
async function folderFiles(folder: string, how: WalkOptions): Promise<Inputs> {
  const roots = openRoots([folder], process.cwd());
  const { files: found, skipped, ignored } = await walk(roots, roots[0] ?? "", pauses(), how);
  const inputs = Array.from(found, ({ relative }) => fileInput(join(folder, relative)));
  return files(inputs, folder, { skipped, ignored });
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

/** A table is refused that unpacks to more: rows are kept in a temporary file. */
const MOST_BYTES = 4 * 2 ** 30;

async function* cutAtFrames(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const cutter = frameCutter();
  for await (const chunk of chunks) yield* cutter.cut(chunk);
}

/** The name of a file without the extension that says it is packed. */
const unpackedName = (name: string) => name.replace(/\.(?:gz|zst|zstd)$/i, "");

/**
 * The content of a file, unpacked if its name ends in `.gz` or `.zst`.
 *
 * @throws BadInput if it is not whole
 */
async function* unpackedChunks(chunks: AsyncIterable<Uint8Array>, name: string): AsyncIterable<Uint8Array> {
  if (unpackedName(name) === name) {
    yield* chunks;
    return;
  }
  const isGzip = /\.gz$/i.test(name);
  const unpacking = isGzip ? createGunzip() : createZstdDecompress();
  // A failure of either side destroys the other, and is thrown below.
  pipeline(Readable.from(isGzip ? chunks : cutAtFrames(chunks)), unpacking, () => {});
  let bytes = 0;
  try {
    for await (const chunk of unpacking) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) break;
      yield chunk;
    }
  } catch (error) {
    const code = errorCode(error);
    if (!/^(?:Z_|ZSTD_)/.test(code)) throw error;
    const isCut = code === "Z_BUF_ERROR";
    const problem = isCut ? "ends too early, so that rows are missing" : "is damaged: it cannot be unpacked";
    throw new BadInput(name, problem, "Copy or download it again.");
  }
  if (bytes > MOST_BYTES) throw new BadInput(name, "unpacks to more than 4 GB", "Unpack it, and name the file.");
}
