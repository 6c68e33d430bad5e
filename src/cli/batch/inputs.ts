import { statSync } from "node:fs";
import { glob } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import { addAbortSignal } from "node:stream";
import { compareUnits, openRoots, pauses, type WalkOptions, walk } from "../../context/index.ts";
import { amount } from "../../platform/figures.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { isHandedOver, openFile } from "../input/sources.ts";
import { withFlag } from "../render/warnings.ts";
import { csvRows } from "./csv.ts";
import { type Input, jsonLines } from "./jsonl.ts";

/** The inputs that `--jobs` names. */
interface Inputs {
  /** Files are the contexts of their jobs. */
  readonly kind: "values" | "files";
  readonly all: AsyncIterable<Input> | Iterable<Input>;
  readonly leftOut: readonly string[];
}

/** @throws UsageError if there is nothing of this name; reading the inputs throws BadLine */
export async function inputsOf(jobs: string, signal: AbortSignal, how: WalkOptions = {}): Promise<Inputs> {
  const open = () => addAbortSignal(signal, openFile(jobs));
  if (jobs === "-") return values(jsonLines(addAbortSignal(signal, process.stdin), "stdin"));
  const found = statSync(jobs, { throwIfNoEntry: false });
  if (found?.isDirectory()) return files(await folderFiles(jobs, how), jobs);
  if (!found) return files(await globFiles(jobs), jobs);
  const extension = extname(jobs).toLowerCase();
  if (extension === ".csv") return values(csvRows(open(), jobs));
  // A shell hands streams over without a name of their own.
  if (LINES.includes(extension) || isHandedOver(jobs) || !found.isFile()) return values(jsonLines(open(), jobs));
  throw new UsageError(
    `--jobs reads .jsonl (a JSON value on each line) and .csv; a pattern or a folder makes a job of each file, and ${jobs} is one file`,
    commandLine(["help", "batch"]),
  );
}

const LINES = [".jsonl", ".ndjson"];

const values = (all: AsyncIterable<Input>): Inputs => ({ kind: "values", all, leftOut: [] });

function files({ inputs, leftOut }: Files, jobs: string): Inputs {
  if (inputs.length > 0) return { kind: "files", all: inputs, leftOut };
  const problem = /[*?[{]/.test(jobs) ? `no file matches ${jobs}` : `--jobs ${jobs}: no such file, or no file in it`;
  throw new UsageError(problem, commandLine(["help", "batch"]));
}

/** Inputs that are files, and what of a folder is not among them. */
interface Files {
  readonly inputs: readonly Input[];
  /** Reasons for files that were left out, such as `3 files that .gitignore names`. */
  readonly leftOut: readonly string[];
}

/** A job for each file of a folder, as a load would read it, in the order of their paths. */
async function folderFiles(folder: string, how: WalkOptions): Promise<Files> {
  const roots = openRoots([folder], process.cwd());
  const { files, skipped, ignored } = await walk(roots, roots[0] ?? "", pauses(), how);
  return {
    inputs: files.map(({ relative }) => fileInput(join(folder, relative))),
    leftOut: [
      ...(ignored > 0 ? [`${amount(ignored, "file or folder", "files and folders")} that .gitignore names`] : []),
      ...skipped.map(({ path, reason }) => `${path} (${withFlag(reason)})`),
    ],
  };
}

/** A job for each file that a pattern matches, in the order of their paths. */
async function globFiles(pattern: string): Promise<Files> {
  const paths: string[] = [];
  for await (const path of glob(pattern)) {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) paths.push(path);
  }
  return { inputs: paths.sort(compareUnits).map(fileInput), leftOut: [] };
}

function fileInput(path: string): Input {
  return { at: path, value: { path: sep === "/" ? path : path.replaceAll(sep, "/") } };
}
