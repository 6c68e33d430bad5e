import { realpathSync, type Stats, statSync } from "node:fs";
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

/** True for a path at whose host Windows signs in when anybody looks there, and for one of a device or pipe. */
export function isNetworkPath(path: string, platform = process.platform): boolean {
  return platform === "win32" && /^[\\/]{2}/.test(path);
}

/** Paths without symlinks. They stay after the store is closed: others in this process may have it open. */
const own = new Set<string>();

/**
 * Notes that this process has a store in the folder. From then on nobody else here opens its files: closing one would free the
 * locks that this process has on it, as POSIX has it.
 */
export function rememberStoreFiles(folder: string): void {
  const place = realPath(folder);
  for (const name of ["belay.db", "belay.db-shm", "belay.db-wal", "locks"]) own.add(join(place, name));
}

/** True if the path, which has no symlinks, is or was a file of a store of this process. */
export function isStoreFile(path: string): boolean {
  for (const one of own) if (isWithin(one, path)) return true;
  return false;
}

/** The stats of the file or folder that a path leads to; undefined if none can be reached: it is missing, a loop of links, a name that is too long. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
