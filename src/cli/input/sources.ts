import { existsSync, globSync, type Stats, statSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { type Context, HEAD_BYTES, type LoadOptions, load, packedBy, type Source } from "../../context/index.ts";
import { LIMITS, type LoadPaths, type LoadSource, RlmError } from "../../index.ts";
import { boundedBytes, firstBytes } from "../../platform/bounded-reads.ts";
import { errorCode } from "../../platform/errors.ts";
import { megabytes } from "../../platform/figures.ts";
import { statsOf } from "../../platform/paths.ts";
import { inTurn, savedAs } from "../../platform/shell-word.ts";
import type { Arguments } from "../flags/arguments.ts";
import { INPUT_FLAGS } from "../flags/declared.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import { commandLine, quoted, UsageError } from "../flags/usage.ts";

/**
 * Checks before anything is loaded that each path leads to a file or folder.
 *
 * @throws RlmError `path_not_found`; `invalid_argument` for a pipe, such as that of a shell's
 * `<(command)`, or a device
 */
export function checkPaths(paths: readonly string[]): void {
  for (const path of paths) {
    if (path === "-") continue;
    const stats = reached(path);
    if (stats.isFile() || stats.isDirectory()) continue;
    throw new RlmError("invalid_argument", `${path} is neither a file nor a folder`, {
      suggestion: `What a command prints is loaded from stdin: COMMAND | ${commandLine(["exec", "-c", "-", "-e", "stats()"])}`,
    });
  }
}

function reached(path: string): Stats {
  try {
    return statSync(path);
  } catch (cause) {
    const saved = savedAs(path);
    if (saved) throw address(path, `Save it: \`${saved.line}\`, and name ${saved.name} instead.`);
    const code = errorCode(cause);
    const problem = code === "ENOENT" || code === "ENOTDIR" ? "does not exist" : `cannot be reached (${code})`;
    const suggestion = "Check the spelling of the path.";
    throw new RlmError("path_not_found", `${path} ${problem}`, { suggestion, cause });
  }
}

/** The source that one `-c` names. */
export type OneSource = Exclude<LoadSource, LoadPaths>;

/**
 * The source that `-c` names: a path, or stdin as the document `stdin`.
 *
 * @throws RlmError `context_too_large`
 */
export async function contextSource(path: string, signal: AbortSignal): Promise<OneSource> {
  if (path !== "-") return path;
  const text = await readStream(process.stdin, LIMITS.contextBytes, signal);
  if (text) return { text, name: "stdin" };
  throw new RlmError("context_too_large", `stdin has more than ${megabytes(LIMITS.contextBytes)}`, {
    suggestion: "Save it to a file, and name that: a larger file can be allowed with --max-context-mb N.",
  });
}

/**
 * All of a stream, or undefined if it holds more than `limit` bytes. Rejects with the signal's
 * abort.
 */
export async function readStream(stream: Readable, limit: number, signal: AbortSignal): Promise<Buffer | undefined> {
  return boundedBytes(addAbortSignal(signal, stream), limit);
}

/** The words of a search, and its paths as they were typed. */
export interface SearchRequest {
  readonly text: string;
  readonly paths: readonly string[];
  /** False if no path was typed: then it is this folder. */
  readonly isNamed: boolean;
}

/**
 * The first argument, and the paths behind it: without one it is this folder.
 *
 * @throws UsageError
 */
export function searchRequest(args: Arguments, command: string, what: string): SearchRequest {
  const [text = "", ...named] = args.positionals;
  const paths = [...named, ...args.get(INPUT_FLAGS.context)];
  if (text.trim() === "") throw new UsageError(`no ${what} given`, commandLine(["help", command]));
  return { text, paths: paths.length > 0 ? paths : ["."], isNamed: paths.length > 0 };
}

/**
 * The paths of files and folders, and whether stdin is searched too.
 *
 * @throws RlmError for a path that leads to nothing
 */
export function searchedPaths({ paths }: SearchRequest): {
  readonly paths: readonly string[];
  readonly hasStdin: boolean;
} {
  const places = paths.filter((path) => path !== "-");
  checkPaths(places.filter((path) => !WILD.test(path)));
  return { paths: places, hasStdin: places.length < paths.length };
}

/**
 * The sources that the paths are loaded as, one after the other: stdin, then all files.
 *
 * @throws RlmError
 */
export async function searchedSources(wanted: SearchRequest, signal: AbortSignal): Promise<readonly LoadSource[]> {
  const { paths, hasStdin } = searchedPaths(wanted);
  const typed = hasStdin ? [await contextSource("-", signal)] : [];
  return paths.length > 0 ? [...typed, { paths }] : typed;
}

/** The sources as one context; undefined for none. */
export async function contextOf(
  sources: readonly { readonly source: LoadSource; readonly options: LoadOptions }[],
): Promise<Context | undefined> {
  let context: Context | undefined;
  for (const { source: given, options } of sources) {
    const source = sourceOf(given);
    context = await load(source, options, context);
  }
  return context;
}

/** A source as the layer of contexts loads it. */
function sourceOf(given: LoadSource): Source {
  if (typeof given === "string") return { kind: "path", path: given };
  return "paths" in given ? { kind: "paths", paths: given.paths, folder: process.cwd() } : { kind: "text", ...given };
}

/** The first character of a pattern in a path. */
const WILD = /[*?[{]/;

/** Folders and files that may be read for it: also those in which a pattern begins. */
export function rootsOf({ paths }: SearchRequest): string[] {
  const patterns = paths.filter((path) => WILD.test(path));
  const folders = patterns.map((path) => dirname(`${path.slice(0, path.search(WILD))}*`));
  return [".", ...paths, ...folders].map((path) => resolve(path));
}

/**
 * The question of `ask` or `query`, which is their one argument.
 *
 * @throws UsageError, also without a context to ask about
 */
export function questionOf(
  args: Arguments,
  command: "ask" | "query",
  { contexts, session }: Pick<SessionFlags, "contexts" | "session">,
): string {
  const [question = "", ...others] = args.positionals;
  const rest = contexts.length > 0 ? asContexts(contexts) : ["-c", "."];
  const wrong = (problem: string, ...tryThis: string[]) => new UsageError(problem, commandLine([command, ...tryThis]));
  if (question.trim() === "") throw wrong("no question given", "What is this about?", "-c", ".");
  const page = args.positionals.find((word) => /\.html?$/i.test(word));
  if (others.length === 1 && page !== undefined && args.typed.includes("--view")) {
    const [asked = ""] = args.positionals.filter((word) => word !== page);
    throw wrong("the file of --view goes after a =", asked, `--view=${page}`, ...rest);
  }
  // A shell makes several arguments of `-c *.log`.
  if (others.length > 0 && contexts.length > 0 && others.every((path) => existsSync(path))) {
    const shown = asContexts(others);
    throw wrong(`each -c takes one path; did you mean ${shown.join(" ")}?`, question, ...rest, ...shown);
  }
  if (others.length > 0) {
    throw wrong("the question is several arguments; put it in quotes", args.positionals.join(" "), ...rest);
  }
  if (contexts.length > 0 || session !== null) return question;
  throw wrong("no context given", ...args.typed, ...rest);
}

const asContexts = (paths: readonly string[]) => paths.flatMap((path) => ["-c", path]);

type Typed = Pick<SessionFlags, "command" | "contexts" | "typed">;

/**
 * Gives the line to type instead of a context that no load can read. It knows an address, a pattern
 * that the shell did not expand, and a file that is compressed by bzip2 or xz.
 *
 * @throws RlmError `path_not_found`, `invalid_argument`
 */
export function checkContexts(flags: Typed): void {
  for (const path of flags.contexts) if (path !== "-") checkContext(path, flags);
}

function checkContext(path: string, flags: Typed): void {
  const stats = statsOf(path);
  if (!stats) {
    const saved = savedAs(path);
    if (saved) throw address(path, `Type: ${inTurn([saved.line, lineWith(path, [saved.name], flags)])}`);
    if (/[*?[\]{}]/.test(path)) throw pattern(path, flags);
    return;
  }
  if (!stats.isFile()) return;
  const program = packedBy(firstBytes(path, HEAD_BYTES));
  if (program === null) return;
  const suggestion = `Type: ${unpacked(path, program, flags)}`;
  throw new RlmError("invalid_argument", `${path} is compressed (${program})`, { suggestion });
}

function address(url: string, suggestion: string): RlmError {
  return new RlmError("path_not_found", `${url} is an address; Belay reads files and folders`, { suggestion });
}

const LISTED_MATCHES = 20;

function pattern(path: string, flags: Typed): RlmError {
  const matches = matchesOf(path);
  const some = matches.slice(0, LISTED_MATCHES);
  const message = `${path} does not exist; patterns are not expanded after -c`;
  if (some.length === 0) {
    return new RlmError("path_not_found", message, { suggestion: "Check its spelling, or name a folder." });
  }
  const left = matches.length > some.length ? ` (and ${matches.length - some.length} more: -c takes a folder too)` : "";
  const suggestion = `Type: ${lineWith(path, some, flags)}${left}`;
  return new RlmError("path_not_found", message, { suggestion });
}

/** A whole tree is not searched for them: it may be the disk. */
function matchesOf(path: string): string[] {
  return path.includes("**") ? [] : globSync(path).sort();
}

function unpacked(path: string, tool: string, flags: Typed): string {
  const folder = /^(.*)\.(tar\.\w+|tbz2?|txz)$/i.exec(basename(path))?.[1];
  if (folder === undefined) return piped(`${tool} -dc ${quoted(path)}`, path, flags);
  const lines = [`mkdir ${quoted(folder)}`, `tar -xf ${quoted(path)} -C ${quoted(folder)}`];
  return inTurn([...lines, lineWith(path, [folder], flags)]);
}

/** The command with stdin as the context; a file of its own if stdin is in use. */
function piped(source: string, path: string, flags: Typed): string {
  if (!flags.typed.includes("-")) return `${source} | ${lineWith(path, ["-"], flags)}`;
  const file = `${basename(path)}.txt`;
  return inTurn([`${source} > ${quoted(file)}`, lineWith(path, [file], flags)]);
}

/** The typed line, with other contexts in place of this one. */
function lineWith(path: string, others: readonly string[], { command, typed }: Typed): string {
  const at = typed.findIndex((word, index) => word === path && /^(-c|--context)$/.test(typed[index - 1] ?? ""));
  const contexts = others.flatMap((other) => ["-c", other]);
  if (at < 0) return commandLine([command, ...contexts]);
  return commandLine([command, ...typed.slice(0, at - 1), ...contexts, ...typed.slice(at + 1)]);
}
