import { type Dirent, type Stats, statSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { LIMITS, RlmError } from "../../../runtime/index.ts";
import { kindOf } from "../../platform/bounded-reads.ts";
import { isWithin } from "../../platform/paths.ts";
import type { Pause } from "../pauses.ts";
import type { SkippedFile } from "../skipped.ts";
import { isIgnored, type Report, rulesAbove, topRules, withRuleFile } from "./gitignore.ts";
import type { IgnoreRules } from "./ignore-rules.ts";
import { MAY_BE_SECRET, mayBeSecret } from "./ignore-rules.ts";
import { canonical, errnoOf, forbiddenBy, inodeOf, isAllowed, type Refusal, type Roots, readFolder } from "./roots.ts";

/**
 * A file to read: its name relative to the walked folder (with `/`), and the symlink-free path to
 * open.
 */
export interface WalkedFile {
  readonly relative: string;
  readonly path: string;
  /**
   * Names of symlinks in the folder that lead to it, relative as well; absent if there are none.
   */
  readonly links?: readonly string[];
  /**
   * The folder's ignore rules; absent if there are none. They hold for members of an archive, too.
   */
  readonly rules?: MemberRules;
}

/** Ignore rules for the members of a file. */
export interface MemberRules {
  /** The id of the rules. */
  readonly id: string;
  excludes(member: string): boolean;
}

/** Files that are made when they are asked for: a million of them takes little memory. */
export interface WalkedFiles extends Iterable<WalkedFile> {
  readonly length: number;
}

/** The result of a walk: files and skipped entries by code unit of their relative path. */
export interface Walk {
  readonly files: WalkedFiles;
  readonly skipped: SkippedFile[];
  /**
   * Files and folders left out because of ignore rules; those in an ignored folder are not counted.
   */
  readonly ignored: number;
}

/** Levels below the root of the file system; with it the time to match a path is bounded. */
const MAX_DEPTH = 128;
/** A context may have a million files, which lie in folders and beside others that are left out. */
const MAX_ENTRIES = 2 * LIMITS.mostFiles;
/** Looking at an entry takes about as long as reading this much. */
const ENTRY_COST_BYTES = 4096;

/** A folder that was entered, or is to be. */
interface Folder extends Pick<WalkedFile, "relative" | "path"> {
  rules: IgnoreRules;
  /** Names of its files, sorted, with a `/` between two. */
  names: string;
  /** Those within it, symlinked ones as well. */
  readonly folders: Folder[];
}

function folderAt(relative: string, path: string, rules: IgnoreRules): Folder {
  const folders: Folder[] = [];
  return { relative, path, rules, names: "", folders };
}

/** Files of a walk that it leaves out by default. */
export interface WalkOptions {
  /** Those that may contain secrets, by their names. */
  readonly secrets?: boolean | undefined;
  /** Entries of its folders; default: 2,000,000. */
  readonly mostEntries?: number;
}

interface State {
  readonly secrets: boolean | undefined;
  readonly mostEntries: number;
  readonly roots: Roots;
  readonly base: string;
  readonly skipped: SkippedFile[];
  /** Symlinks with the folder that holds them; followed when all real folders are known. */
  readonly links: { readonly link: WalkedFile; readonly folder: Folder }[];
  /** Symlinks to files, each with the path of its file. They count once all folders are known. */
  readonly linkedFiles: WalkedFile[];
  readonly seen: Set<string>;
  /** Files that are no symlinks. */
  files: number;
  ignored: number;
  entries: number;
}

function begun(roots: Roots, base: string, { secrets, mostEntries = MAX_ENTRIES }: WalkOptions): State {
  const skipped: SkippedFile[] = [];
  const links: { readonly link: WalkedFile; readonly folder: Folder }[] = [];
  const linkedFiles: WalkedFile[] = [];
  const seen = new Set<string>();
  return { secrets, mostEntries, roots, base, skipped, links, linkedFiles, seen, files: 0, ignored: 0, entries: 0 };
}

/**
 * Finds the files below `base`, a symlink-free folder in the roots, honouring .gitignore as git
 * does without its index. `.git` is never entered. A file is found once, under its real name if
 * that lies in the folder, however many symlinks lead to it. A symlinked folder is entered when it
 * lies in the roots, is not a folder above the link, and was not entered already.
 */
export async function walk(roots: Roots, base: string, pause: Pause, options: WalkOptions = {}): Promise<Walk> {
  const state = begun(roots, base, options);
  const top = folderAt("", base, rulesAbove(base, reporter(state)));
  await enter(state, top, pause);
  while (state.links.length > 0) {
    const links = state.links.splice(0).sort((a, b) => byRelative(a.link, b.link));
    for (const { link, folder } of links) {
      const target = follow(state, link, folder);
      if (target === undefined) continue;
      folder.folders.push(target);
      await enter(state, target, pause);
    }
  }
  const files = withLinked(state, top);
  return {
    files,
    skipped: state.skipped.sort((a, b) => compareUnits(a.path, b.path)),
    ignored: state.ignored,
  };
}

/**
 * The files of the folders, and those that only symlinks lead to. A further name of a file is
 * skipped by name.
 */
function withLinked(state: State, top: Folder): WalkedFiles {
  const { base, linkedFiles, skipped } = state;
  const all = { length: state.files, [Symbol.iterator]: () => filesIn(base, top) };
  if (linkedFiles.length === 0) return all;
  const byPath = new Map<string, WalkedFile & { readonly links: string[] }>();
  for (const { relative: link, path, ...file } of linkedFiles.sort(byRelative)) {
    const name = isWithin(base, path) ? relative(base, path) : link;
    const known = byPath.get(path);
    if (known) known.links.push(link);
    else byPath.set(path, { ...file, relative: name, path, links: [link] });
  }
  const isWalked = new Set<string>();
  for (const { path } of all) if (byPath.has(path)) isWalked.add(path);
  for (const { path, links } of byPath.values()) {
    const further = isWalked.has(path) ? links : links.slice(1);
    for (const link of further) skipped.push({ path: link, reason: "symlink to a file that is already loaded" });
  }
  const others = [...byPath.values()].filter(({ path }) => !isWalked.has(path)).sort(byRelative);
  return {
    length: all.length + others.length,
    *[Symbol.iterator]() {
      let next = 0;
      for (const file of all) {
        for (; next < others.length && byRelative(others[next] ?? file, file) < 0; next++) yield others[next] ?? file;
        const linked = byPath.get(file.path);
        yield linked ? { ...file, links: linked.links } : file;
      }
      yield* others.slice(next);
    },
  };
}

/** The files below a folder, by code unit of their relative path. */
function* filesIn(base: string, folder: Folder): Generator<WalkedFile> {
  const within = folder.folders.map((one) => ({ one, key: `${basename(one.relative)}/` }));
  within.sort((a, b) => compareUnits(a.key, b.key));
  const { names } = folder;
  let at = 0;
  for (const { one, key } of [...within, { one: null, key: null }]) {
    while (at < names.length) {
      const slash = names.indexOf("/", at);
      const name = names.slice(at, slash < 0 ? names.length : slash);
      if (key !== null && key < name) break;
      at += name.length + 1;
      const relative = below(folder, name);
      yield { relative, path: join(folder.path, name), ...rulesWithin(base, folder.rules, relative) };
    }
    if (one) yield* filesIn(base, one);
  }
}

const below = ({ relative }: Pick<Folder, "relative">, name: string) =>
  relative === "" ? name : `${relative}/${name}`;

async function enter(state: State, start: Folder, pause: Pause): Promise<void> {
  const pending = [start];
  for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
    const listing = list(state, folder);
    if ("reason" in listing) {
      state.skipped.push({ path: folder.relative === "" ? "." : folder.relative, reason: listing.reason });
      continue;
    }
    state.entries += listing.length;
    if (state.entries > state.mostEntries) throw tooManyEntries(state);
    folder.rules = rulesIn(state, folder, listing);
    const names: string[] = [];
    for (const entry of listing) {
      if (entry.name !== ".git") place(state, folder, entry, names);
      await pause(ENTRY_COST_BYTES);
    }
    folder.names = names.sort().join("/");
    state.files += names.length;
    for (const within of folder.folders) pending.push(within);
  }
}

