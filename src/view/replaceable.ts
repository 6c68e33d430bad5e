import { closeSync, openSync, readSync } from "node:fs";
import { targetOf } from "../platform/result-file.ts";
import { FILE_START } from "./file.ts";

/** True if a page may be written to this path: a file that is there can be read, and is such a page. Devices and folders are for the writer to judge. */
export function isReplaceable(path: string): boolean {
  const { mode, isFolder, isSpecial } = targetOf(path);
  if (mode === null || isFolder || isSpecial) return true;
  const start = Buffer.alloc(FILE_START.length);
  try {
    const file = openSync(path, "r");
    readSync(file, start);
    closeSync(file);
  } catch {
    return false;
  }
  return start.toString() === FILE_START;
}
