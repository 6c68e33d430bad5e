import { accessSync, closeSync, constants, openSync, realpathSync, rmSync, statSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join, win32 } from "node:path";
import { setTimeout } from "node:timers/promises";
import { RlmError } from "../../runtime/errors.ts";
import { encodable } from "../../runtime/index.ts";
import { errorCode } from "./errors.ts";
import { folderLine } from "./shell-word.ts";

/** @throws RlmError `output_failed` if nothing can be written there, which is tried */
export function checkResultFile(path: string): void {
  refuseName(path);
  const target = targetOf(path);
  if (target.isFolder) throw notWritten(path, "it is a folder", "Name a file in it.");
  try {
    if (target.mode !== null) accessSync(target.path, constants.W_OK);
    if (target.isSpecial) return;
    const probe = besides(target.path, String(process.pid));
    closeSync(openSync(probe, "wx", MODE));
    rmSync(probe);
  } catch (error) {
    throw outputFailed(path, error);
  }
}

/**
 * Writes a whole file or none: into a temporary one beside it, which is on disk before it takes the name. Done once more,
 * it gives the same. Devices and pipes are written to as they are.
 *
 * @param run names the temporary file: what an earlier process of the same run left there is replaced
 * @param mode the permissions of the file; default: those of the file that it replaces, or those that the umask leaves
 * @returns bytes
 * @throws RlmError `output_failed`
 */
export async function writeResultFile(path: string, pieces: Pieces, run: string, mode?: number): Promise<number> {
  refuseName(path);
  const target = targetOf(path);
  const temporary = target.isSpecial ? target.path : besides(target.path, run);
  try {
    if (target.isSpecial) return await written(await openSpecial(temporary), pieces);
    await rm(temporary, { force: true });
    const file = await open(temporary, "wx", mode ?? MODE);
    const bytes = await written(file, pieces, mode ?? target.mode);
    await renamed(temporary, target.path);
    await syncFolder(dirname(target.path));
    return bytes;
  } catch (error) {
    // A missing folder has no temporary file either.
    if (!target.isSpecial) await rm(temporary, { force: true }).catch(() => {});
    throw outputFailed(path, error);
  }
}

function refuseName(path: string): void {
  const problem = nameProblem(path);
  if (problem !== null) throw notWritten(path, problem, "Choose another name.");
}

const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:\.|$)/i;

/**
 * The reason why other programs would not find a file of this name; null: they do. Node makes such files on Windows, where hardly
 * anything can open or remove them.
 */
export function nameProblem(path: string, platform = process.platform): string | null {
  const name = win32.basename(path);
  if (platform !== "win32") return null;
  if (DEVICE.test(name)) return "on Windows it is the name of a device";
  if (/[. ]$/.test(name)) return "on Windows no name ends with a dot or a space";
  return name.includes(":") ? "on Windows no name has a colon" : null;
}

/** Opens a device or a pipe. One whose other end has no reader would keep the command waiting, whatever signal comes. */
export async function openSpecial(path: string): Promise<FileHandle> {
  if (!statSync(path).isFIFO()) return open(path, "w");
  const found = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    return await open(path, "w");
  } finally {
    closeSync(found);
  }
}

type Pieces = Iterable<string> | AsyncIterable<string>;

/** The umask takes away from it. */
const MODE = 0o666;

/** @param mode of the file that it replaces; null if there is none, undefined if the target is not a regular file */
async function written(file: FileHandle, pieces: Pieces, mode?: number | null): Promise<number> {
  let bytes = 0;
  try {
    for await (const piece of chunks(pieces)) bytes += (await file.write(piece)).bytesWritten;
    if (typeof mode === "number") await file.chmod(mode);
    if (mode !== undefined) await file.sync();
    return bytes;
  } finally {
    await file.close();
  }
}

const CHUNK_UNITS = 2 ** 20;

/** The pieces as few writes of about a megabyte, with halves of characters as code points. */
export async function* chunks(pieces: Pieces): AsyncIterable<Buffer> {
  let held = "";
  for await (const piece of pieces) {
    held += piece;
    if (held.length < CHUNK_UNITS) continue;
    yield Buffer.from(encodable(held));
    held = "";
  }
  if (held !== "") yield Buffer.from(encodable(held));
}

/** Windows renames over no file that a program has open, such as a scanner for viruses for a moment. */
async function renamed(from: string, to: string, tries = 10): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (process.platform !== "win32" || tries === 0 || !isHeld(error)) throw error;
    await setTimeout(100);
    await renamed(from, to, tries - 1);
  }
}

const isHeld = (error: unknown) => ["EPERM", "EACCES", "EBUSY"].includes(errorCode(error));

/** Puts the entries of a folder on disk: a rename is there once its folder is. */
export async function syncFolder(path: string): Promise<void> {
  // Windows opens no folder for that.
  if (process.platform === "win32") return;
  await using folder = await open(path, "r");
  await folder.sync();
}

/** The target of a result: the path that a link leads to, and its permissions, null if nothing is there yet. */
export function targetOf(path: string) {
  try {
    const stats = statSync(path);
    const isSpecial = !stats.isFile() && !stats.isDirectory();
    const real = isSpecial ? path : realpathSync(path);
    return { path: real, mode: stats.mode & 0o777, isFolder: stats.isDirectory(), isSpecial };
  } catch {
    return { path, mode: null, isFolder: false, isSpecial: false };
  }
}

const besides = (path: string, run: string) => join(dirname(path), `.${basename(path)}.${run}.part`);

/** The error of a result that cannot be written to this path. */
export function outputFailed(path: string, error: unknown): RlmError {
  if (error instanceof RlmError) return error;
  const code = errorCode(error);
  const folder = dirname(path);
  if (code === "ENOENT")
    return notWritten(path, `the folder ${folder} does not exist`, `Make it: ${folderLine(folder)}`);
  if (code === "ENXIO") return notWritten(path, "nobody reads this FIFO", "Start what reads it first, or name a file.");
  if (process.platform === "win32" && isHeld(error))
    return notWritten(
      path,
      code,
      "Close it in the program that has it open, check its permissions, or name another file.",
    );
  return notWritten(path, code, "Free space, check its permissions, or name another file.");
}

function notWritten(path: string, why: string, suggestion: string): RlmError {
  return new RlmError("output_failed", `${path} cannot be written: ${why}`, { suggestion });
}
