import { createHash, randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import { crc32 } from "node:zlib";
import { RlmError } from "../../runtime/errors.ts";
import { errorCode } from "./errors.ts";
import { openPageRoom, sumOf } from "./page-sums.ts";

// The form of a checked file: its bytes; the CRC-32 of each 64 KB of them; how many bytes there
// are, as a double; and the CRC-32 of all these sums and of that number. Numbers are little-endian,
// and a sum has 32 bits.

/** Bytes that have a checksum together, and are read together. */
export const PAGE_BYTES = 64 * 1024;
/** Bytes that a writer gathers before they go to disk: a whole number of pages. */
const ROOM_BYTES = 16 * PAGE_BYTES;
/** Bytes that a reader takes at once: a whole number of pages, and less than a processor's own memory. */
const STEP_BYTES = 4 * PAGE_BYTES;
const SUM_BYTES = 4;
/** The length and the checksum at the end of the file. */
const END_BYTES = 12;
/** Pages of all open files of a thread that stay in memory when one of a context was read: 8 MB. */
const PAGES_BESIDE_TEXT = 128;
/** The same of others, 24 MB: the index of a context of 100 MB, of which a search reads pages everywhere. */
const PAGES_OF_INDEX = 384;

/** Room of a writer that has ended, for the next one: thousands are opened one after the other. */
let spareRoom: Buffer | undefined;

/** A checked file as it lies on disk. */
export interface WrittenFile {
  /** Absolute path. */
  readonly path: string;
  /** SHA-256 of the bytes, hex; of a file with a name of its own, the name. */
  readonly hash: string;
  /** Its own bytes, without checksums. */
  readonly bytes: number;
}

/** Writes one checked file. Nothing has the file's name before `end`. */
export interface CheckedWriter {
  /** The number of bytes that were put. */
  length(): number;
  put(bytes: Uint8Array): void;
  /**
   * Gives the file its name. It is on disk then, with its entry in the folder, unless it holds
   * derived data. A file of equal bytes that is whole stays; a damaged one is replaced.
   */
  end(): WrittenFile;
  /** Removes what was written. After `end` it does nothing. */
  drop(): void;
}

/**
 * Begins a checked file in a folder that is there.
 *
 * @param name for derived data, which may be lost; absent: the SHA-256 of the bytes
 */
export function writeChecked(folder: string, name?: string): CheckedWriter {
  const prefix = name === undefined ? "" : `${name}.`;
  const temporary = join(folder, `${prefix}${randomUUID()}.${process.pid}.tmp`);
  const file = openSync(temporary, "wx", 0o600);
  const digest = createHash("sha256");
  const room = spareRoom ?? openPageRoom(ROOM_BYTES).bytes;
  spareRoom = undefined;
  const sums: number[] = [];
  let filled = 0;
  let length = 0;
  let isOpen = true;
  let isTemporary = true;

  function write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
  }

  function flush(): void {
    const bytes = room.subarray(0, filled);
    for (let at = 0; at < filled; at += PAGE_BYTES) sums.push(sumOf(bytes.subarray(at, at + PAGE_BYTES)));
    if (name === undefined) digest.update(bytes);
    write(bytes);
    filled = 0;
  }

  function close(): void {
    if (isOpen) closeSync(file);
    isOpen = false;
    spareRoom = room;
  }

  function drop(): void {
    close();
    if (isTemporary) rmSync(temporary, { force: true });
    isTemporary = false;
  }

  function keep(path: string): void {
    if (name === undefined) fsyncSync(file);
    close();
    renameSync(temporary, path);
    isTemporary = false;
  }

  return {
    length: () => length,
    put(bytes) {
      for (let at = 0; at < bytes.length; ) {
        const some = bytes.subarray(at, at + ROOM_BYTES - filled);
        room.set(some, filled);
        filled += some.length;
        at += some.length;
        if (filled === ROOM_BYTES) flush();
      }
      length += bytes.length;
    },
    end() {
      flush();
      write(endOf(sums, length));
      const hash = name ?? digest.digest("hex");
      const path = join(folder, hash);
      // Others may have the same bytes open.
      if (name === undefined && hasSameBytes(path, temporary)) drop();
      else keep(path);
      rmSync(damageMark(path), { force: true });
      if (name === undefined) syncFolder(folder);
      return { path, hash, bytes: length };
    },
    drop,
  };
}

/** True if a file is there with the bytes of another one, and can be read. */
function hasSameBytes(path: string, other: string): boolean {
  if (sizeOf(path) !== sizeOf(other)) return false;
  const pieces = piecesOf(path);
  try {
    for (const piece of piecesOf(other)) if (!piece.equals(pieces.next().value ?? NOTHING)) return false;
    return true;
  } catch {
    return false;
  } finally {
    pieces.return(undefined);
  }
}

const NOTHING = Buffer.alloc(0);
const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size;

