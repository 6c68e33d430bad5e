import { existsSync, lstatSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { setImmediate } from "node:timers/promises";
import { hasCode, LIMITS, RlmError } from "../../../runtime/index.ts";
import {
  type DocumentOptions,
  documentsOfFile,
  type IgnoreRules,
  isIgnored,
  locate,
  mayBeSecret,
  openRoots,
  type Pause,
  type Roots,
  readListed,
  rulesAbove,
  rulesOf,
  separatorOf,
  topRules,
  walk,
  withRuleFile,
} from "../../context/index.ts";
import { isWithin } from "../../platform/paths.ts";
import { typedPath } from "../../platform/typed-path.ts";

/** Roots of the read-only tools. */
export interface ReadableRoots {
  /** Folders, or single files, absolute or relative to `cwd`. */
  readonly roots: readonly string[];
  readonly cwd: string;
  /** The way in which documents become text. */
  readonly documents?: DocumentOptions;
}

/** A file or folder that a model named. `path` is absolute, free of symlinks and in a root. */
interface Place {
  readonly given: string;
  readonly path: string;
  readonly isFolder: boolean;
}

/** A file that the loader would reach. */
interface FoundFile {
  /** Relative to the first root, or absolute: what the tools take as a path again. */
  readonly name: string;
  /** Relative to the searched folder. */
  readonly below: string;
  readonly path: string;
}

/**
 * The roots that exist, without symlinks.
 *
 * @throws RlmError `path_not_found` if all of them are gone
 */
export function rootsOf({ roots, cwd }: ReadableRoots): Roots {
  const found = openRoots(roots, cwd).filter((root) => existsSync(root));
  if (found.length > 0 || roots.length === 0) return found;
  throw pathNotFound(`${roots.join(", ")} does not exist any more`, "Answer without files.");
}

export function pathNotFound(message: string, suggestion: string): RlmError {
  return new RlmError("path_not_found", message, { suggestion });
}

/**
 * Finds what a model named: an absolute path, or one relative to a root (the first that has it) or
 * to `cwd`. Throws RlmError for what is missing, outside the roots, or left out by the loader
 * (ignored, in .git).
 */
export function placeOf(readable: ReadableRoots, name: string): Place {
  const { cwd } = readable;
  const roots = rootsOf(readable);
  const bases = isAbsolute(name) ? [cwd] : [...roots.map(baseOf), cwd];
  let outside: unknown;
  let isMissing = false;
  for (const base of bases) {
    try {
      const path = locate(roots, typedPath(name, base), base);
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats !== undefined) return checked(roots, { given: name, path, isFolder: stats.isDirectory() });
      isMissing = true;
    } catch (error) {
      if (!hasCode(error, "path_outside_sandbox")) throw unreadable(name, error);
      outside = error;
    }
  }
  if (!isMissing) throw outside;
  throw pathNotFound(`${name} does not exist`, "List files with glob.");
}

/**
 * The files at or below a place (none: below all roots) that the loader would reach, in the order
 * of the roots and of their paths.
 */
export async function filesIn(readable: ReadableRoots, place: Place | undefined, pause: Pause): Promise<FoundFile[]> {
  const roots = rootsOf(readable);
  if (place?.isFolder === false) return [{ name: place.given, below: basename(place.path), path: place.path }];
  const found: FoundFile[] = [];
  const seen = new Set<string>();
  for (const [index, root] of roots.entries()) {
    if (place !== undefined && !isWithin(root, place.path)) continue;
    const files = isFolder(root) ? (await walk(roots, root, pause)).files : [{ relative: basename(root), path: root }];
    const fresh = [...files].filter(
      ({ path }) => !seen.has(path) && (place === undefined || isWithin(place.path, path)),
    );
    for (const { relative: inRoot, path } of fresh) {
      const name = index === 0 ? inRoot : join(baseOf(root), inRoot);
      found.push({ name, path, below: place === undefined ? inRoot : relative(place.path, path) });
    }
    for (const { path } of fresh) seen.add(path);
  }
  return found;
}

/**
 * The text of a file as the loader would take it, or why it would not. That of an archive is the
 * texts of its members.
 */
export async function textOf(
  readable: ReadableRoots,
  path: string,
  signal: AbortSignal,
): Promise<{ text: string } | { reason: string }> {
  const { documents = {} } = readable;
  const options = { ...readable, documents, signal };
  const content = readListed(rootsOf(readable), path, LIMITS.directoryFileBytes, rulesOf(options));
  const found = await documentsOfFile(content, { relative: basename(path), path }, options);
  if ("reason" in found) return { reason: found.reason };
  if ("size" in found) return { reason: "too large" };
  const texts = found.files.map(({ relative: name, bytes }) => {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8");
    return found.isFolder ? `${separatorOf(name)}${text}` : text;
  });
  return { text: texts.join("") };
}

const SLICE_BYTES = 1024 * 1024;

/** Lets other work of the thread run about every megabyte; rejects once the signal is aborted. */
export function pauseFor(signal: AbortSignal): Pause {
  let sincePause = 0;
  return async (bytes) => {
    signal.throwIfAborted();
    sincePause += bytes;
    if (sincePause < SLICE_BYTES) return;
    sincePause = 0;
    await setImmediate();
  };
}

function baseOf(root: string): string {
  return isFolder(root) ? root : dirname(root);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function checked(roots: Roots, place: Place): Place {
  if (roots.some((root) => isWithin(root, place.path) && isReached(root, place))) return place;
  const why = ".gitignore excludes it, it is in .git, or it may contain secrets";
  throw pathNotFound(`${place.given} is left out: ${why}`, "List files with glob.");
}

/** True if a walk from the root, as the loader makes it, comes to the place. */
function isReached(root: string, { path, isFolder }: Place): boolean {
  if (path === root) return true;
  if (mayBeSecret(relative(root, path))) return false;
  const rules = basename(path) === ".git" ? null : rulesIn(root, dirname(path));
  return rules !== null && !isIgnored(rules, path, isFolder);
}

/**
 * The ignore rules that hold in a folder at or below the root, or null if a walk from the root does
 * not enter it.
 */
export function rulesIn(root: string, folder: string): IgnoreRules | null {
  const names = relative(root, folder).split("/").filter(Boolean);
  if (names.includes(".git")) return null;
  let at = root;
  let rules = withOwnRules(
    rulesAbove(root, () => {}),
    at,
  );
  for (const name of names) {
    at = join(at, name);
    if (isIgnored(rules, at, true)) return null;
    rules = withOwnRules(rules, at);
  }
  return rules;
}

function withOwnRules(rules: IgnoreRules, folder: string): IgnoreRules {
  const isTop = lstatSync(join(folder, ".git"), { throwIfNoEntry: false }) !== undefined;
  const outer = isTop ? topRules(folder, folder, () => {}) : rules;
  return withRuleFile(outer, folder, join(folder, ".gitignore"), () => {});
}

/**
 * The system refused to look (a folder without permission, a name that is too long): said without
 * its absolute path.
 */
function unreadable(name: string, error: unknown): unknown {
  if (error instanceof RlmError || !(error instanceof Error && "code" in error)) return error;
  return pathNotFound(`${name} cannot be read (${error.code})`, "Read another file.");
}
