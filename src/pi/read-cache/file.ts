import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { basename } from "node:path";
import { sha256 } from "./digest.ts";

/** A text file as it is on disk. */
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

/** Names of files that hold secrets. `*` stands for any characters, and case does not count. */
const NAMES: readonly string[] = [
  ...[".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.crt", "*.cer", "*.der", "*.pk8", "*.kdbx"],
  ...["id_rsa*", "id_ed25519*", "id_ecdsa*", ".npmrc", ".netrc", ".pgpass", ".pypirc", "credentials*", "auth.json"],
  // Settings of coding agents, which may hold tokens of MCP servers.
  ...["*mcp.json", "mcp_*.json", "mcp-*.json", "opencode.json*", "settings.json", "settings.local.json"],
];

const FOLDERS: readonly string[] = [".ssh", ".gnupg", ".aws"];

/** True if a file is never looked at, by its name or by a folder that it lies in. */
export function isSensitive(path: string, more: readonly string[]): boolean {
  const name = basename(path).toLowerCase();
  if (path.split(/[/\\]/).some((part) => FOLDERS.includes(part.toLowerCase()))) return true;
  return [...NAMES, ...more].some((pattern) => fits(name, pattern.toLowerCase()));
}

/** True if a name fits a pattern with `*`. The time is bounded by the product of the lengths, whatever the pattern is. */
function fits(name: string, pattern: string): boolean {
  const [first = "", ...others] = pattern.split("*");
  const last = others.pop();
  if (last === undefined) return name === first;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + last.length <= name.length && name.endsWith(last);
}
