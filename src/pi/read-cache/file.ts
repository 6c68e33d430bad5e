import { hash } from "node:crypto";
import { constants } from "node:fs";
import { access, open, realpath } from "node:fs/promises";
import { basename, isAbsolute, resolve } from "node:path";

import { fileURLToPath } from "node:url";
import { withHome } from "../../platform/home.ts";

/** A text file as it is on disk. */
export interface TextFile {
  readonly text: string;
  /** SHA-256 of its bytes. */
  readonly hash: string;
}

const MOST_BYTES = 10 * 1024 * 1024;

/**
 * Reads a file. Returns null if it is sensitive, not a regular file, larger than 10 MiB, not UTF-8,
 * or not there: then only Pi's own answer is right. A FIFO or a device is not waited for.
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

/**
 * True if a name fits a pattern with `*`. The time is bounded by the product of the lengths,
 * whatever the pattern is.
 */
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

/** SHA-256 of a text's UTF-8 or of bytes, 64 hex digits: what a file is known by. */
export function sha256(content: string | Uint8Array): string {
  return hash("sha256", content);
}

/** Half of it, for what is only compared. */
export function digest(text: string): string {
  return sha256(text).slice(0, 32);
}

// As Pi finds the file that a model names. A wrong guess does no harm: what is read there does not
// fit what Pi sends.

/**
 * The absolute path of the file that Pi reads. Links are not followed: a link is another name to
 * the model.
 */
export async function readPath(path: string, cwd: string): Promise<string> {
  const [plain = "", ...others] = variants(path, cwd);
  for (const variant of [plain, ...others]) if (await exists(variant)) return variant;
  return plain;
}

/** True if the name may be that of the file. */
export function canName(path: string, cwd: string, file: string): boolean {
  return variants(path, cwd).includes(file);
}

/** True if there is a file under this name. */
export async function isThere(path: string, cwd: string): Promise<boolean> {
  return exists(await readPath(path, cwd));
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

/** The path, and how macOS writes the names of screenshots; those of Pi, in its order. */
function variants(path: string, cwd: string): readonly string[] {
  const plain = absolute(path, cwd);
  const decomposed = plain.normalize("NFD");
  const curly = (name: string) => name.replaceAll("'", "\u2019");
  const narrow = plain.replace(/ (AM|PM)\./gi, "\u202f$1.");
  return [plain, narrow, decomposed, curly(plain), curly(decomposed)];
}

const SPACES = /[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g;

function absolute(path: string, cwd: string): string {
  const named = (path.startsWith("@") ? path.slice(1) : path).replace(SPACES, " ");
  const expanded = fromUrl(withHome(named));
  return isAbsolute(expanded) ? resolve(expanded) : resolve(cwd, expanded);
}

function fromUrl(path: string): string {
  if (!path.startsWith("file://")) return path;
  try {
    return fileURLToPath(path);
  } catch {
    return path;
  }
}
