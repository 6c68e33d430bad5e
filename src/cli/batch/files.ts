import { statSync } from "node:fs";
import { glob } from "node:fs/promises";
import { join, sep } from "node:path";
import { compareUnits, openRoots, pauses, walk } from "../../context/index.ts";
import { amount } from "../../platform/figures.ts";
import type { Input } from "./jsonl.ts";

/** Inputs that are files, and what of a folder is not among them. */
export interface Files {
  readonly inputs: readonly Input[];
  /** Such as `3 files that .gitignore names`. */
  readonly leftOut: readonly string[];
}

/** A job for each file of a folder, as a load would read it, in the order of their paths. */
export async function folderFiles(folder: string): Promise<Files> {
  const roots = openRoots([folder], process.cwd());
  const { files, skipped, ignored } = await walk(roots, roots[0] ?? "", pauses());
  return {
    inputs: files.map(({ relative }) => fileInput(join(folder, relative))),
    leftOut: [
      ...(ignored > 0 ? [`${amount(ignored, "file or folder", "files and folders")} that .gitignore names`] : []),
      ...skipped.map(({ path, reason }) => `${path} (${reason})`),
    ],
  };
}

/** A job for each file that a pattern matches, in the order of their paths. */
export async function globFiles(pattern: string): Promise<Files> {
  const paths: string[] = [];
  for await (const path of glob(pattern)) {
    if (statSync(path, { throwIfNoEntry: false })?.isFile()) paths.push(path);
  }
  return { inputs: paths.sort(compareUnits).map(fileInput), leftOut: [] };
}

function fileInput(path: string): Input {
  return { at: path, value: { path: sep === "/" ? path : path.replaceAll(sep, "/") } };
}