/** The bytes of any file, piece by piece. A piece holds until the next one is asked for. */
function* piecesOf(path: string): Generator<Buffer, undefined> {
  const file = openSync(path, "r");
  try {
    const room = Buffer.allocUnsafeSlow(ROOM_BYTES);
    for (;;) {
      const length = readSync(file, room);
      if (length === 0) return;
      yield room.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

/** The end of a checked file. @param sums of its pages @param length its own bytes */
export function endOf(sums: readonly number[], length: number): Buffer {
  const end = Buffer.alloc(sums.length * SUM_BYTES + END_BYTES);
  for (const [at, sum] of sums.entries()) end.writeUInt32LE(sum, at * SUM_BYTES);
  end.writeDoubleLE(length, sums.length * SUM_BYTES);
  end.writeUInt32LE(crc32(end.subarray(0, -SUM_BYTES)), end.length - SUM_BYTES);
  return end;
}

/** Puts the entries of a folder on disk. */
export function syncFolder(folder: string): void {
  // Windows opens no folder for that.
  if (process.platform !== "win32") sync(folder, "r");
}

/** Puts the bytes of a file on disk. No lock of this process may be held on it: closing it would free the lock. */
export function syncFile(path: string): void {
  sync(path, "r+");
}

function sync(path: string, flags: string): void {
  const opened = openSync(path, flags);
  try {
    fsyncSync(opened);
  } finally {
    closeSync(opened);
  }
}

/** The number of bytes of a checked file; null if none is there, or if its end is damaged. */
export function checkedBytes(path: string): number | null {
  return unlessLost(() => {
    using file = openChecked(path);
    return file.length;
  });
}

/** True if every page of a checked file is as it was written. Reads all of it. */
export function isIntact(path: string): boolean {
  const isWhole = unlessLost(() => {
    using file = openChecked(path);
    using room = openPageRoom(ROOM_BYTES);
    for (let at = 0; at < file.length; at += ROOM_BYTES) {
      file.read(at, Math.min(at + ROOM_BYTES, file.length), room.bytes);
    }
    return true;
  });
  return isWhole ?? false;
}

function unlessLost<T>(work: () => T): T | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof RlmError && error.code === "context_lost") return null;
    throw error;
  }
}

/** A checked file that is open for reading. */
export interface CheckedFile extends Disposable {
  /** Its own bytes, without checksums. */
  readonly length: number;
  /**
   * The bytes `from..to`, which lie in the file. They may lie in `room`, if it is given and large
   * enough.
   *
   * @throws RlmError `context_lost` if a page of them is damaged
   */
  read(from: number, to: number, room?: Buffer): Buffer;
}

/** Pages that were read last, the newest at the end, by the number of their file and their own. */
const held = new Map<string, Buffer>();
/** The number of files that this thread has opened. */
let opens = 0;

/** Holds a page, and of the others those read last, so that they are `most` pages. */
function hold(key: string, page: Buffer, most: number): void {
  held.delete(key);
  for (const oldest of held.keys()) {
    if (held.size < most) break;
    held.delete(oldest);
  }
  held.set(key, page);
}

/** Drops the pages of a file. */
function forget(file: number): void {
  for (const key of held.keys()) if (key.startsWith(`${file}:`)) held.delete(key);
}

/**
 * Opens a checked file. Each page is checked when it is read.
 *
 * @throws RlmError `context_lost` if it is missing, has another length than it was written with, or
 * a damaged end
 * @param context for people, the context that has it
 */
