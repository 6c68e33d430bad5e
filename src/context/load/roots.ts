import type { Dirent, Stats } from "node:fs";
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { RlmError, remedy } from "../../../runtime/index.ts";
import type { Reason } from "../../documents/growing.ts";
import type { FileKind } from "../../documents/kinds.ts";
import { kindOf, readAtMost } from "../../platform/bounded-reads.ts";
import { homeFolder, keyPath } from "../../platform/home.ts";
import { isNetworkPath, isStoreFile, isWithin } from "../../platform/paths.ts";
import { recent } from "../find/recent.ts";

/**
 * Folders that may be read, absolute and free of symlinks (spec §6.1). Made once per session by
 * `openRoots`.
 */
export type Roots = readonly string[];

/** Kernel interfaces, not files. */
const FORBIDDEN = ["/proc", "/sys", "/dev"];

/** PATH_MAX of Linux. */
const MAX_PATH = 4096;
/** Linux follows this many symlinks in one path. */
const MAX_LINKS = 40;

const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Resolves the symlinks of each root. A root that is gone stays in the list: no file is found in it
 * until it is back.
 */
export function openRoots(roots: readonly string[], cwd: string): Roots {
  return roots.map((root) => canonical(resolve(cwd, root)));
}

/**
 * True if a path without symlinks lies in a root, and in no kernel interface or folder of Belay's
 * own.
 */
export function isAllowed(roots: Roots, path: string): boolean {
  return forbiddenBy(path) === null && roots.some((root) => isWithin(root, path));
}

/**
 * The symlink-free form of `given` (absolute, or relative to `cwd`), which need not exist. Throws
 * `path_outside_sandbox`, with the same words whether or not the target exists, or
 * `invalid_argument`.
 */
export function locate(roots: Roots, given: string, cwd: string): string {
  if (given === "" || given.includes("\0") || given.length > MAX_PATH) {
    throw new RlmError("invalid_argument", `a path has 1 to ${MAX_PATH} characters and no NUL`, {
      suggestion: "Pass the path of a file or folder.",
    });
  }
  const absolute = resolve(cwd, given);
  // The look at a host is what must not be: the path counts as it was given.
  const isAway = isNetworkPath(absolute) && !roots.some((root) => isWithin(root.toLowerCase(), absolute.toLowerCase()));
  const path = isAway ? absolute : canonical(absolute);
  const refusal = forbiddenBy(absolute) ?? forbiddenBy(path);
  if (refusal !== null) {
    throw new RlmError("path_outside_sandbox", `${given} cannot be loaded: ${refusal}`, {
      suggestion: "Copy what you need into an ordinary file and load that.",
    });
  }
  if (!isAllowed(roots, path)) {
    const gone = roots.find((root) => !existsSync(root));
    const hint = gone === undefined ? "" : `, of which ${gone} does not exist`;
    throw new RlmError("path_outside_sandbox", `${given} is outside the allowed roots${hint}`, {
      suggestion: `Use a path within the roots, or ${remedy("addRoot")}.`,
    });
  }
  return path;
}

/**
 * `path` with every symlink resolved, also those whose target is missing: what does not exist keeps
 * its name under the resolved folder, so that a dangling link out of the roots looks like one that
 * leads to a file.
 */
export function canonical(path: string, links = { left: MAX_LINKS }): string {
  try {
    return realpathSync.native(path);
  } catch {
    const folder = dirname(path);
    if (folder === path) return path;
    const here = join(canonical(folder, links), basename(path));
    const target = links.left > 0 ? linkTarget(here) : undefined;
    if (target === undefined) return here;
    links.left -= 1;
    return canonical(resolve(dirname(here), target), links);
  }
}

/** Why something cannot be read, with the errno code if the system refused it. */
export interface Refusal {
  reason: string;
  errno?: string;
  /** The kind of reason, of a document that gives no text. */
  document?: Reason;
  /** The kind of that document by its first bytes; null: a converter of the user's own read it. */
  kind?: FileKind | null;
}

/** The refusal of an opened file that lies elsewhere than its path said. */
export const MOVED_OUT: Refusal = { reason: "moved out of the allowed roots while loading" };

/** The refusal of a file that had other bytes when it was read again. */
export const CHANGED: Refusal = { reason: "was changed while it was loaded" };

/** A regular file, open, at the place where the kernel says it is. `size` in bytes, from fstat. */
export interface OpenFile {
  readonly location: string;
  readonly size: number;
  /** At most the first `length` bytes; fewer if the file has shrunk. */
  read(length: number): Uint8Array;
}

/**
 * Opens a symlink-free path, checks after the open that the file is regular and in the roots, and
 * passes it to `use`. A path that was swapped for a symlink in between, or a file moved out, gives
 * a refusal.
 */
export function withFile<T>(roots: Roots, path: string, use: (file: OpenFile) => T): T | Refusal {
  return withDescriptor(path, OPEN_FLAGS, (opened) => {
    const { descriptor, stats, location } = opened;
    const refusal = fileRefusal(roots, opened);
    if (refusal !== null) return refusal;
    return use({ location, size: stats.size, read: (length) => readAtMost(descriptor, Math.min(length, stats.size)) });
  });
}

/** A regular file that is read in steps. Disposing it closes it. */
export interface SteppedFile extends Disposable {
  readonly descriptor: number;
  /** Bytes, from fstat. */
  readonly size: number;
  /**
   * Fills the buffer with the bytes from a place on. Returns their number; it is less at the end of
   * the file.
   */
  fill(buffer: Uint8Array, position: number): number;
  /** True if it is shorter than when it was opened, or as long and written to: what was read may be neither. */
  isRewritten(): boolean;
}

