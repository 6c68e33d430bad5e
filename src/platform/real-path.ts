import { realpathSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";

/** The target of a path, with symlinks followed as far as it exists; a missing part keeps its name. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}

/** True if `path` is `folder` or below it; both absolute and normalised. */
export function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
