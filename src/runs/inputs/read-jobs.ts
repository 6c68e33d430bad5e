import { resolve } from "node:path";
import { type ErrorCode, hasCode, RlmError } from "../../../runtime/index.ts";
import {
  type ContextSize,
  canonical,
  type DocumentOptions,
  forbiddenBy,
  isAllowed,
  type LoadProgress,
  openRoots,
  type Roots,
  type SkippedFile,
} from "../../context/index.ts";
import { amount } from "../../platform/figures.ts";
import { statsOf } from "../../platform/paths.ts";
import { savedAs } from "../../platform/shell-word.ts";
import { fieldOf, isNumber } from "../../platform/written-json.ts";
import type { LoadSource } from "../../session/index.ts";
import type { Asked } from "../../store/index.ts";
import type { StoreRuns } from "../runs.ts";
import type { RunSpec } from "../spec.ts";
import { type Choice, choiceText } from "./chosen.ts";
import { type Inputs, inputsOf } from "./inputs.ts";
import { BadInput, type Input, tableDecoding } from "./lines.ts";
import { openIds, type Spool, spool } from "./spool.ts";
import type { TableShape } from "./tables.ts";

/** The inputs of a run, and the way in which they are read. */
interface InputsAsked {
  /** File, folder or pattern; `-` is stdin. */
  readonly jobs: string;
  /** Folders into which the paths of inputs may lead. */
  readonly roots: readonly string[];
  /** The context of all jobs; null: there is none. */
  readonly shared: SharedContext | null;
  readonly own: InputOptions;
  /** The way in which tables and contexts are read. */
  readonly loading: Loading;
}

export interface SharedContext {
  source(): Promise<LoadSource>;
  /** Folders and files that may be read for it. */
  readonly roots: readonly string[];
}

export interface InputOptions extends TableShape, Choice {
  /** Field that names the context of its job. */
  readonly contextField?: string | undefined;
  /** Field that names the job; `none` numbers the jobs. */
  readonly id?: string | undefined;
  /** The number of inputs that are run. Default: all. */
  readonly first?: number | undefined;
}

interface Loading {
  readonly raw: boolean;
  readonly secrets: boolean;
  readonly encoding: string | undefined;
  readonly lossy: boolean;
}

/** The jobs of a run, all of them read and checked. */
export interface ReadJobs extends Disposable {
  /** No context, one that all jobs share, or one of each job's own. */
  readonly mode: RunSpec["context"];
  readonly spool: Spool;
  /** Files of a folder that are not among them. */
  readonly skipped: readonly SkippedFile[];
  /** The number of files and folders that `.gitignore` leaves out. */
  readonly ignored: number;
  /** Sentences for the user about how a table was read. */
  readonly notes: readonly string[];
}

/**
 * Reads all jobs of a run before anything is submitted.
 *
 * @throws BadInput for the first one that is wrong
 */
export async function readJobs(asked: InputsAsked, signal: AbortSignal): Promise<ReadJobs> {
  const { jobs, own, shared, loading } = asked;
  const decoding = tableDecoding(jobs === "-" ? "stdin" : jobs, loading);
  const inputs = await inputsOf(jobs, signal, loading, { decoding, shape: own });
  if (inputs.isFiles && (shared !== null || own.contextField !== undefined)) {
    const other = shared ? "-c" : "--context-field";
    const problem = `${other} cannot be combined with --jobs of files: each file is the context of its own job`;
    throw new BadInput(null, problem);
  }
  const how = flagOfContexts(loading, inputs.isText);
  if (how !== null && !inputs.isFiles && own.contextField === undefined && shared === null) {
    const problem = `${how} sets how contexts load, and these jobs have none: name one with -c or --context-field`;
    throw new BadInput(null, problem);
  }
  const read = await readInputs(asked, inputs);
  const { skipped, ignored } = inputs;
  return { ...read, skipped, ignored, notes: decoding.notes() };
}

/**
 * Reads inputs, and checks each with its id and the path of its context.
 *
 * @throws BadInput for the first one that is wrong
 */
export async function readInputs(
  { jobs, own, shared, roots }: InputsAsked,
  { all, isFiles }: Pick<Inputs, "all" | "isFiles">,
): Promise<Pick<ReadJobs, "mode" | "spool"> & Disposable> {
  const field = isFiles ? "path" : own.contextField;
  // Rows may come from another person; what a pattern or a folder gives, the user has named.
  const places = isFiles ? null : openRoots(roots, process.cwd());
  const idOf = openIds(own.id ?? null, isFiles ? "path" : "id");
  const contextOf = (input: Input) => (field === undefined ? null : contextPath(input, field, places));
  const read = await spool(all, idOf, contextOf, own);
  if (read.count === 0) throw nothingIn(jobs === "-" ? "stdin" : jobs, read, own);
  const mode = field !== undefined ? "each" : shared ? "shared" : "none";
  return { mode, spool: read, [Symbol.dispose]: read[Symbol.dispose] };
}

