import { LIMITS } from "../../../runtime/index.ts";
import {
  binaryBy,
  HEAD_BYTES,
  MOST_ORIGINAL_BYTES,
  notText,
  type OriginalFile,
  type Way,
  withoutMark,
} from "../documents/kinds.ts";
import { type OpenFile, type Refusal, type Roots, withFile } from "./roots.ts";
import { exceeds } from "./size.ts";

/** A text, the size of one that is too large, a document that is to become text, or why it is none of them. */
export type FileContent = { bytes: Uint8Array } | { size: number } | OriginalFile | Refusal;

/** Tells by the first bytes of a file and its path how it becomes text; null: it is a text, or nothing. */
export type ChooseWay = (head: Uint8Array, path: string) => Way | null;

/** The bytes as P takes them, without a byte order mark, or why they are no text. */
export function textBytes(bytes: Uint8Array): { bytes: Uint8Array } | Refusal {
  const reason = notText(bytes);
  return reason === null ? { bytes: withoutMark(bytes) } : { reason };
}

/** Reads a file that a caller named. A text of more than `room` bytes gives its size. */
export function readNamed(roots: Roots, path: string, room: number, choose: ChooseWay): FileContent {
  return withFile(roots, path, (file) => contentOf(roots, path, file, room, choose) ?? { size: file.size });
}

/** Reads a file of a folder. A text of more than `room` bytes gives its size; only its head was looked at. */
export function readListed(roots: Roots, path: string, room: number, choose: ChooseWay): FileContent {
  return withFile(roots, path, (file) => {
    const content = contentOf(roots, path, file, Math.min(room, LIMITS.directoryFileBytes), choose);
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
  choose: ChooseWay,
): FileContent | undefined {
  const start = read(size > room ? HEAD_BYTES : size);
  const way = choose(start.subarray(0, HEAD_BYTES), path);
  if (way === null) return size > room ? undefined : textBytes(start);
  if (size > MOST_ORIGINAL_BYTES)
    return { reason: `is larger than ${MOST_ORIGINAL_BYTES / 2 ** 20} MB`, document: "too_big" };
  const bytes = size > room ? read(size) : start;
  if (!("kind" in way) || way.kind !== "sqlite") return { way, bytes };
  const wal = withFile(roots, `${path}-wal`, (log) => (log.size > MOST_ORIGINAL_BYTES ? null : log.read(log.size)));
  return { way, bytes, ...(wal instanceof Uint8Array ? { wal } : {}) };
}
