import { hash as digest } from "node:crypto";
import { statfsSync } from "node:fs";
import { basename } from "node:path";
import { hasCode, RlmError } from "../../runtime/index.ts";
import { openConverted, openPlacesRoom } from "../documents/conversions.ts";
import { type CheckedWriter, type WrittenFile, writeChecked } from "../platform/checked-file.ts";
import { megabytes, thousands } from "../platform/figures.ts";
import { makeFolder } from "../platform/make-folder.ts";
import {
  type Context,
  type ContextFile,
  type ContextPart,
  type Document,
  freeId,
  keyOf,
  type LoadedFile,
  type LoadedSource,
  NO_PATH,
  skipsAfter,
  statsOf,
} from "./context.ts";
import { errnoOf } from "./load/roots.ts";
import type { Pause } from "./pauses.ts";
import { isRouteFile } from "./routes/entries.ts";
import { newRoutes } from "./routes/new-routes.ts";
import type { SkippedFile } from "./skipped.ts";
import { type DocumentRows, openDocumentRows } from "./text/document-rows.ts";
import { openLookup } from "./text/lookup.ts";
import { writeRows } from "./text/table.ts";
import { openTally, type Tally } from "./text/tally.ts";
import { openText, type Text } from "./text/text.ts";

/** The source of the files of a large context. */
export interface LargeSource extends Pick<LoadedSource, "name" | "folder" | "base"> {
  /** Absolute folder of the texts. It is made if it is not there. */
  readonly texts: string;
  readonly pause: Pause;
  /** The text that the context should have. Writing ends with `context_changed` at the first difference. */
  readonly expected?: Text | undefined;
}

/** A large context that is being written. */
export interface LargeWriting {
  add(file: ContextFile): Promise<void>;
  /** The context. @param skipped files that the source has besides */
  end(skipped: readonly SkippedFile[]): Promise<Context>;
  /** Removes what was written. After `end` it does nothing. */
  drop(): void;
}

/** Bytes of a text in memory that are written at once. */
const STEP_BYTES = 2 ** 20;

/** Begins a large context that follows `previous`, whose text is not read again if it is in files. */
export async function beginLarge(previous: Context | undefined, source: LargeSource): Promise<LargeWriting> {
  const { texts, pause, name, expected } = source;
  const same = expected && openSameText(expected, name);
  const tally = openTally(previous?.text.large?.tallied());
  const before = await filesOf(previous, tally, source);
  const text = begun(texts);
  const added = openAdded(previous, source);

  const begin = previous?.text.bytes ?? 0;
  const filled = () => begin + text.length();

  async function put(bytes: Uint8Array): Promise<void> {
    same?.has(filled(), bytes);
    written(texts, () => text.put(bytes));
    tally.add(bytes);
    await pause(bytes.length);
  }

  return {
    async add({ bytes, separator, ...file }) {
      same?.reaches(filled() + separator.length + bytes.length);
      await put(separator);
      const start = tally.units();
      for (const piece of "pieces" in bytes ? bytes.pieces() : slicesOf(bytes)) await put(piece);
      added.add(file, start, tally.units());
    },
    async end(skipped) {
      const files = [...before, ...(text.length() > 0 ? [written(texts, () => text.end())] : [])];
      const tallied = tally.told();
      const { rows, replaced } = await added.all();
      const table = written(texts, () => writeRows(texts, tallied, rows));
      const context = namedBy([...(previous?.stats.sources ?? []), name]);
      const listed = files.map(({ path, bytes }) => ({ path, bytes }));
      const data = { files: listed, table: table.path, length: tallied.units, context };
      const opened = openText(data);
      const { routed } = added;
      const { routes, skipped: cut } = await newRoutes(routed, opened, previous?.routes ?? [], pause);
      const skips = skipsAfter(previous, {
        ...source,
        skipped: [...skipped, ...cut],
        hasLoaded: added.hasPath,
      });
      const parts: ContextPart[] = files.map(({ hash, bytes }) => ({ hash, bytes }));
      const hash = hashOf(parts);
      const stats = statsOf(previous, name, {
        hash,
        length: tallied.units,
        lines: tallied.newlines + (endsLine(opened) ? 0 : 1),
        documents: rows.count(),
        isLarge: true,
        hasRouting: routed.length > 0 || (previous?.stats.has_routing ?? false),
        routes: routes.length,
        skips,
        replaced,
        converted: added.converted(),
      });
      const key = keyOf(hash, { documents: table.hash, routes, skips, stats });
      return { hash, key, text: opened, parts, documents: opened.large?.documents() ?? [], routes, skips, stats };
    },
    drop: text.drop,
  };
}