export function openChecked(path: string, context?: string): CheckedFile {
  const file = opened(path, context);
  // Whoever can still read or close the file has this object.
  const state = { isOpen: true };
  const number = opens++;
  function close(): void {
    if (state.isOpen) closeSync(file);
    state.isOpen = false;
    forget(number);
    abandoned.unregister(state);
  }

  function damaged(page: number, problem = "is damaged"): RlmError {
    noteDamage(path);
    return lostContext(`${path} ${problem} in the 64 KB that begin at ${page * PAGE_BYTES}`, context);
  }

  const { length, sums } = lengthAndSums(file, { path, context }, close);

  /** Reads the whole pages `first..to`, some at a time: they are checked while the processor has them at hand. */
  function readPages(first: number, to: number, room: Buffer): Buffer {
    const bytes = room.subarray(0, Math.min(to * PAGE_BYTES, length) - first * PAGE_BYTES);
    for (let at = 0; at < bytes.length; at += STEP_BYTES) {
      readStep(bytes.subarray(at, at + STEP_BYTES), first + at / PAGE_BYTES);
    }
    return bytes;
  }

  /** Reads pages into `bytes`, from the page of this number on. */
  function readStep(bytes: Buffer, first: number): void {
    for (let at = 0; at < bytes.length; ) {
      const more = readSome(bytes.subarray(at), first * PAGE_BYTES + at);
      if (more === 0) throw damaged(first + Math.floor(at / PAGE_BYTES));
      at += more;
    }
    for (let at = 0, page = first; at < bytes.length; at += PAGE_BYTES, page++) {
      if (sumOf(bytes.subarray(at, at + PAGE_BYTES)) !== sums.readUInt32LE(page * SUM_BYTES)) throw damaged(page);
    }
  }

  /** Reads some bytes at this place of the file, and returns their number. */
  function readSome(bytes: Buffer, at: number): number {
    try {
      return readSync(file, bytes, 0, bytes.length, at);
    } catch (error) {
      // A disk that fails takes a page as surely as other bytes in it.
      throw damaged(Math.floor(at / PAGE_BYTES), `cannot be read (${errorCode(error)})`);
    }
  }

  function heldPage(page: number): Buffer {
    const key = `${number}:${page}`;
    const bytes = held.get(key) ?? readPages(page, page + 1, Buffer.allocUnsafeSlow(PAGE_BYTES));
    hold(key, bytes, context === undefined ? PAGES_OF_INDEX : PAGES_BESIDE_TEXT);
    return bytes;
  }

  abandoned.register(state, file, state);
  return {
    length,
    read(from, to, room) {
      if (!state.isOpen) throw new Error(`${path} is read after it was closed`);
      if (to <= from) return Buffer.alloc(0);
      // A table that another user made may name such a place.
      if (!(from >= 0 && to <= length)) throw lostContext(`${path} has no bytes ${from} to ${to}`, context);
      const first = Math.floor(from / PAGE_BYTES);
      const last = Math.ceil(to / PAGE_BYTES);
      const at = from - first * PAGE_BYTES;
      if (last - first === 1) return heldPage(first).subarray(at, at + to - from);
      if (last - first === 2) return Buffer.concat([heldPage(first).subarray(at), heldPage(first + 1)], to - from);
      const most = (last - first) * PAGE_BYTES;
      const into = room && room.length >= most ? room : Buffer.allocUnsafeSlow(most);
      return readPages(first, last, into).subarray(at, at + to - from);
    },
    [Symbol.dispose]: close,
  };
}

/** Closes files that nobody can read any more and nobody has closed, as that of a context that was only looked at. */
const abandoned = new FinalizationRegistry<number>(closeSync);

function opened(path: string, context?: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") throw lostContext(`${path} is missing`, context);
    throw error;
  }
}

/** A file that is opened. */
interface Named {
  readonly path: string;
  readonly context: string | undefined;
}

interface LengthAndSums {
  readonly length: number;
  /** One for each page. */
  readonly sums: Buffer;
}

function lengthAndSums(file: number, named: Named, close: () => void): LengthAndSums {
  try {
    const { size } = fstatSync(file);
    const length = tail(file, named, size, END_BYTES).readDoubleLE(0);
    const pages = Math.ceil(length / PAGE_BYTES);
    // Written so that NaN is refused, too.
    if (!(length >= 0 && length + pages * SUM_BYTES + END_BYTES === size)) throw wrongLength(named);
    const sums = tail(file, named, size, pages * SUM_BYTES + END_BYTES);
    if (crc32(sums.subarray(0, -SUM_BYTES)) !== sums.readUInt32LE(sums.length - SUM_BYTES)) throw wrongLength(named);
    return { length, sums };
  } catch (error) {
    close();
    throw error;
  }
}

/** The last bytes of a file. */
function tail(file: number, named: Named, size: number, bytes: number): Buffer {
  const room = Buffer.alloc(bytes);
  if (size < bytes || readSync(file, room, 0, bytes, size - bytes) !== bytes) throw wrongLength(named);
  return room;
}

const wrongLength = ({ path, context }: Named) => lostContext(`${path} was cut, or its end is damaged`, context);

const damageMark = (path: string) => `${path}.damaged`;

/** True if a page of a file was found to be damaged, and the file has not been written again since. */
export const isKnownDamaged = (path: string) => existsSync(damageMark(path));

/** Leaves a mark beside a file, so that whoever opens it later knows without reading all of it. Derived data is made again. */
function noteDamage(path: string): void {
  if (!HASH.test(basename(path))) return;
  try {
    writeFileSync(damageMark(path), "", { mode: 0o600 });
  } catch {
    // A store that cannot be written has no mark.
  }
}

const HASH = /^[0-9a-f]{64}$/;

/** The failure of a text that was there. @param context for people, the context that has it */
export function lostContext(problem: string, context?: string): RlmError {
  const message = context === undefined ? problem : `the context ${context} is damaged: ${problem}`;
  return new RlmError("context_lost", message, { suggestion: context === undefined ? LOAD_AGAIN : READ_AGAIN });
}

const LOAD_AGAIN = "Load the context again.";
const READ_AGAIN =
  "Other parts of P can be read. To mend it, open the session again, which reads unchanged sources again, or load the context again.";
