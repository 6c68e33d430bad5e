import { dirname, resolve } from "node:path";
import { canonical, forbiddenBy, isAllowed, openRoots, type Roots } from "../../context/index.ts";
import { type LoadSource, RlmError } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { statsOf } from "../../platform/stats.ts";
import { fieldOf, isNumber } from "../../platform/written-json.ts";
import type { Runs } from "../../runs/index.ts";
import type { Asked } from "../../store/index.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { savedAs } from "../input/path-cures.ts";
import { contextSource, isHandedOver } from "../input/sources.ts";
import { documentOptions } from "../session/settings.ts";
import type { AskedRun } from "./asked.ts";
import { type Choice, choiceText } from "./chosen.ts";
import { inputsOf } from "./inputs.ts";
import { BadLine, type Input } from "./jsonl.ts";
import type { ContextMode } from "./spec.ts";
import { openIds, type Spool, spool } from "./spool.ts";
import { tableDecoding } from "./table-decoding.ts";

/** The inputs of a line. */
type AskedInputs = Pick<AskedRun, "jobs" | "own" | "contexts" | "loading">;

/** The jobs of a run, all read and found right, and files of a folder that are not among them. @throws UsageError for the first line that is wrong */
export async function readJobs({ jobs, own, contexts, loading }: AskedInputs, signal: AbortSignal) {
  const decoding = tableDecoding(jobs === "-" ? "stdin" : jobs, loading);
  const { isFiles, isText, all, leftOut } = await inputsOf(jobs, signal, loading, { decoding, shape: own });
  if (isFiles && (contexts.length > 0 || own.contextField !== undefined)) {
    const other = contexts.length > 0 ? "-c" : "--context-field";
    const problem = `${other} cannot be combined with --jobs of files: each file is the context of its own job`;
    throw new UsageError(problem, HELP);
  }
  const field = isFiles ? "path" : own.contextField;
  const how = flagOfContexts(loading, isText);
  if (how !== null && field === undefined && contexts.length === 0) {
    const problem = `${how} tells how contexts load, and these jobs have none: name one with -c or --context-field`;
    throw new UsageError(problem, HELP);
  }
  // Rows may come from somebody else; what a pattern or a folder gives, the user has named.
  const places = isFiles ? null : openRoots(tableRoots({ jobs, own }), process.cwd());
  try {
    const idOf = openIds(own.id ?? null, isFiles ? "path" : "id");
    const contextOf = (input: Input) => (field === undefined ? null : contextPath(input, field, places));
    const read = await spool(all, idOf, contextOf, own);
    if (read.count === 0) throw nothingIn(jobs === "-" ? "stdin" : jobs, read, own);
    const mode: ContextMode = field !== undefined ? "each" : contexts.length > 0 ? "shared" : "none";
    return {
      mode,
      spool: read,
      leftOut,
      notes: decoding.notes(),
      [Symbol.dispose]: read[Symbol.dispose],
    };
  } catch (error) {
    if (!(error instanceof BadLine)) throw error;
    throw new UsageError(`${error.at} ${error.message}${error.cure === null ? "" : `. ${error.cure}`}`, HELP);
  }
}

/** The first flag that says something of contexts alone. */
function flagOfContexts({ raw, secrets, encoding, lossy }: AskedRun["loading"], isText: boolean): string | null {
  if (raw) return "--raw";
  if (secrets) return "--include-secrets";
  if (isText) return null;
  if (encoding !== undefined) return "--encoding";
  return lossy ? "--lossy" : null;
}

function nothingIn(inputs: string, { read }: Spool, choice: Choice): UsageError {
  if (read === 0) return new UsageError(`no job found in ${inputs}`, HELP);
  return new UsageError(`${choiceText(choice)} chooses none of ${amount(read, "input")} of ${inputs}`, HELP);
}

const HELP = commandLine(["help", "batch"]);

/** Folders into which the paths of a table may lead. One that comes from a pipe has the folder in which the command was typed. */
function tableRoots({ jobs, own }: Pick<AskedRun, "jobs" | "own">): readonly string[] {
  return [jobs === "-" || isHandedOver(jobs) ? "." : dirname(jobs), ...(own.root ?? [])];
}