/** The name of a context in messages: its first source. */
export function namedBy([first = "", ...others]: readonly string[]): string {
  return others.length === 0 ? first : `${first} and ${others.length} more`;
}

const NEWLINE = 0x0a;
const endsLine = ({ bytes, read }: Context["text"]) => bytes === 0 || read(bytes - 1, bytes)[0] === NEWLINE;

/** No text of UTF-8 has this byte, so the hash of several parts is never that of a text. */
const PARTS_MARK = Buffer.from([0xff]);

/**
 * The hash of P. Of several parts it follows from their hashes, so that an append does not hash all
 * of P again.
 */
function hashOf(parts: readonly ContextPart[]): string {
  const hashes = parts.map(({ hash }) => hash);
  const [only] = hashes;
  return only !== undefined && hashes.length === 1
    ? only
    : digest("sha256", Buffer.concat([PARTS_MARK, Buffer.from(hashes.join("\n"))]));
}

/** Documents that are put behind those of a context. */
interface AddedDocuments {
  add(file: Omit<LoadedFile, "separator" | "bytes">, start: number, end: number): void;
  /** Those of the context, of which some are marked as replaced, and the added ones. */
  all(): Promise<AllDocuments>;
  /** True if one of them is the file with this path. */
  hasPath(path: string): boolean;
  /** The added ones that hold routes. */
  readonly routed: readonly Document[];
  converted(): Context["stats"]["converted"];
}

/** All documents of a context. */
interface AllDocuments {
  readonly rows: DocumentRows;
  /** The number of those that a later one replaces. */
  readonly replaced: number;
}

function openAdded(
  previous: Context | undefined,
  { name, folder: given, pause }: Pick<LargeSource, "name" | "folder" | "pause">,
): AddedDocuments {
  const rows = openDocumentRows();
  const isTaken = idsOf(previous);
  const taken = { has: (id: string) => rows.has(id) || isTaken(id) };
  const folder = given === null ? null : basename(name);
  const within = openPlacesRoom(previous?.documents ?? []);
  const converted = openConverted(previous?.stats.converted);
  /** The newest added documents of paths. Only what is there already is replaced, or was skipped before. */
  const newest = previous && openLookup((n) => rows.at(n).path);
  const routed: Document[] = [];
  return {
    add({ relative, path, ...facts }, start, end) {
      const document = { id: freeId(relative, folder, taken), path, start, end, size: end - start, ...within(facts) };
      rows.add(document);
      converted.add(document);
      if (isRouteFile(document.id)) routed.push(document);
      if (path !== NO_PATH) newest?.put(path, rows.count() - 1);
    },
    async all() {
      if (!previous) return { rows, replaced: 0 };
      const all = openDocumentRows();
      let replaced = 0;
      for (const document of previous.documents) {
        const n = newest?.find(document.path);
        const replaced_by = n === undefined ? document.replaced_by : rows.at(n).id;
        if (replaced_by !== undefined) replaced += 1;
        all.add(replaced_by === undefined ? document : { ...document, replaced_by });
        await pause(DOCUMENT_COST_BYTES);
      }
      for (let n = 0; n < rows.count(); n++) all.add(rows.at(n));
      return { rows: all, replaced };
    },
    hasPath: (path) => newest?.find(path) !== undefined,
    routed,
    converted: converted.told,
  };
}

/** Writing a document into a table takes about as long as reading this much. */
const DOCUMENT_COST_BYTES = 1024;

