import { basename, dirname } from "node:path";
import { crc32 } from "node:zlib";
import { hasCode, LIMITS, RlmError } from "../../../runtime/index.ts";
import { CHILDREN, MOST_ORIGINAL_BYTES, type OriginalFile, type Way, wayOf } from "../../documents/kinds.ts";
import type { FileDocuments, NamedFile, tableOfOriginal } from "../../documents/read.ts";
import { jsonText } from "../../platform/visible.ts";
import type { ContextFile, LoadedFile } from "../context.ts";
import type { Pause } from "../pauses.ts";
import {
  binaryBy,
  type DecodedText,
  type Decoding,
  decodeText,
  HEAD_BYTES,
  type SurveyedText,
  surveyText,
  TEXT_VERSION,
  type TextBytes,
} from "../text/decode.ts";
import { isRepository } from "./gitignore.ts";
import { type LoadOptions, lateDocument } from "./reading.ts";
import { CHANGED, MOVED_OUT, type OpenFile, openStepped, type Refusal, type Roots, withFile } from "./roots.ts";
import { type ContextSize, exceeds } from "./size.ts";

/**
 * A text, the size of one that is too large, a document that is to become text, or why it is none
 * of them.
 */
type FileContent = LoadedText | { size: number } | OriginalFile | Refusal;

/** A text file that is too large to be read at once. */
interface LargeTextFile {
  readonly large: TextBytes;
  readonly decoding: Decoding;
}

/** The content of a file in a load, in which a text may be too large to be read at once. */
export type LoadContent = FileContent | LargeTextFile;

/** Text as P takes it. If its bytes did not stay as they were, it has what was made of them. */
type LoadedText = Pick<LoadedFile, "bytes" | "original" | "places" | "lost">;

/** The rules by which the files of a load become text. */
interface FileRules {
  /**
   * Tells by the first bytes of a file and its path how it becomes text; null: it is a text, or
   * nothing.
   */
  wayOf(head: Uint8Array, path: string): Way | null;
  /** The way in which the bytes of a text are decoded. A few bad ones are taken, and told. */
  readonly decoding: Decoding;
}

/** The documents of a file, the size of a text that is too large, or why there are none. */
type Found = FileDocuments | { readonly size: number } | Refusal;

/** The documents of a file in a load. */
export interface LoadDocuments extends Omit<FileDocuments, "files"> {
  readonly files: readonly Unplaced[];
}

/** A document that has no place in P yet. */
type Unplaced = Omit<ContextFile, "separator">;

/** The room for a text, bytes. */
interface TextRoom {
  /** A text of more bytes gives its size. */
  readonly most: number;
  /** A text of more bytes is read in pieces. */
  readonly atOnce: number;
}

/** The rules that follow from the options of a load. */
export function rulesOf({ documents = {} }: Pick<LoadOptions, "documents">): FileRules {
  const repositories = new Map<string, boolean>();
  const isIn = (folder: string): boolean => {
    const known = repositories.get(folder);
    if (known !== undefined) return known;
    const is = isRepository(folder) || (dirname(folder) !== folder && isIn(dirname(folder)));
    repositories.set(folder, is);
    return is;
  };
  return {
    wayOf: (head, path) => wayOf(head, path, () => path !== basename(path) && isIn(dirname(path)), documents),
    decoding: { encoding: documents.encoding, bad: documents.lossy === true ? "all" : "few" },
  };
}

/**
 * Reads a file to search it. A text of more than `room` bytes gives its size, and none is too
 * large.
 */
export function readSearched(roots: Roots, path: string, room: number, rules: FileRules): FileContent {
  return withFile(roots, path, (file) => contentOf(roots, path, file, room, rules) ?? { size: file.size });
}

/**
 * Reads a file of a folder. A text of more than `room` bytes gives its size; only its head was
 * looked at.
 */
export function readListed(roots: Roots, path: string, room: number, rules: FileRules): FileContent {
  return withFile(roots, path, (file) => {
    const content = contentOf(roots, path, file, Math.min(room, LIMITS.directoryFileBytes), rules);
    if (content) return content;
    const reason = binaryBy(file.read(HEAD_BYTES));
    if (reason !== null) return { reason };
    const isLarge = file.size > LIMITS.directoryFileBytes;
    return isLarge ? { reason: exceeds(file.size, LIMITS.directoryFileBytes) } : { size: file.size };
  });
}

/** Bytes of a file that are read at once. */
const SLICE_BYTES = 2 ** 20;