/** @param roots within which the path must lie; null: the user has named it @throws BadLine if nothing may be read there */
export function contextPath({ at, value }: Input, field: string, roots: Roots | null): string {
  const given = fieldOf(value, field);
  const path = isNumber(given) ? JSON.stringify(given) : given;
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw new BadLine(at, `has no path in ${JSON.stringify(field)}, which --context-field names`);
  }
  const named = `names the context ${JSON.stringify(path.slice(0, SHOWN_UNITS))}, which`;
  if (savedAs(path)) throw new BadLine(at, `${named} is an address`, "Save it with curl -o FILE, and name that file.");
  const place = canonical(resolve(path));
  if (roots !== null && !isAllowed(roots, place)) {
    const own = forbiddenBy(place);
    if (own !== null) throw new BadLine(at, `${named} is not read: ${own}`);
    const why = "it lies neither in the table's folder nor in a --root";
    throw new BadLine(at, `${named} is not read: ${why}`, "Allow its folder with --root DIR, if you trust the table.");
  }
  const found = statsOf(place);
  if (found?.isFile() || found?.isDirectory()) return path;
  throw new BadLine(at, `${named} ${found ? "is neither a file nor a folder" : "does not exist"}`);
}

const SHOWN_UNITS = 200;

/**
 * The jobs of a line, or the first of them, as often as they are wanted. Their contexts are put into the store one after the other, each path once.
 * A file of a folder or pattern that no load can read is left out. Reading them throws RlmError `cancelled` and what loading throws.
 */
export function openAskedJobs(asked: AskedRun, spooled: Spool, parts: AskedParts): () => AsyncIterable<Asked> {
  const { contexts, loading, own } = asked;
  const { runs, signal, leftOut, chosen } = parts;
  const rootsOf = (path: string) => (own.contextField === undefined ? [path] : tableRoots(asked));
  const kept = new Map<string | null, string | RlmError | null>();
  /** An error for a file that is left out; null: the job has no context. */
  async function contextOf(path: string | null): Promise<string | RlmError | null> {
    if (path === null && contexts.length === 0) return null;
    const [source, paths] = path === null ? [await sharedSource(contexts, signal), contexts] : [path, rootsOf(path)];
    // What the user names may be read.
    const roots = paths.filter((one) => one !== "-").map((one) => resolve(one));
    const documents = { ...documentOptions(), ...loading };
    try {
      return await runs.keepContext(source, { cwd: process.cwd(), roots, documents });
    } catch (error) {
      const isNamed = path === null || own.contextField !== undefined;
      if (isNamed || !(error instanceof RlmError) || !UNREADABLE.includes(error.code)) throw error;
      leftOut(error.message);
      return error;
    }
  }
  return async function* () {
    let given = 0;
    let at = -1;
    for await (const { id, input, context: path } of spooled.jobs()) {
      if (given === own.first) return;
      at += 1;
      if (chosen?.(at) === false) continue;
      if (signal.aborted)
        throw new RlmError("cancelled", "cancelled before anything was run", { suggestion: "Run the command again." });
      const context = kept.get(path) ?? (await contextOf(path));
      kept.set(path, context);
      if (context instanceof RlmError) continue;
      given += 1;
      yield { id, input, context };
    }
    const first = kept.values().find((one) => one instanceof RlmError);
    if (given === 0 && first) throw first;
  };
}

/** Codes of loading a file that is no text, or too much of it. */
const UNREADABLE: readonly string[] = ["document_unreadable", "invalid_argument", "context_too_large"];

export interface AskedParts {
  readonly runs: Pick<Runs, "keepContext">;
  readonly signal: AbortSignal;
  /** True for an input that is wanted, by its number from 0. Absent: all are. */
  chosen?(at: number): boolean;
  /** Told once of each file of a folder that no load can read. */
  leftOut(why: string): void;
}

async function sharedSource(contexts: readonly string[], signal: AbortSignal): Promise<LoadSource> {
  const [only] = contexts;
  return only !== undefined && contexts.length === 1 ? contextSource(only, signal) : { paths: contexts };
}