/** The first flag that says something about contexts alone. */
function flagOfContexts({ raw, secrets, encoding, lossy }: Loading, isText: boolean): string | null {
  if (raw) return "--raw";
  if (secrets) return "--include-secrets";
  if (isText) return null;
  if (encoding !== undefined) return "--encoding";
  return lossy ? "--lossy" : null;
}

function nothingIn(inputs: string, { read }: Spool, choice: Choice): BadInput {
  if (read === 0) return new BadInput(null, `no job found in ${inputs}`);
  return new BadInput(null, `${choiceText(choice)} chooses none of ${amount(read, "input")} of ${inputs}`);
}

/**
 * @param roots within which the path must lie; null: the user has named it
 * @throws BadInput if nothing may be read there
 */
export function contextPath({ at, value }: Input, field: string, roots: Roots | null): string {
  const given = fieldOf(value, field);
  const path = isNumber(given) ? JSON.stringify(given) : given;
  if (typeof path !== "string" || path === "" || path.includes("\0")) {
    throw new BadInput(at, `has no path in ${JSON.stringify(field)}, which --context-field names`);
  }
  const named = `names the context ${JSON.stringify(path.slice(0, SHOWN_UNITS))}, which`;
  if (savedAs(path)) throw new BadInput(at, `${named} is an address`, "Save it with curl -o FILE, and name that file.");
  const place = canonical(resolve(path));
  if (roots !== null && !isAllowed(roots, place)) {
    const own = forbiddenBy(place);
    if (own !== null) throw new BadInput(at, `${named} is not read: ${own}`);
    const why = "it lies neither in the table's folder nor in a --root";
    throw new BadInput(at, `${named} is not read: ${why}`, "Allow its folder with --root DIR, if you trust the table.");
  }
  const found = statsOf(place);
  if (found?.isFile() || found?.isDirectory()) return path;
  throw new BadInput(at, `${named} ${found ? "is neither a file nor a folder" : "does not exist"}`);
}

const SHOWN_UNITS = 200;

/** Inputs whose contexts are loaded. */
export interface AskedJobs extends InputsAsked {
  readonly documents: DocumentOptions;
  /** The most that each of them may hold. */
  readonly most: Readonly<ContextSize>;
}

export interface AskedParts {
  readonly runs: Pick<StoreRuns, "keepContext">;
  readonly signal: AbortSignal;
  /** True for an input that is wanted, by its number from 0. Absent: all are. */
  chosen?(at: number): boolean;
  /** Called once for each file of a folder that no load can read. */
  leftOut(why: string): void;
  /** Called while a context is loaded. @param name the path as it was given; null: the context of all jobs */
  onLoad?(name: string | null, progress: LoadProgress): void;
}

/**
 * Opens the jobs of a run, or the first of them, which can be read more than once. Their contexts
 * go into the store one after the other, each path once. A file of a folder or pattern that no load
 * can read is left out. Reading throws RlmError `cancelled` and what loading throws.
 */
export function openAskedJobs(asked: AskedJobs, spooled: Spool, parts: AskedParts): () => AsyncIterable<Asked> {
  const { shared, own } = asked;
  const { runs, signal, leftOut, onLoad, chosen } = parts;
  const known = new Map<string | null, string | RlmError | null>();

  /** An error for a file that is left out; null: the job has no context. */
  async function contextOf(path: string | null): Promise<string | RlmError | null> {
    const source = path ?? (await shared?.source());
    if (source === undefined) return null;
    // Files that the user names may be read.
    const ownRoots = own.contextField === undefined && path !== null ? [path] : asked.roots;
    const roots = (path === null ? (shared?.roots ?? []) : ownRoots).map((one) => resolve(one));
    const documents = { ...asked.documents, ...asked.loading };
    const onProgress = (progress: LoadProgress) => onLoad?.(path, progress);
    try {
      const { most } = asked;
      return await runs.keepContext(source, { cwd: process.cwd(), roots, documents, most, signal, onProgress });
    } catch (error) {
      const isNamed = path === null || own.contextField !== undefined;
      if (isNamed || !hasCode(error, ...UNREADABLE)) throw error;
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
      if (signal.aborted) {
        throw new RlmError("cancelled", "cancelled before anything was run", { suggestion: "Run the command again." });
      }
      const context = known.get(path) ?? (await contextOf(path));
      known.set(path, context);
      if (context instanceof RlmError) continue;
      given += 1;
      yield { id, input, context };
    }
    const first = known.values().find((one) => one instanceof RlmError);
    if (given === 0 && first) throw first;
  };
}

/** Codes of loading a file that is not a text, or has too much of it. */
const UNREADABLE: readonly ErrorCode[] = ["document_unreadable", "invalid_argument", "context_too_large"];
