import {
  closeSync,
  constants,
  createReadStream,
  type Dirent,
  fstatSync,
  openSync,
  readSync,
  type Stats,
} from "node:fs";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { RlmError } from "../../runtime/errors.ts";
import { errorCode } from "./errors.ts";
import { parseJson } from "./json.ts";

/** Bounds for reading a file that is not loaded as a context. */
interface FileBounds {
  readonly maxBytes: number;
  /** Follow a symlink at the path itself. */
  readonly followsLink: boolean;
  /** Refuse a file that belongs to another user, or that others can read or write. */
  readonly isPrivate?: boolean;
}

/** `problem` is a clause about the file: "is a FIFO, not a regular file". */
export type BoundedFile = { readonly text: string } | { readonly problem: string };

/**
 * The text of a small regular file, or what is wrong with it; undefined if it is not there. A FIFO or a device
 * neither blocks nor fills the memory.
 */
export function readBoundedFile(path: string, bounds: FileBounds): BoundedFile | undefined {
  const { maxBytes, followsLink, isPrivate = false } = bounds;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (followsLink ? 0 : constants.O_NOFOLLOW));
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { problem: `is a ${kindOf(stats)}, not a regular file` };
    const other = isPrivate ? otherUser(stats) : null;
    if (other !== null) return { problem: other };
    const bytes = readAtMost(descriptor, maxBytes + 1);
    return bytes.length > maxBytes ? { problem: `has more than ${maxBytes / 1024} KB` } : { text: bytes.toString() };
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return { problem: code === "ELOOP" && !followsLink ? "is a symlink" : `cannot be read (${code})` };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** The kind of an entry that is not a regular file, in a word. */
export function kindOf(entry: Stats | Dirent): string {
  if (entry.isDirectory()) return "folder";
  if (entry.isSymbolicLink()) return "symlink";
  if (entry.isFIFO()) return "FIFO";
  if (entry.isSocket()) return "socket";
  return entry.isCharacterDevice() || entry.isBlockDevice() ? "device" : "not a regular file";
}

/** Systems without owners and modes of this kind have no answer. */
function otherUser({ uid, mode }: Stats): string | null {
  const user = process.getuid?.();
  if (user === undefined) return null;
  if (uid !== user) return "belongs to another user";
  const permissions = mode & 0o777;
  return (permissions & 0o077) === 0 ? null : `has mode ${permissions.toString(8).padStart(4, "0")}, not 0600`;
}

/** The first bytes of a file, at most this many; none of a file that cannot be read. */
export function firstBytes(path: string, length: number): Buffer {
  try {
    const descriptor = openSync(path, "r");
    try {
      return readAtMost(descriptor, length);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return Buffer.alloc(0);
  }
}

/** The first bytes of a file. The size that the system tells is not asked for: a file may grow, and some have none. */
export function readAtMost(descriptor: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(descriptor, bytes, filled, length - filled, filled);
    if (count === 0) break;
    filled += count;
  }
  return bytes.subarray(0, filled);
}

/** True for a path that a shell hands to a command: `<(command)` and stdin. */
export const isHandedOver = (path: string) => /^\/(?:dev\/(?:stdin|fd\/\d+)|proc\/self\/fd\/\d+)$/.test(path);

/**
 * Opens a file as a stream. It refuses a FIFO, a socket or a device, since that may never end, unless a shell has handed over
 * the pipe. It never waits for the other end of a pipe: that would hold up the process.
 *
 * @throws RlmError `invalid_argument`; errors of the system
 */
export function openFile(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = fstatSync(fd);
  // Reading a folder fails with a code of its own.
  if (stats.isFile() || stats.isDirectory()) return createReadStream(path, { fd });
  if (isHandedOver(path) && (stats.isFIFO() || stats.isSocket())) {
    return new Socket({ fd, readable: true, writable: false });
  }
  closeSync(fd);
  throw new RlmError("invalid_argument", `${path} is a ${kindOf(stats)}, not a regular file`, {
    suggestion: `What a command prints is read from stdin: COMMAND | belay … -${process.platform === "win32" ? "" : ", or with <(COMMAND)"}.`,
  });
}

/** A response, or a request that came in. */
interface Answer {
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** The JSON of a body; undefined if it is none, or if it has more bytes. @throws if the connection breaks */
export async function boundedJson({ body }: Answer, maxBytes: number): Promise<unknown> {
  const bytes = await boundedBytes(body ?? [], maxBytes);
  return bytes && parseJson(bytes.toString());
}

/** All bytes of a stream; undefined if it has more. @throws if the stream breaks */
export async function boundedBytes(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Buffer<ArrayBuffer> | undefined> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of stream) {
    bytes += piece.byteLength;
    if (bytes > maxBytes) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
