import { resolve } from "node:path";
import { canonical } from "../../context/index.ts";
import { isWithin } from "../../platform/real-path.ts";

/**
 * The folders that may be read in a session: those that its caller names, for the session or with a load. A store may come
 * from another user, so what its journal says was read grants nothing.
 */
export interface Granted {
  /** The folders that the caller named for the whole session. */
  readonly roots: readonly string[];
  /** Allows the folders that a load of this process names. */
  allow(folders: readonly string[]): void;
  /** Returns the folders that lie in those that the journal names and in those that the caller names. */
  among(recorded: readonly string[]): string[];
}

/** Each is looked up in the file system, so their number is bounded. No real session names as many. */
const MOST = 1_000;

export function openGranted(roots: readonly string[], cwd: string): Granted {
  const allowed = new Set(roots);
  return {
    roots,
    allow(folders) {
      for (const folder of folders) allowed.add(folder);
    },
    among(recorded) {
      const own = [...allowed].map((folder) => canonical(resolve(cwd, folder)));
      const common = recorded.slice(0, MOST).flatMap((folder) => {
        const path = canonical(resolve(cwd, folder));
        return own.some((root) => isWithin(root, path)) ? [path] : own.filter((root) => isWithin(path, root));
      });
      return [...new Set(common)];
    },
  };
}
