import { statSync } from "node:fs";
import { extname } from "node:path";
import { addAbortSignal } from "node:stream";
import { commandLine, UsageError } from "../flags/usage.ts";
import { isHandedOver, openFile } from "../input/sources.ts";
import { csvRows } from "./csv.ts";
import { type Files, folderFiles, globFiles } from "./files.ts";
import { type Input, jsonLines } from "./jsonl.ts";

/** What `--jobs` names. */
export interface Inputs {
  /** Files are the contexts of their jobs. */
  readonly kind: "values" | "files";
  readonly all: AsyncIterable<Input> | Iterable<Input>;
  readonly leftOut: readonly string[];
}

/** @throws UsageError if there is nothing of this name; reading the inputs throws BadLine */
export async function inputsOf(jobs: string, signal: AbortSignal): Promise<Inputs> {
  const open = () => addAbortSignal(signal, openFile(jobs));
  if (jobs === "-") return values(jsonLines(addAbortSignal(signal, process.stdin), "stdin"));
  const found = statSync(jobs, { throwIfNoEntry: false });
  if (found?.isDirectory()) return files(await folderFiles(jobs), jobs);
  if (!found) return files(await globFiles(jobs), jobs);
  const extension = extname(jobs).toLowerCase();
  if (extension === ".csv") return values(csvRows(open(), jobs));
  // What a shell hands over has no name of its own.
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
