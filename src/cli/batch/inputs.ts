import { glob } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { addAbortSignal } from "node:stream";
import { compareUnits, openRoots, pauses, type WalkOptions, walk } from "../../context/index.ts";
import { amount } from "../../platform/figures.ts";
import { statsOf } from "../../platform/stats.ts";
import { commandLine, quoted, UsageError } from "../flags/usage.ts";
import { savedAs } from "../input/path-cures.ts";
import { isHandedOver, openFile } from "../input/sources.ts";
import { withFlag } from "../render/skipped.ts";
import { csvRows } from "./csv.ts";
import { type Input, jsonLines, LINE_BYTES, type LineDecoding } from "./jsonl.ts";

/**
 * The inputs that `--jobs` names; files are the contexts of their jobs. `leftOut` has reasons for files that are none of them, such
 * as `3 files that .gitignore names`.
 * @throws UsageError if there is nothing of this name; reading the inputs throws BadLine
 */
export async function inputsOf(jobs: string, signal: AbortSignal, how: WalkOptions = {}, decoding?: LineDecoding) {
  const open = () => addAbortSignal(signal, openFile(jobs));
  const lines = (chunks: AsyncIterable<Uint8Array>, name: string) => jsonLines(chunks, name, LINE_BYTES, decoding);
  if (jobs === "-") return values(lines(addAbortSignal(signal, process.stdin), "stdin"));
  const found = statsOf(jobs);
  if (found?.isDirectory()) return folderFiles(jobs, how);
  if (!found) return files(await globFiles(jobs), jobs);
  const extension = extname(jobs).toLowerCase();
  if (extension === ".csv") return values(csvRows(open(), jobs, decoding));
  // A shell hands streams over without a name of their own.
  if (LINES.includes(extension) || isHandedOver(jobs) || !found.isFile()) return values(lines(open(), jobs));
  const takes = ".jsonl (a JSON value on each line) and .csv; a pattern or a folder makes a job of each file";
  throw new UsageError(`--jobs reads ${takes}, and ${jobs} is one file`, commandLine(["help", "batch"]));
}

const LINES = [".jsonl", ".ndjson"];

const values = (all: AsyncIterable<Input>) => ({ isFiles: false, all, leftOut: [] });

function files(all: readonly Input[], jobs: string, leftOut: readonly string[] = []) {
  if (all.length > 0) return { isFiles: true, all, leftOut };
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
