import { join } from "node:path";
import { isWithin, realPath } from "./real-path.ts";

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
