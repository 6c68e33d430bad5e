import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { errorCode } from "./errors.ts";
import { statsOf } from "./paths.ts";

/**
 * Makes a folder for this user alone (0700), and those above it that are missing, one level at a time. Node's recursive
 * mkdir never returns for `/proc/x`: the folder above is there, and the kernel answers ENOENT nevertheless.
 *
 * @returns the uppermost folder that was made, or null if the folder was there already
 */
export function makeFolder(path: string): string | null {
  const folder = resolve(path);
  try {
    return makeLevel(folder);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
    const above = dirname(folder);
    // If the folder above is there, another process may have made it meanwhile: a second failure has another reason.
    const made = statsOf(above)?.isDirectory() ? null : makeFolder(above);
    return makeLevel(folder) === null ? made : (made ?? folder);
  }
}

function makeLevel(folder: string): string | null {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (statsOf(folder)?.isDirectory()) return null;
    throw error;
  }
  // The umask may have taken away more than it should.
  chmodSync(folder, 0o700);
  return folder;
}

/** A new folder for this user alone, which goes when it is disposed. @param prefix of its name */
export function temporaryFolder(prefix: string): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), prefix));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
