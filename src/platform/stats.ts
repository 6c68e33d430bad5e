import { type Stats, statSync } from "node:fs";

/** The stats of the file or folder that a path leads to; undefined if none can be reached: it is missing, a loop of links, a name that is too long. */
export function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
