import { accessSync, constants, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { errorCode } from "./errors.ts";

/** The folder of sessions, search indexes and the REPL's history: BELAY_HOME, or `~/.belay`. Made (0700) when needed. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  return resolve(env.BELAY_HOME || join(homedir(), ".belay"));
}

/** The folder of the search indexes, or undefined if it cannot be written: a session then uses a temporary one. */
export function indexFolder(env: NodeJS.ProcessEnv): string | undefined {
  const folder = join(homeFolder(env), "index");
  return folderProblem(folder) === null ? folder : undefined;
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
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `${folder} cannot be written (${errorCode(error)})`;
  }
}
