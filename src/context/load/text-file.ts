import { LIMITS } from "../../../runtime/index.ts";
import { type DocumentOptions, MOST_ORIGINAL_BYTES, type OriginalFile, type Way } from "../../documents/kinds.ts";
import type { LoadedFile } from "../context.ts";
import { binaryBy, type DecodedText, type Decoding, decodeText, HEAD_BYTES, TEXT_VERSION } from "../text/decode.ts";
import { type OpenFile, type Refusal, type Roots, withFile } from "./roots.ts";
import { exceeds } from "./size.ts";

/** A text, the size of one that is too large, a document that is to become text, or why it is none of them. */
export type FileContent = LoadedText | { size: number } | OriginalFile | Refusal;

/** Text as P takes it; if its bytes did not stay as they were, with what was made of them. */
export type LoadedText = Pick<LoadedFile, "bytes" | "original" | "places" | "lost">;

/** The rules by which the files of a load become text. */
export interface FileRules {
  /** Tells by the first bytes of a file and its path how it becomes text; null: it is a text, or nothing. */
  wayOf(head: Uint8Array, path: string): Way | null;
  /** Returns how the bytes of a text are decoded. @param isNamed the caller named it, so that no bad byte is taken unasked */
  decoding(isNamed: boolean): Decoding;
}

/** The decoding that the options of a load ask for. */
export function decodingOf({ encoding, lossy = false }: DocumentOptions, isNamed: boolean): Decoding {
  return { encoding, bad: lossy ? "all" : isNamed ? "none" : "few" };
}

/** The bytes as P takes them, or why they are no text. */
export function textBytes(bytes: Uint8Array, decoding: Decoding): LoadedText | Refusal {
  const text = decodeText(bytes, decoding);
  return "reason" in text ? text : loadedText(text);
}

function loadedText({ original, ...text }: DecodedText): LoadedText {
  return original ? { ...text, original: { ...original, reader: `text/${TEXT_VERSION}` } } : text;
}

/** Reads a file that a caller named. A text of more than `room` bytes gives its size. */
export function readNamed(roots: Roots, path: string, room: number, rules: FileRules): FileContent {
  return withFile(roots, path, (file) => contentOf(roots, path, file, room, rules, true) ?? { size: file.size });
}

/** Reads a file to search it. A text of more than `room` bytes gives its size, and none is too large. */
export function readSearched(roots: Roots, path: string, room: number, rules: FileRules): FileContent {
  return withFile(roots, path, (file) => contentOf(roots, path, file, room, rules, false) ?? { size: file.size });
}

/** Reads a file of a folder. A text of more than `room` bytes gives its size; only its head was looked at. */
export function readListed(roots: Roots, path: string, room: number, rules: FileRules): FileContent {
  return withFile(roots, path, (file) => {
    const content = contentOf(roots, path, file, Math.min(room, LIMITS.directoryFileBytes), rules, false);
    if (content) return content;
    const reason = binaryBy(file.read(HEAD_BYTES));
    if (reason !== null) return { reason };
    const isLarge = file.size > LIMITS.directoryFileBytes;
    return isLarge ? { reason: exceeds(file.size, LIMITS.directoryFileBytes) } : { size: file.size };
  });
}

/** The content of a file; undefined for a text of more than `room` bytes. */
function contentOf(
  roots: Roots,
  path: string,
  { size, read }: OpenFile,
  room: number,
  rules: FileRules,
  isNamed: boolean,
): FileContent | undefined {
  const start = read(size > room ? HEAD_BYTES : size);
  const way = rules.wayOf(start.subarray(0, HEAD_BYTES), path);
  const decoding = rules.decoding(isNamed);
  if (way === null) return size > room ? undefined : textBytes(start, decoding);
  if (size > MOST_ORIGINAL_BYTES)
    return { reason: `is larger than ${MOST_ORIGINAL_BYTES / 2 ** 20} MB`, document: "too_big" };
  const bytes = size > room ? read(size) : start;
  if (!("kind" in way) || way.kind !== "sqlite") return { way, bytes, decoding };
  const wal = withFile(roots, `${path}-wal`, (log) => (log.size > MOST_ORIGINAL_BYTES ? null : log.read(log.size)));
  return { way, bytes, decoding, ...(wal instanceof Uint8Array ? { wal } : {}) };
}