/** Tells whether a document of a context has an id. */
function idsOf(context: Context | undefined): (id: string) => boolean {
  if (!context) return () => false;
  const { large } = context.text;
  if (large) return (id) => large.documents().named(id) !== undefined;
  const ids = new Set(Array.from(context.documents, ({ id }) => id));
  return (id) => ids.has(id);
}

/** The files of a context's text. A text in memory is counted and written, a file for each part. */
async function filesOf(
  previous: Context | undefined,
  tally: Tally,
  { texts, pause }: Pick<LargeSource, "texts" | "pause">,
): Promise<readonly WrittenFile[]> {
  if (!previous) return [];
  const { data } = previous.text;
  if ("files" in data) return data.files.map(({ path, bytes }) => ({ path, bytes, hash: basename(path) }));
  const files: WrittenFile[] = [];
  let at = 0;
  for (const part of previous.parts.filter(({ bytes }) => bytes > 0)) {
    const file = begun(texts);
    try {
      for (const piece of slicesOf(previous.text.read(at, at + part.bytes))) {
        written(texts, () => file.put(piece));
        tally.add(piece);
        await pause(piece.length);
      }
      files.push(written(texts, () => file.end()));
    } finally {
      file.drop();
    }
    at += part.bytes;
  }
  return files;
}

function* slicesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += STEP_BYTES) yield bytes.subarray(at, at + STEP_BYTES);
}

function begun(texts: string): CheckedWriter {
  return written(texts, () => {
    makeFolder(texts);
    return writeChecked(texts);
  });
}

/**
 * Looks at the disk before a large text is written to it.
 *
 * @param bytes of the text, as far as they are known
 * @throws RlmError `store_failed` if it has less room
 */
export function checkRoom(texts: string, bytes: number): void {
  makeFolder(texts);
  const { bavail, bsize } = statfsSync(texts);
  const free = bavail * bsize;
  if (free >= bytes) return;
  const problem = `the text takes ${megabytes(bytes)}, and its disk has ${megabytes(free)} left`;
  throw new RlmError("store_failed", `a large context cannot be kept in ${texts}: ${problem}`, { suggestion: NO_ROOM });
}

const NO_ROOM = "Free space on its disk and load again. The text of a context takes as much as its files.";

/** @throws RlmError `store_failed` if the system refuses to write */
function written<T>(texts: string, write: () => T): T {
  try {
    return write();
  } catch (cause) {
    const errno = errnoOf(cause);
    if (errno === undefined) throw cause;
    const isFull = errno === "ENOSPC" || errno === "EDQUOT";
    const problem = isFull ? "the disk is full" : `the system refuses to write (${errno})`;
    throw new RlmError("store_failed", `a large context cannot be kept in ${texts}: ${problem}`, {
      suggestion: isFull ? NO_ROOM : "Make the folder writable for you, or choose another one for the store.",
      cause,
    });
  }
}

/** Compares bytes with those of a text as they come. */
interface SameText {
  /** @throws RlmError `context_changed` if the text is too short for bytes up to a place */
  reaches(end: number): void;
  /** @throws RlmError `context_changed` if the text has other bytes at a place */
  has(at: number, bytes: Uint8Array): void;
}

/**
 * Opens the comparison with a text that a load should give. A page of it that is damaged ends the
 * comparison: the hash at the end still tells.
 *
 * @param name of the source, for people
 */
function openSameText(text: Text, name: string): SameText {
  let isReadable = true;

  function read(at: number, end: number): Uint8Array | null {
    try {
      return text.read(at, end);
    } catch (error) {
      if (!hasCode(error, "context_lost")) throw error;
      isReadable = false;
      return null;
    }
  }

  return {
    reaches(end) {
      if (end > text.bytes) throw differs(`${name} has more text than was loaded`);
    },
    has(at, bytes) {
      const kept = isReadable ? read(at, at + bytes.length) : null;
      if (kept && Buffer.compare(kept, bytes) !== 0) {
        throw differs(
          `${name} has other text within the ${thousands(bytes.length)} bytes from ${thousands(at)} of P on`,
        );
      }
    },
  };
}

function differs(problem: string): RlmError {
  return new RlmError("context_changed", problem, { suggestion: "Load it again." });
}
