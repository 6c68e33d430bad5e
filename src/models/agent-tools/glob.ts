import { matchGlob } from "../../context/index.ts";
import { filesIn, pauseFor, placeOf } from "./allowed-paths.ts";
import { count, fitting, MAX_BYTES, type ReadTool, shownName, size, text, withNotes } from "./tool.ts";

const DEFAULT_LIMIT = 1000;

/** `glob`: names of files and folders, with the parameters and bounds of Pi's `find`. */
export const glob: ReadTool = {
  name: "glob",
  aliases: ["find"],
  description: `List files and folders (ending in /) whose path matches a glob pattern. Leaves out what .gitignore excludes. The answer is cut to ${DEFAULT_LIMIT} results or ${MAX_BYTES / 1024}KB, whichever comes first.`,
  params: {
    pattern: text("Glob, at any depth: '*.ts', 'src/**/*.json'. With a leading slash at the top only: '/*'"),
    path: text("Folder to search (default: all)"),
    limit: count(`Maximum number of results (default: ${DEFAULT_LIMIT})`, 1),
  },
  required: ["pattern"],
  async run(readable, args, signal) {
    const limit = args.count("limit") ?? DEFAULT_LIMIT;
    const pattern = args.text("pattern") ?? "";
    const path = args.text("path") ?? "";
    const place = path === "" ? undefined : placeOf(readable, path);
    const files = await filesIn(readable, place, pauseFor(signal));
    const entries = [...withFolders(files)];
    const matched = matchGlob(
      pattern,
      entries.map(([, below]) => below),
    );
    const names = entries.filter((_, index) => matched[index]).map(([name]) => shownName(name));
    if (names.length === 0) return { text: "No files found matching pattern" };
    const notes: string[] = [];
    if (names.length > limit) {
      notes.push(`${limit} of ${names.length} results. Use limit=${limit * 2} for more, or refine the pattern`);
    }
    const { shown, cut } = fitting(names.slice(0, limit));
    if (cut) notes.push(`${size(MAX_BYTES)} limit reached: search a folder of it with path`);
    return { text: withNotes(shown.join("\n"), notes) };
  },
};

/**
 * Each file with the folders that lead to it, before the first file in them: the shown name, and
 * the path to match.
 */
function withFolders(files: readonly { name: string; below: string }[]): Map<string, string> {
  const entries = new Map<string, string>();
  for (const { name, below } of files) {
    const above = name.slice(0, name.length - below.length);
    const isBelow = name.endsWith(below);
    for (let slash = below.indexOf("/"); isBelow && slash !== -1; slash = below.indexOf("/", slash + 1)) {
      entries.set(above + below.slice(0, slash + 1), below.slice(0, slash));
    }
    entries.set(name, below);
  }
  return entries;
}