/**
 * Reads a file into a context. Of a text that is too large, or is read in pieces, only the head is
 * looked at.
 *
 * @param isNamed the caller named it
 */
export function readText(
  roots: Roots,
  path: string,
  { most, atOnce }: TextRoom,
  rules: FileRules,
  isNamed: boolean,
): LoadContent {
  return withFile<LoadContent>(roots, path, (file) => {
    const content = contentOf(roots, path, file, Math.min(most, atOnce), rules);
    if (content) return content;
    const { size } = file;
    const reason = binaryBy(file.read(HEAD_BYTES));
    if (size > most) return isNamed || reason === null ? { size } : { reason };
    return { large: bytesOfFile(roots, path, size), decoding: rules.decoding };
  });
}

/**
 * The first `length` bytes of a file in the roots. What is put behind them meanwhile is not read.
 * Reading them throws RlmError `path_not_found` if they are not what they were at first.
 */
function bytesOfFile(roots: Roots, path: string, length: number): TextBytes {
  let known: number | undefined;
  return {
    length,
    *slices() {
      using file = opened(roots, path);
      const room = Buffer.allocUnsafeSlow(Math.min(SLICE_BYTES, length));
      let sum = 0;
      for (let at = 0; at < length; at += SLICE_BYTES) {
        const slice = room.subarray(0, Math.min(SLICE_BYTES, length - at));
        if (file.fill(slice, at) < slice.length) throw changed(path);
        sum = crc32(slice, sum);
        yield slice;
      }
      if (known !== undefined && known !== sum) throw changed(path);
      known = sum;
    },
  };
}

function opened(roots: Roots, path: string) {
  const file = openStepped(roots, path);
  if (!("reason" in file)) return file;
  if (file !== MOVED_OUT) throw changed(path);
  throw new RlmError("path_outside_sandbox", `${path} was ${file.reason}`, { suggestion: "Load it again." });
}

function changed(path: string): RlmError {
  return new RlmError("path_not_found", `${path} ${CHANGED.reason}`, { suggestion: "Load it again." });
}

/** The content of a file; undefined for a text of more than `room` bytes. */
function contentOf(
  roots: Roots,
  path: string,
  { size, read }: OpenFile,
  room: number,
  rules: FileRules,
): FileContent | undefined {
  const start = read(size > room ? HEAD_BYTES : size);
  const way = rules.wayOf(start.subarray(0, HEAD_BYTES), path);
  const { decoding } = rules;
  if (way === null) return size > room ? undefined : textBytes(start, decoding);
  if (size > MOST_ORIGINAL_BYTES)
    return { reason: `is larger than ${MOST_ORIGINAL_BYTES / 2 ** 20} MB`, document: "too_big" };
  const bytes = size > room ? read(size) : start;
  if (!("kind" in way) || way.kind !== "sqlite") return { way, bytes, decoding };
  return { way, bytes, decoding, ...logOf(roots, path) };
}

/** The log of a database, or the name of one without which rows of it may be missing or not yet final. */
function logOf(roots: Roots, path: string): Pick<OriginalFile, "wal" | "unreadLog"> {
  const log = `${path}-wal`;
  const journal = `${path}-journal`;
  // They are parts of the database, which may be a root by itself.
  const own = [...roots, log, journal];
  const wal = withFile(own, log, ({ size, read }) => (size > MOST_ORIGINAL_BYTES ? null : read(size)));
  if (wal instanceof Uint8Array) return { wal };
  if (wal === null || isThere(wal)) return { unreadLog: basename(log) };
  const head = withFile(own, journal, ({ read }) => read(JOURNAL.length));
  const isUnread = head instanceof Uint8Array ? JOURNAL.equals(head) : isThere(head);
  return isUnread ? { unreadLog: basename(journal) } : {};
}

/** The first bytes of a journal by which an unfinished change of its database can be undone. */
const JOURNAL = Buffer.from("d9d505f920a163d7", "hex");

/** True if a file was refused that is there, and is a file. */
const isThere = ({ errno }: Refusal) => errno !== undefined && errno !== "ENOENT" && errno !== "ENXIO";

/** The bytes as P takes them, or why they are no text. */
export function textBytes(bytes: Uint8Array, decoding: Decoding): LoadedText | Refusal {
  const text = decodeText(bytes, decoding);
  return "reason" in text ? text : withReader(text);
}