function list(state: State, folder: Folder): Dirent[] | Refusal {
  if (join(state.base, folder.relative).split("/").length > MAX_DEPTH)
    return { reason: `more than ${MAX_DEPTH} folders deep` };
  const listing = readFolder(state.roots, folder.path, state.mostEntries + 1);
  if ("reason" in listing) return listing;
  if (state.seen.has(listing.inode)) return { reason: "leads to a folder that is already loaded" };
  state.seen.add(listing.inode);
  return listing.entries;
}

function rulesIn(state: State, folder: Folder, entries: readonly Dirent[]): IgnoreRules {
  const report = reporter(state);
  const logical = join(state.base, folder.relative);
  const isTop = entries.some((entry) => entry.name === ".git");
  const rules = isTop ? topRules(logical, folder.path, report) : folder.rules;
  if (!entries.some((entry) => entry.name === ".gitignore")) return rules;
  return withRuleFile(rules, logical, join(folder.path, ".gitignore"), report);
}

/** @param names of the folder's files, which the entry is added to if it is one */
function place(state: State, folder: Folder, entry: Dirent, names: string[]): void {
  const name = below(folder, entry.name);
  const file = { relative: name, path: join(folder.path, entry.name) };
  if (isIgnored(folder.rules, join(state.base, name), entry.isDirectory())) state.ignored += 1;
  else if (!isAllowed(state.roots, file.path))
    state.skipped.push({ path: name, reason: forbiddenBy(file.path) ?? "outside the allowed roots" });
  else if (isSecret(state, name, file.path)) state.skipped.push({ path: name, reason: MAY_BE_SECRET });
  else if (entry.isDirectory()) folder.folders.push(folderAt(name, file.path, folder.rules));
  else if (entry.isSymbolicLink()) state.links.push({ link: file, folder });
  else if (entry.isFile()) names.push(entry.name);
  else state.skipped.push({ path: name, reason: kindOf(entry) });
}

