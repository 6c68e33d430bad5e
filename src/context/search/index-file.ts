import { randomUUID } from "node:crypto";
import { closeSync, existsSync, fstatSync, openSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";

// Segments, one after the other; then as JSON what they are an index of, and where each of them
// begins; then the length of the JSON and the checksum of all before it, 32 bits each.

/** An index file that is open. Disposing it closes it. */
export interface IndexFile extends Facts, Disposable {
  /** @throws Error if the file is not so long, unless `ahead` says that less will do */
  read(at: number, length: number, ahead?: "ahead"): Buffer;
}

/** Facts that stand at the end of an index file. */
interface Facts {
  /** The place of each segment. */
  readonly segments: readonly number[];
  /** Bytes of all segments. */
  readonly bytes: number;
}

const END_BYTES = 8;
const STEP = 1024 * 1024;

/**
 * Writes a file of segments that are given one by one. It is written under a name of its own and
 * then renamed: a reader sees a whole file or none, and of two writers the last wins.
 */
export function writeIndexFile(path: string, mark: string, segments: Iterable<Uint8Array>): void {
  const own = `${path}.${randomUUID()}.tmp`;
  try {
    writeSegments(openSync(own, "wx", 0o600), mark, segments);
    renameSync(own, path);
  } finally {
    rmSync(own, { force: true });
  }
}

function writeSegments(file: number, mark: string, segments: Iterable<Uint8Array>): void {
  const begins: number[] = [];
  let length = 0;
  let sum = 0;
  function put(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    length += bytes.length;
    sum = crc32(bytes, sum);
  }
  try {
    for (const segment of segments) {
      begins.push(length);
      put(segment);
    }
    const facts = Buffer.from(JSON.stringify({ mark, segments: begins }));
    put(facts);
    put(word(facts.length));
    put(word(sum));
  } finally {
    closeSync(file);
  }
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/**
 * Opens a file that is whole and has this mark; undefined if there is none. Its checksum takes 0.5
 * ms for each MB.
 */
export function openIndexFile(path: string, mark: string): IndexFile | undefined {
  if (!existsSync(path)) return undefined;
  const file = openSync(path, "r");
  let isOpen = true;
  const { size } = fstatSync(file);

  function read(at: number, length: number, ahead?: "ahead"): Buffer {
    if (!isOpen) throw new Error("the search index is not open");
    const bytes = Buffer.allocUnsafe(ahead ? Math.min(length, size - at) : length);
    if (!(at + bytes.length <= size)) throw new Error("the search index is damaged");
    for (let done = 0; done < bytes.length; ) {
      const more = readSync(file, bytes, done, bytes.length - done, at + done);
      if (more === 0) throw new Error("the search index was cut");
      done += more;
    }
    return bytes;
  }
  function close(): void {
    if (isOpen) closeSync(file);
    isOpen = false;
  }

  const facts = factsIn({ size, read }, mark);
  if (facts) return { ...facts, read, [Symbol.dispose]: close };
  close();
  return undefined;
}

function factsIn({ size, read }: Pick<IndexFile, "read"> & { readonly size: number }, mark: string): Facts | undefined {
  if (size < END_BYTES) return undefined;
  let sum = 0;
  for (let at = 0; at < size - 4; at += STEP) sum = crc32(read(at, Math.min(STEP, size - 4 - at)), sum);
  const end = read(size - END_BYTES, END_BYTES);
  const bytes = size - END_BYTES - end.readUInt32LE(0);
  if (end.readUInt32LE(4) !== sum || bytes < 0) return undefined;
  const facts: unknown = JSON.parse(read(bytes, size - END_BYTES - bytes).toString());
  if (typeof facts !== "object" || facts === null || !("mark" in facts && "segments" in facts)) return undefined;
  if (facts.mark !== mark || !Array.isArray(facts.segments)) return undefined;
  const segments: readonly number[] = facts.segments;
  return segments.every(Number.isSafeInteger) ? { segments, bytes } : undefined;
}