/** Opens a file as `withFile` does, to be read in steps. */
export function openStepped(roots: Roots, path: string): SteppedFile | Refusal {
  try {
    const opened = openAt(path, OPEN_FLAGS);
    const refusal = "reason" in opened ? opened : fileRefusal(roots, opened);
    if (refusal === null && "descriptor" in opened) return stepped(opened);
    if ("descriptor" in opened) closeSync(opened.descriptor);
    return refusal ?? MOVED_OUT;
  } catch (cause) {
    return refusalOf(cause, path);
  }
}

function stepped({ descriptor, stats }: Opened): SteppedFile {
  return {
    descriptor,
    size: stats.size,
    fill(buffer, position) {
      let filled = 0;
      while (filled < buffer.length) {
        const count = readSync(descriptor, buffer, filled, buffer.length - filled, position + filled);
        if (count === 0) break;
        filled += count;
      }
      return filled;
    },
    isRewritten() {
      const { size, mtimeMs } = fstatSync(descriptor);
      return size < stats.size || (size === stats.size && mtimeMs !== stats.mtimeMs);
    },
    [Symbol.dispose]: () => closeSync(descriptor),
  };
}

function fileRefusal(roots: Roots, { stats, location }: Opened): Refusal | null {
  if (!isAllowed(roots, location)) return MOVED_OUT;
  return stats.isFile() ? null : { reason: kindOf(stats) };
}

/**
 * Entries of a folder in the roots, at most so many, with the identity of its inode. `path` is
 * symlink-free, and checked after the open.
 */
export function readFolder(
  roots: Roots,
  path: string,
  most = Number.POSITIVE_INFINITY,
): { entries: Dirent[]; inode: string } | Refusal {
  return withDescriptor(path, OPEN_FLAGS | constants.O_DIRECTORY, ({ stats, location, via }) => {
    if (!isAllowed(roots, location)) return MOVED_OUT;
    return { entries: entriesOf(via, most), inode: inodeOf(stats) };
  });
}

function entriesOf(path: string, most: number): Dirent[] {
  const entries: Dirent[] = [];
  const folder = opendirSync(path, { bufferSize: ENTRIES_AT_ONCE });
  try {
    for (let entry = folder.readSync(); entry !== null && entries.length < most; entry = folder.readSync()) {
      entries.push(entry);
    }
  } finally {
    folder.closeSync();
  }
  return entries;
}

const ENTRIES_AT_ONCE = 1000;

/** Identity of a file or folder on this machine. */
export function inodeOf(stats: Stats): string {
  return `${stats.dev}:${stats.ino}`;
}

interface Opened {
  readonly descriptor: number;
  readonly stats: Stats;
  /** The place of the opened file, as the kernel knows it. */
  readonly location: string;
  /** A path that leads to what was opened even if `location` is replaced, if the system has one. */
  readonly via: string;
}

function withDescriptor<T>(path: string, flags: number, use: (opened: Opened) => T): T | Refusal {
  let descriptor: number | undefined;
  try {
    const opened = openAt(path, flags);
    if ("reason" in opened) return opened;
    descriptor = opened.descriptor;
    return use(opened);
  } catch (cause) {
    return refusalOf(cause, path);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Opens a path. The descriptor is the caller's to close, unless this throws or refuses. */
function openAt(path: string, flags: number): Opened | Refusal {
  const descriptor = openSync(path, flags);
  try {
    const stats = fstatSync(descriptor);
    const link = `/proc/self/fd/${descriptor}`;
    const location = linkTarget(link);
    if (location !== undefined) return { descriptor, stats, location, via: link };
    const real = realpathSync.native(path);
    if (inodeOf(statSync(real)) === inodeOf(stats)) return { descriptor, stats, location: real, via: real };
  } catch (cause) {
    closeSync(descriptor);
    throw cause;
  }
  closeSync(descriptor);
  return { reason: "replaced while loading" };
}

function refusalOf(cause: unknown, path: string): Refusal {
  const errno = errnoOf(cause);
  if (errno === undefined) throw cause;
  return { reason: reasonOf(errno, path), errno };
}

function reasonOf(errno: string, path: string): string {
  if (errno === "ENXIO") return "socket";
  if (errno === "ELOOP" || errno === "ENOTDIR") return "replaced while loading";
  if (errno !== "ENOENT") return `cannot be read (${errno})`;
  return path.includes("\ufffd") ? "its name is not UTF-8" : "vanished while loading";
}

/** The errno code of a failed file operation. */
export function errnoOf(cause: unknown): string | undefined {
  return cause instanceof Error && "syscall" in cause && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined;
}

function linkTarget(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Why a path is refused even if a root covers it; null: it is not. */
export function forbiddenBy(path: string): string | null {
  if (FORBIDDEN.some((folder) => isWithin(folder, path))) return "/proc, /sys and /dev are always refused";
  const isOwn = isStoreFile(path) || ownFolders().some((folder) => isWithin(realFolder(folder), path));
  return isOwn ? "Belay keeps its own files there" : null;
}

/**
 * Folders in which Belay keeps sessions, what was typed, and the key with which it signs. Nothing
 * is loaded from them, whatever the roots are: a row of a table or a model may name any path.
 */
const ownFolders = () => [homeFolder(process.env), dirname(keyPath(process.env))];

/** Folders of Belay's own without symlinks. They are asked for with each file. */
const realFolder = recent(20, (folder) => canonical(folder));
