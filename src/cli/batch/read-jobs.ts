import { statSync } from "node:fs";
import { isRecord } from "../../json.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { AskedRun } from "./asked.ts";
import { openIds } from "./ids.ts";
import { inputsOf } from "./inputs.ts";
import type { Input } from "./jsonl.ts";
import { BadLine } from "./lines.ts";
import type { ContextMode } from "./spec.ts";
import { type Spool, spool } from "./spool.ts";

/** The jobs of a run, all read and found right. */
export interface ReadJobs extends AsyncDisposable {
  readonly mode: ContextMode;
  readonly spool: Spool;
  /** What of a folder is not among them. */
  readonly leftOut: readonly string[];
}

/** @throws UsageError for the first line that is wrong */
export async function readJobs({ jobs, own, contexts }: AskedRun): Promise<ReadJobs> {
  const { kind, all, leftOut } = await inputsOf(jobs);
  const isFiles = kind === "files";
  if (isFiles && (contexts.length > 0 || own.contextField !== undefined)) {
    const other = contexts.length > 0 ? "-c" : "--context-field";
    throw new UsageError(`each file of --jobs is the context of its job, and ${other} names another one`, HELP);
  }
  const field = isFiles ? "path" : own.contextField;
  try {
    const idOf = openIds(own.id ?? null, isFiles ? "path" : "id");
    const read = await spool(all, idOf, (input) => (field === undefined ? null : contextPath(input, field)));
    if (read.count === 0) throw new UsageError(`there is no job in ${jobs === "-" ? "stdin" : jobs}`, HELP);
    const mode = field !== undefined ? "each" : contexts.length > 0 ? "shared" : "none";
    return { mode, spool: read, leftOut, [Symbol.asyncDispose]: () => read[Symbol.asyncDispose]() };
  } catch (error) {
    if (!(error instanceof BadLine)) throw error;
    throw new UsageError(`${error.at} ${error.message}${error.cure === null ? "" : `. ${error.cure}`}`, HELP);
  }
}

const HELP = commandLine(["help", "batch"]);

/** @throws BadLine if nothing can be read there */
function contextPath({ at, value }: Input, field: string): string {
  const path = isRecord(value) && Object.hasOwn(value, field) ? value[field] : undefined;
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw new BadLine(at, `has no path in ${JSON.stringify(field)}, which --context-field names`);
  }
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isFile() || found?.isDirectory()) return path;
  throw new BadLine(
    at,
    `names the context ${JSON.stringify(path)}, which ${found ? "is neither a file nor a folder" : "does not exist"}`,
  );
}
