import { statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { canonical, forbiddenBy, isAllowed, openRoots, type Roots } from "../../context/index.ts";
import { isRecord } from "../../platform/json.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { isHandedOver } from "../input/sources.ts";
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
export async function readJobs({ jobs, own, contexts }: AskedRun, signal: AbortSignal): Promise<ReadJobs> {
  const { kind, all, leftOut } = await inputsOf(jobs, signal);
  const isFiles = kind === "files";
  if (isFiles && (contexts.length > 0 || own.contextField !== undefined)) {
    const other = contexts.length > 0 ? "-c" : "--context-field";
    throw new UsageError(`each file of --jobs is the context of its job, and ${other} names another one`, HELP);
  }
  const field = isFiles ? "path" : own.contextField;
  // Rows may come from somebody else; what a pattern or a folder gives, the user has named.
  const places = isFiles ? null : openRoots(tableRoots({ jobs, own }), process.cwd());
  try {
    const idOf = openIds(own.id ?? null, isFiles ? "path" : "id");
    const read = await spool(all, idOf, (input) => (field === undefined ? null : contextPath(input, field, places)));
    if (read.count === 0) throw new UsageError(`there is no job in ${jobs === "-" ? "stdin" : jobs}`, HELP);
    const mode = field !== undefined ? "each" : contexts.length > 0 ? "shared" : "none";
    return { mode, spool: read, leftOut, [Symbol.asyncDispose]: () => read[Symbol.asyncDispose]() };
  } catch (error) {
    if (!(error instanceof BadLine)) throw error;
    throw new UsageError(`${error.at} ${error.message}${error.cure === null ? "" : `. ${error.cure}`}`, HELP);
  }
}

const HELP = commandLine(["help", "batch"]);

/** Folders into which the paths of a table may lead. One that comes from a pipe has the folder in which the command was typed. */
export function tableRoots({ jobs, own }: Pick<AskedRun, "jobs" | "own">): readonly string[] {
  return [jobs === "-" || isHandedOver(jobs) ? "." : dirname(jobs), ...(own.root ?? [])];
}

/** @param roots within which the path must lie; null: the user has named it @throws BadLine if nothing may be read there */
function contextPath({ at, value }: Input, field: string, roots: Roots | null): string {
  const path = isRecord(value) && Object.hasOwn(value, field) ? value[field] : undefined;
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw new BadLine(at, `has no path in ${JSON.stringify(field)}, which --context-field names`);
  }
  const named = `names the context ${JSON.stringify(path.slice(0, SHOWN_UNITS))}, which`;
  const place = canonical(resolve(path));
  if (roots !== null && !isAllowed(roots, place)) {
    const own = forbiddenBy(place);
    if (own !== null) throw new BadLine(at, `${named} is not read: ${own}`);
    const why = "it lies neither in the table's folder nor in a --root";
    throw new BadLine(at, `${named} is not read: ${why}`, "Allow its folder with --root DIR, if you trust the table.");
  }
  const found = statSync(place, { throwIfNoEntry: false });
  if (found?.isFile() || found?.isDirectory()) return path;
  throw new BadLine(at, `${named} ${found ? "is neither a file nor a folder" : "does not exist"}`);
}

const SHOWN_UNITS = 200;