/**
 * True for what a walk leaves out by its name there, or by its own below the folder that is walked.
 */
function isSecret({ base, secrets }: State, name: string, path: string): boolean {
  if (secrets) return false;
  return mayBeSecret(name) || mayBeSecret(isWithin(base, path) ? relative(base, path) : path);
}

/** The rules for the members of a file, as if it was unpacked where it is. */
function rulesWithin(base: string, rules: IgnoreRules, name: string): Pick<WalkedFile, "rules"> {
  if (rules.cost === 0) return {};
  const excludes = (member: string) => isIgnored(rules, join(base, name, member), false);
  return { rules: { id: rules.id, excludes } };
}

/** The folder that a symlink leads to, if it is to be entered; a file goes to the files. */
function follow(state: State, link: WalkedFile, folder: Folder): Folder | undefined {
  const skip = (reason: string): undefined => {
    state.skipped.push({ path: link.relative, reason });
  };
  const path = canonical(link.path);
  if (!isAllowed(state.roots, path)) return skip("symlink that leaves the allowed roots");
  if (isInGit(path) && !isInGit(state.base)) return skip("symlink into .git");
  if (isSecret(state, link.relative, path)) return skip(MAY_BE_SECRET);
  const target = statOf(path);
  if ("reason" in target) return skip(target.reason);
  if (target.isFile()) {
    state.linkedFiles.push({ relative: link.relative, path, ...rulesWithin(state.base, folder.rules, link.relative) });
    return undefined;
  }
  if (!target.isDirectory()) return skip(`symlink to a ${kindOf(target)}`);
  if (isWithin(path, folder.path)) return skip("symlink to a folder above it");
  if (state.seen.has(inodeOf(target))) return skip("symlink to a folder that is already loaded");
  if (isIgnored(folder.rules, join(state.base, link.relative), true)) {
    state.ignored += 1;
    return undefined;
  }
  return folderAt(link.relative, path, folder.rules);
}

function statOf(path: string): Stats | Refusal {
  try {
    return statSync(path);
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno === "ELOOP") return { reason: "symlink loop" };
    return { reason: errno === "ENOENT" ? "symlink that leads nowhere" : `symlink that cannot be followed (${errno})` };
  }
}

/** True if a path (absolute) is that of a `.git` folder or leads through one. */
export function isInGit(path: string): boolean {
  return path.split("/").includes(".git");
}

function reporter(state: State): Report {
  return (file, reason) => {
    state.skipped.push({ path: isWithin(state.base, file) ? relative(state.base, file) : file, reason });
  };
}

function tooManyEntries({ base, mostEntries }: State): RlmError {
  return new RlmError("context_too_large", `${base} has more than ${mostEntries.toLocaleString("en-US")} entries`, {
    suggestion:
      "Load a smaller folder, list generated folders in .gitignore, or join files into fewer ones (`cat FOLDER/* > all.txt`).",
  });
}

function byRelative(a: WalkedFile, b: WalkedFile): number {
  return compareUnits(a.relative, b.relative);
}

/** Order by UTF-16 code unit, the same on every machine. */
export function compareUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
