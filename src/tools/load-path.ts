import { resolve } from "node:path";
import type { LoadResult } from "../session/index.ts";
import type { RecordedCall } from "./define.ts";

export const PATH = { type: "string", description: "Relative to the working directory, or absolute" } as const;

/** The source that a call names: relative paths start at the project's folder, as in the other tools of a host. */
export function sourceAt(path: string, cwd: string): string {
  return path === "" ? path : resolve(cwd, path);
}

/** The answer of a load whose record is all there is. */
export function loadedFrom({ stats }: Pick<RecordedCall, "stats">): object {
  return { stats: stats && shortened(stats) };
}

/** A model needs to know why files are missing, and not the name of each. */
export function shortened(stats: LoadResult["stats"]): LoadResult["stats"] {
  const { files, ...skipped } = stats.skipped;
  return { ...stats, skipped: { ...skipped, files: files.slice(0, LISTED_SKIPS) } };
}

const LISTED_SKIPS = 20;
