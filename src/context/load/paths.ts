import { statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { RlmError } from "../../../runtime/index.ts";
import { isWithin } from "../../platform/paths.ts";
import type { Context } from "../context.ts";
import { find } from "../find/find.ts";
import { compileFind, escapePattern, type FindPattern } from "../find/pattern.ts";
import type { Pause } from "../pauses.ts";
import type { SkippedFile } from "../skipped.ts";
import { textFromString } from "../text/text.ts";
import { unchangedIn } from "../unchanged.ts";
import { appendedLine } from "./file-content.ts";
import { MAY_BE_SECRET } from "./ignore-rules.ts";
import { type ListedFile, loadFiles, type Reading } from "./load-files.ts";
import { isFolder, type LoadOptions, pauseFor } from "./reading.ts";
import { canonical, locate, openRoots, type Roots } from "./roots.ts";
import { isOver, mostOf } from "./size.ts";
import { type WalkedFile, type WalkedFiles, type WalkOptions, walk } from "./walk.ts";

/**
 * Files, folders and globs. What they name is loaded as if one folder held it; a file of P that has
 * not changed is left out.
 */
export interface PathsSource {
  readonly kind: "paths";
  /**
   * Absolute, or relative to `folder`. `*`, `?`, `[…]`, `{a,b}` and `**` make a glob of what is not
   * the name of a file.
   */
  readonly paths: readonly string[];
  /** Absolute: names of documents are relative to it. */
  readonly folder: string;
  /** Files and bytes that may be added at once, beside the limits of a context. */
  readonly most?: { readonly files?: number; readonly bytes?: number };
}

/** A file that the paths name. */
interface FoundFile {
  /** Its document's id. */
  readonly name: string;
  /** The path as it was typed, with what lies below it. */
  readonly typed: string;
  /** Absolute, without symlinks. */
  readonly path: string;
  /** By its own name: one that cannot be loaded is an error. */
  readonly given: string | null;
  readonly rules?: WalkedFile["rules"];
}

/**
 * The context with the files that it lacks; the context itself if it has all of them.
 *
 * @throws RlmError as `load` does
 */
export async function extendByPaths(
  previous: Context | undefined,
  source: PathsSource,
  options: LoadOptions,
): Promise<Context> {
  const size = { files: previous?.documents.length ?? 0, bytes: previous?.text.bytes ?? 0 };
  const pause = pauseFor(options, size);
  await pause(0);
  const roots = openRoots(options.roots, options.cwd);
  const given = shownPaths(source.paths);
  const limits = mostOf(options);
  const most = { files: limits.files, bytes: limits.bytes, ...source.most };
  const found = await findFiles(source, roots, { pause, how: options.documents ?? {} });
  const reading: Reading = {
    name: pathsName(source),
    base: canonical(source.folder),
    folder: null,
    given,
    previous,
    size,
    most: limits,
    checkAdded(added) {
      if (isOver(added, most)) throw tooMuch(given, most);
    },
    separator: previous === undefined ? "" : appendedLine(source.folder),
    isThere: unchangedIn(previous, pause),
    pause,
    options,
    ownsBytes: true,
    seen: { isWhole: true, hasDocuments: false },
  };
  const files = { length: found.most, [Symbol.iterator]: () => underTheirNames(found.files) };
  return loadFiles(reading, roots, { ...found, files });
}

function* underTheirNames(files: Iterable<FoundFile>): Generator<ListedFile> {
  for (const file of files) yield { ...file, relative: file.name };
}

/** The files whose names match, or those of symlinks to them. */
function matchedFiles(glob: Glob, files: readonly WalkedFile[]): readonly WalkedFile[] {
  const names = files.flatMap(({ relative: name, links = [] }) => [name, ...links]);
  const matched = new Set(matching(glob, names, (name) => name));
  return files.filter(({ relative: name, links = [] }) => [name, ...links].some((one) => matched.has(one)));
}

/** The items whose names match. */
export function matching<T>({ pattern }: Glob, items: readonly T[], nameOf: (item: T) => string): readonly T[] {
  const matched = matchGlob(pattern, items.map(nameOf));
  return items.filter((_, n) => matched[n]);
}

/** The name of the source in statistics and messages. */
export function pathsName({ paths, folder }: Pick<PathsSource, "paths" | "folder">): string {
  const [only] = paths;
  return only !== undefined && paths.length === 1 ? resolve(folder, only) : `${folder}: ${shownPaths(paths)}`;
}

const SHOWN_UNITS = 200;

function shownPaths(paths: readonly string[]): string {
  const all = paths.join(", ");
  return all.length > SHOWN_UNITS ? `${all.slice(0, SHOWN_UNITS)}…` : all;
}

/** Files that paths name, and what was found beside them. */
interface FoundFiles {
  readonly files: Iterable<FoundFile>;
  /** The number of the files, or more if several paths name one of them. */
  readonly most: number;
  readonly skipped: SkippedFile[];
  ignored: number;
}

/** The files that paths name, each once. @throws RlmError for a path that leads to nothing */
export async function findFiles(
  { paths, folder }: Pick<PathsSource, "paths" | "folder">,
  roots: Roots,
  { pause, how }: { readonly pause: Pause; readonly how: WalkOptions },
): Promise<FoundFiles> {
  const skipped: SkippedFile[] = [];
  const groups: FileGroup[] = [];
  let ignored = 0;
  const real = canonical(folder);
  const nameOf = (path: string) => (isWithin(real, path) ? relative(real, path) : path);
  for (const given of paths) {
    const path = locate(roots, given, folder);
    const at = resolve(folder, given);
    const glob = exists(path) ? null : globIn(at);
    if (glob === null && !isFolder(given, path)) {
      groups.push({ lead: "", given, files: [{ relative: given, path }] });
      continue;
    }
    const base = glob === null ? at : glob.base;
    const walked = await walk(roots, folderAt(base, given, roots, folder), pause, how);
    const chosen = glob ? matchedFiles(glob, [...walked.files]) : walked.files;
    if (glob !== null && chosen.length === 0) throw noMatch(given);
    const lead = glob === null ? given.replace(/\/?$/, "/") : givenFolder(given);
    groups.push({ lead, given: null, files: chosen });
    const skips = glob ? matching(glob, walked.skipped.filter(isSecret), (file) => file.path) : walked.skipped;
    const top = canonical(base);
    for (const { path: name, reason } of skips) skipped.push({ path: nameOf(resolve(top, name)), reason });
    ignored += walked.ignored;
  }
  const most = groups.reduce((sum, { files }) => sum + files.length, 0);
  return { files: { [Symbol.iterator]: () => filesOf(groups, nameOf) }, most, skipped, ignored };
}

/** The files that one path names. */
interface FileGroup {
  /** Stands before their relative paths as they are shown. */
  readonly lead: string;
  /** The path, if it is that of a file. */
  readonly given: string | null;
  readonly files: WalkedFiles;
}

function* filesOf(groups: readonly FileGroup[], nameOf: (path: string) => string): Generator<FoundFile> {
  const seen = groups.length > 1 ? new Set<string>() : null;
  for (const { lead, given, files } of groups) {
    for (const file of files) {
      // A file that several paths name is one document.
      if (seen?.has(file.path)) continue;
      seen?.add(file.path);
      yield { ...file, typed: `${lead}${file.relative}`, given, name: nameOf(file.path) };
    }
  }
}

const isSecret = ({ reason }: SkippedFile) => reason === MAY_BE_SECRET;

function folderAt(base: string, given: string, roots: Roots, folder: string): string {
  const path = locate(roots, base, folder);
  if (!exists(path) || !isFolder(given, path)) throw noMatch(given);
  return path;
}

/** The first character of a pattern in a path. */
const WILD = /[*?[{]/;

/** The folder before the first part of a glob that is a pattern, as it was typed. */
function givenFolder(glob: string): string {
  const fixed = glob.slice(0, glob.search(WILD));
  return fixed.slice(0, fixed.lastIndexOf("/") + 1);
}

/** A glob on disk. */
export interface Glob {
  /** The folder before the first part that is a pattern. */
  readonly base: string;
  /** The rest, which holds from there. */
  readonly pattern: string;
}

/** The glob that a path is; null if no part of it is a pattern. */
export function globIn(at: string): Glob | null {
  const parts = at.split("/");
  const first = parts.findIndex((part) => WILD.test(part));
  if (first < 0) return null;
  return { base: parts.slice(0, first).join("/") || "/", pattern: `/${parts.slice(first).join("/")}` };
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function noMatch(given: string): RlmError {
  return new RlmError("path_not_found", `no file matches ${given}`, {
    suggestion: "* and ? stay within a folder, ** goes through folders; files that .gitignore excludes are not found.",
  });
}

function tooMuch(what: string, { files, bytes }: Required<NonNullable<PathsSource["most"]>>): RlmError {
  const most = files.toLocaleString("en-US");
  const size = bytes.toLocaleString("en-US");
  const problem = `${what}: more than ${most} files or ${size} bytes would be added at once`;
  return new RlmError("context_too_large", problem, { suggestion: "Name fewer files, or narrower globs." });
}

/**
 * Tells for each path (relative, with `/`) whether it matches the glob: `*`, `?`, `[…]`, `{a,b}`,
 * `**` for any folders. A pattern holds at any depth; one that begins with `/` or `./` only at the
 * top. All paths are matched in one pass of the linear-time engine, since the pattern is the
 * model's. Throws RlmError for a pattern that it cannot compile.
 */
export function matchGlob(pattern: string, paths: readonly string[]): boolean[] {
  const matched = paths.map(() => false);
  const lines = paths.map((path) => path.replaceAll("\n", "\ufffd"));
  const hits = find(textFromString(lines.join("\n")), compiled(pattern), paths.length);
  let line = 0;
  let start = 0;
  for (const [at] of hits.matches) {
    while (start < at) start += (lines[line++]?.length ?? 0) + 1;
    matched[line] = true;
  }
  return matched;
}

function compiled(pattern: string): FindPattern {
  try {
    return compileFind(expression(pattern), "m");
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    throw new RlmError("invalid_argument", `glob: ${error.message.replace(/^find: /, "")}`, {
      suggestion: "Correct the pattern.",
    });
  }
}

const TOKEN = /\*\*\/|\*+|\?|\[(!|\^)?(\]?[^\]]*)\]|\\.|[{},]|./gsu;
const FOLDERS = "(?:[^/\\n]*/)*";

/** A longer glob is refused: brackets that are not closed take the square of its length. */
const MOST_UNITS = 4096;

const tooLong = () =>
  new RlmError("invalid_argument", `it has more than ${MOST_UNITS} characters`, { suggestion: "Name fewer paths." });

function expression(pattern: string): string {
  if (pattern.length > MOST_UNITS) throw tooLong();
  const isTop = /^\.?\//.test(pattern);
  const body = translate(pattern.replace(/^\.?\/+/, "").replace(/\/+$/, ""));
  return `^${isTop ? "" : FOLDERS}${body}$`;
}

function translate(pattern: string): string {
  let depth = 0;
  const isBalanced = balanced(pattern);
  return pattern.replace(TOKEN, (text, negation: string | undefined, members: string | undefined, at: number) => {
    const opensName = at === 0 || pattern[at - 1] === "/";
    if (text === "**/") return opensName ? FOLDERS : "[^/\\n]*/";
    if (text === "**" && opensName && at + 2 === pattern.length) return "[^\\n]*";
    if (text.startsWith("*")) return "[^/\\n]*";
    if (text === "?") return "[^/\\n]";
    if (members !== undefined && members !== "") return `[${negation ? "^/\\n" : ""}${classOf(members)}]`;
    if (isBalanced && (text === "{" || text === "}")) {
      depth += text === "{" ? 1 : -1;
      return text === "{" ? "(?:" : ")";
    }
    if (text === "," && depth > 0) return "|";
    return escapePattern(text.length > 1 && text.startsWith("\\") ? text.slice(1) : text);
  });
}

/**
 * True if its braces, other than escaped ones and those in brackets, are alternatives; else they
 * stand for themselves.
 */
function balanced(pattern: string): boolean {
  let depth = 0;
  for (const [token] of pattern.matchAll(TOKEN)) {
    if (token === "{") depth += 1;
    if (token === "}") depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

function classOf(members: string): string {
  return members.replace(/[\\^[\]&~]|-(?=-)/g, "\\$&");
}
