import { accessSync, constants, existsSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { errorCode } from "./errors.ts";

/** The user's home folder; `/` for one who has none, such as the user of a container without an entry and without HOME. */
export function userHome(): string {
  try {
    return homedir();
  } catch {
    return "/";
  }
}

/** A path as it is meant: a `~` at its beginning is the home folder. */
export function withHome(path: string, home = userHome()): string {
  const isHome = path === "~" || path.startsWith("~/") || path.startsWith(`~${sep}`);
  return isHome ? home + path.slice(1) : path;
}

/** The folder of sessions, search indexes and the REPL's history: BELAY_HOME, or `~/.belay`. Made (0700) when needed. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  return resolve(env.BELAY_HOME || join(userHome(), ".belay"));
}

/**
 * The file of the user's key: `$XDG_CONFIG_HOME/belay/key` or `~/.config/belay/key`. It is not with the stores, which may
 * come from another user.
 *
 * @param name of another key
 */
export function keyPath(env: NodeJS.ProcessEnv, name = "key"): string {
  const { XDG_CONFIG_HOME: named = "", HOME: home = "" } = env;
  // The specification of these folders wants relative paths to be ignored.
  const folder = isAbsolute(named) ? named : join(isAbsolute(home) ? home : userHome(), ".config");
  return join(folder, "belay", name);
}

/** The folder of the search indexes, or undefined if it cannot be written: a session then uses a temporary one. */
export function indexFolder(env: NodeJS.ProcessEnv): string | undefined {
  const folder = join(homeFolder(env), "index");
  return folderProblem(folder) === null ? folder : undefined;
}

/** The file in the folder of a store that has its rows. */
export const DATABASE_FILE = "belay.db";

/** True if a folder has a store that cannot be written, such as a mounted backup: it is read as it is. */
export function isStoreToRead(folder: string): boolean {
  const path = join(folder, DATABASE_FILE);
  return existsSync(path) && (folderProblem(folder) !== null || refusalOf(path, constants.W_OK) !== null);
}

/** Why nothing can be written into this folder, which need not exist yet, or null. Nothing is made. */
export function folderProblem(folder: string): string | null {
  try {
    if (!statSync(folder).isDirectory()) return `${folder} is not a folder`;
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" && dirname(folder) !== folder) return folderProblem(dirname(folder));
    return code === "ENOTDIR" ? folderProblem(dirname(folder)) : `${folder} cannot be reached (${code})`;
  }
  const code = refusalOf(folder, constants.W_OK | constants.X_OK);
  return code === null ? null : `${folder} cannot be written (${code})`;
}

/** The code of the error that keeps this user from such an access; null: nothing does. */
function refusalOf(path: string, mode: number): string | null {
  try {
    accessSync(path, mode);
    return null;
  } catch (error) {
    return errorCode(error);
  }
}
