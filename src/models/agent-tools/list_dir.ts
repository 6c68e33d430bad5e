import { type Dirent, lstatSync, type Stats } from "node:fs";
import { join } from "node:path";
import {
  canonical,
  compareUnits,
  type IgnoreRules,
  isAllowed,
  isIgnored,
  isInGit,
  type Pause,
  type Roots,
  readFolder,
} from "../../context/index.ts";
import { isWithin } from "../../platform/paths.ts";
import { pathNotFound, pauseFor, placeOf, type ReadableRoots, rootsOf, rulesIn } from "./allowed-paths.ts";
import {
  count,
  fitting,
  MAX_BYTES,
  type ReadTool,
  refused,
  shownName,
  size,
  type ToolAnswer,
  text,
  withNotes,
} from "./tool.ts";

const DEFAULT_LIMIT = 500;
/** More lines than this do not fit into `MAX_BYTES`. */
const MAX_LIMIT = 10_000;
/** Looking at an entry takes about as long as reading this much. */
const ENTRY_COST_BYTES = 4096;

/**
 * `list_dir`: the entries of one folder with their sizes, with the parameters and bounds of Pi's
 * `ls`.
 */
export const listDir: ReadTool = {
  name: "list_dir",
  aliases: ["ls"],
  description: `List the entries of one folder: files with their sizes, folders ending in /. Leaves out what .gitignore excludes. The answer is cut to ${DEFAULT_LIMIT} entries or ${MAX_BYTES / 1024}KB, whichever comes first.`,
  params: {
    path: text("Folder to list (default: the top folder)"),
    limit: count(`Maximum number of entries (default: ${DEFAULT_LIMIT})`, 1),
  },
  required: [],
  async run(readable, args, signal) {
    const roots = rootsOf(readable);
    const path = args.text("path") ?? "";
    if (path === "" && roots.length > 1) return { text: roots.flatMap((root) => lineOf(root, root)).join("\n") };
    const limit = Math.min(args.count("limit") ?? DEFAULT_LIMIT, MAX_LIMIT);
    return answer(await listed(roots, folderAt(readable, path || (roots[0] ?? ".")), limit, pauseFor(signal)), limit);
  },
};

function folderAt(readable: ReadableRoots, name: string): string {
  const { path, isFolder } = placeOf(readable, name);
  if (isFolder) return path;
  throw refused(`${name} is a file: read it with read_file`, "List a folder.");
}

interface Listing {
  readonly lines: readonly string[];
  /** Entries that glob and grep do not reach either. */
  readonly leftOut: number;
  /** Entries of the folder. */
  readonly total: number;
}

/** The first entries of a folder, by name. It looks at no more of them than it needs. */
async function listed(roots: Roots, folder: string, limit: number, pause: Pause): Promise<Listing> {
  const listing = readFolder(roots, folder);
  if ("reason" in listing) {
    throw pathNotFound(`the folder cannot be listed: ${listing.reason}`, "List another folder.");
  }
  const around = roots.filter((root) => isWithin(root, folder));
  const rules = around.flatMap((root) => rulesIn(root, folder) ?? []);
  const lines: string[] = [];
  let leftOut = 0;
  for (const entry of listing.entries.sort((one, other) => compareUnits(one.name, other.name))) {
    if (lines.length === limit) break;
    await pause(ENTRY_COST_BYTES);
    const shown = entryLine(roots, rules, folder, entry);
    lines.push(...shown);
    if (shown.length === 0) leftOut += 1;
  }
  return { lines, leftOut, total: listing.entries.length };
}

/** The line of an entry, or none if a walk by the loader would not come to it. */
function entryLine(roots: Roots, rules: readonly IgnoreRules[], folder: string, entry: Dirent): string[] {
  const path = join(folder, entry.name);
  const isExcluded = rules.every((each) => isIgnored(each, path, entry.isDirectory()));
  if (entry.name === ".git" || (isExcluded && !roots.includes(path))) return [];
  if (!entry.isSymbolicLink()) return isAllowed(roots, path) ? lineOf(entry.name, path) : [];
  const target = canonical(path);
  return isAllowed(roots, target) && (isInGit(folder) || !isInGit(target)) ? lineOf(entry.name, target, "symlink") : [];
}

/**
 * The line of a file or folder; none for anything else, and if it cannot be looked at. `path` is
 * free of symlinks.
 */
function lineOf(name: string, path: string, note?: string): string[] {
  const stats = statsOf(path);
  if (!stats?.isDirectory() && !stats?.isFile()) return [];
  const notes = [...(stats.isFile() ? [size(stats.size)] : []), ...(note === undefined ? [] : [note])];
  return [`${shownName(name)}${stats.isFile() ? "" : "/"}${notes.length === 0 ? "" : ` (${notes.join(", ")})`}`];
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

function answer({ lines, leftOut, total }: Listing, limit: number): ToolAnswer {
  const { shown, cut } = fitting(lines);
  const first = `The first ${shown.length} of ${total} entries`;
  const notes: string[] = [];
  if (cut) notes.push(`${first} (${size(MAX_BYTES)} limit). Use glob for a part of them`);
  else if (lines.length + leftOut < total) notes.push(`${first}. Use limit=${limit * 2} for more, or glob for a part`);
  else if (leftOut > 0) notes.push(`${leftOut} more left out: excluded by .gitignore, or not readable here`);
  return { text: withNotes(shown.length === 0 ? "The folder has no entries to show" : shown.join("\n"), notes) };
}
