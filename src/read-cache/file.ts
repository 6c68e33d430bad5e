import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { sha256 } from "./digest.ts";
import { isSensitive } from "./sensitive.ts";

/** A text file as it stands on disk. */
export interface TextFile {
  readonly text: string;
  /** SHA-256 of its bytes. */
  readonly hash: string;
}

const MOST_BYTES = 10 * 1024 * 1024;

/**
 * Reads a file. Returns null if it is sensitive, not a regular file, larger than 10 MiB, not UTF-8, or not there: then only
 * Pi's own answer is right. A FIFO or a device is not waited for.
 */
export async function readTextFile(path: string, exempt: readonly string[]): Promise<TextFile | null> {
  if (isSensitive(path, exempt)) return null;
  try {
    if (isSensitive(await realpath(path), exempt)) return null;
    const bytes = await readBounded(path);
    return bytes && { text: UTF8.decode(bytes), hash: sha256(bytes) };
  } catch {
    return null;
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

async function readBounded(path: string): Promise<Uint8Array | null> {
  await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = await handle.stat();
  if (!stats.isFile() || stats.size > MOST_BYTES) return null;
  // One byte more than there should be: a file that grows, or that tells no size, is not read on.
  const bytes = Buffer.alloc(stats.size + 1);
  let filled = 0;
  while (filled < bytes.length) {
    const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled === stats.size ? bytes.subarray(0, filled) : null;
}