/** A decoded text with the reader that made it. */
function withReader<Text extends Pick<DecodedText, "original">>({ original, ...text }: Text) {
  return original ? { ...text, original: { ...original, reader: `text/${TEXT_VERSION}` } } : text;
}

/**
 * The documents of a file: a text as it is, or what an original gives. A size or a refusal stays
 * what it is.
 */
export function documentsOfFile(
  content: FileContent,
  file: NamedFile,
  options: LoadOptions,
  size: ContextSize = { files: 0, bytes: 0 },
): Found | Promise<Found> {
  if ("way" in content) {
    const late = lateDocument(options);
    if (late) return late;
    return readers().then((read) => read.documentsOfOriginal(content, file, options, size));
  }
  const { relative, path } = file;
  return "bytes" in content ? { files: [{ relative, path, ...content }], skipped: [], isFolder: false } : content;
}

/** Looking through a text takes about so many times less than putting it into a context. */
const SURVEY_COST = 4;

/** The documents of a file in a load, as `documentsOfFile` gives them. */
export function documentsToLoad(
  content: LoadContent,
  file: NamedFile,
  options: LoadOptions,
  size: ContextSize,
  pause: Pause,
): Found | Promise<LoadDocuments | Refusal | Found> {
  if (!("large" in content)) return documentsOfFile(content, file, options, size);
  const { relative, path } = file;
  return surveyed(content, pause).then((text) => {
    if ("reason" in text) return text;
    const { length, pieces, ...facts } = text;
    const document = { relative, path, bytes: { length, pieces }, ...withReader(facts) };
    return { files: [document], skipped: [], isFolder: false };
  });
}

/** The text of a large file, which is read again when it is put into a context, or why it is none. */
async function surveyed({ large, decoding }: LargeTextFile, pause: Pause): Promise<SurveyedText | Refusal> {
  try {
    const work = surveyText(large, decoding);
    for (;;) {
      const step = work.next();
      if (step.done) return step.value;
      await pause(step.value / SURVEY_COST);
    }
  } catch (error) {
    // Nothing of it is in a context yet, so that it can be left out.
    if (hasCode(error, "path_not_found")) return CHANGED;
    throw error;
  }
}

/** Reads the rows of one sheet or table. @throws RlmError */
export const tableOf: typeof tableOfOriginal = async (...request) => (await readers()).tableOfOriginal(...request);

/** Ids of the readers, for which their packages are looked up. */
export async function readersNow({ documents = {} }: LoadOptions): Promise<string> {
  return (await readers()).readersOf(documents);
}

/** The readers of documents, which are imported when they are needed. */
const readers = () => import("../../documents/read.ts");

/** The line that names a document of a folder. */
export const separatorOf = (name: string) => `\n===== ${onLine(name)} =====\n`;

/** The line that begins what an append adds. */
export const appendedLine = (name: string) => `\n\n===== APPENDED: ${onLine(name)} =====\n\n`;

/** A name within a line of P: as JSON if it has control characters, such as a line break. */
const onLine = (name: string) => (/\p{Cc}/u.test(name) ? jsonText(name) : name);

/** A document behind what stands before it in P. Its size is added. */
export function placed(document: Unplaced, before: string, size: ContextSize): ContextFile {
  const separator = Buffer.from(before);
  size.files += 1;
  size.bytes += separator.length + document.bytes.length;
  return { ...document, separator };
}

/** A document of a folder, behind the line that names it. */
export function named(document: Unplaced, lead: string, size: ContextSize): ContextFile {
  return placed(document, `${lead}${separatorOf(document.relative)}`, size);
}

/** The number of bytes that were read of the documents. */
export function bytesOf(found: Found): number {
  return "files" in found ? found.files.reduce((sum, { bytes }) => sum + bytes.length, 0) : 0;
}

/**
 * Items with the answers of work on them, in their order. While one waits for its answer, the work
 * on the next ones begins.
 */
export async function* ahead<T, R>(items: Iterable<T>, work: (item: T) => R | Promise<R>) {
  const begun: (readonly [item: T, answer: R | Promise<R>])[] = [];
  for (const item of items) {
    const answer = work(item);
    // It is told when its turn comes, which it may not.
    if (answer instanceof Promise) answer.catch(() => {});
    begun.push([item, answer]);
    const isDue = begun.length > CHILDREN || !(begun[0]?.[1] instanceof Promise);
    for (const [first, itsAnswer] of begun.splice(0, isDue ? 1 : 0)) yield [first, await itsAnswer] as const;
  }
  for (const [item, answer] of begun) yield [item, await answer] as const;
}
