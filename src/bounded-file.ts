import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";

/** How a file that is not loaded as a context is read. */
export interface FileBounds {
  readonly maxBytes: number;
  /** Follow a symlink at the path itself. */
  readonly followsLink: boolean;
}

/** `problem` is a clause about the file: "is a FIFO, not a regular file". */
export type BoundedFile = { readonly text: string } | { readonly problem: string };

/**
 * The text of a small regular file, or what is wrong with it; undefined if it is not there. A FIFO or a device
 * neither blocks nor fills the memory.
 */
export function readBoundedFile(path: string, { maxBytes, followsLink }: FileBounds): BoundedFile | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (followsLink ? 0 : constants.O_NOFOLLOW));
    const kind = otherKind(fstatSync(descriptor));
    if (kind !== null) return { problem: `is a ${kind}, not a regular file` };
    const bytes = readAtMost(descriptor, maxBytes + 1);
    return bytes.length > maxBytes ? { problem: `has more than ${maxBytes / 1024} KB` } : { text: bytes.toString() };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return { problem: code === "ELOOP" && !followsLink ? "is a symlink" : `cannot be read (${code})` };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function otherKind(stats: Stats): string | null {
  if (stats.isFile()) return null;
  if (stats.isDirectory()) return "folder";
  if (stats.isFIFO()) return "FIFO";
  return stats.isSocket() ? "socket" : "device";
}

/** The size that the system tells is not asked for: a file may grow, and some have none. */
function readAtMost(descriptor: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(descriptor, bytes, filled, length - filled, null);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}
