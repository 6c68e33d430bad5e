import { createHash } from "node:crypto";
import { existsSync, lstatSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { freeBytes, LIMITS } from "../../../runtime/index.ts";
import type { DocumentOptions } from "../../documents/kinds.ts";
import type { FileDocuments, NamedFile } from "../../documents/read.ts";
import {
  type Context,
  changesSkips,
  extendContext,
  isSmall,
  type LoadedFile,
  type LoadedSource,
  type SmallContext,
  unchangedIn,
} from "../context.ts";
import { excerptOf, isAll, type Range } from "../excerpt.ts";
import type { Pause } from "../pauses.ts";
import type { SkippedFile } from "../skipped.ts";
import {
  ahead,
  appendedLine,
  bytesOf,
  documentsOfFile,
  type FileContent,
  named,
  placed,
  readersNow,
  readListed,
  readNamed,
  rulesOf,
  separatorOf,
  textBytes,
} from "./file-content.ts";
import type { KnownLoad } from "./known-loads.ts";
import { extendByPaths, type PathsSource } from "./paths.ts";
import {
  type ContextSize,
  FILE_COST_BYTES,
  isFleeting,
  isFolder,
  isOver,
  type Known,
  type LoadOptions,
  nothingToLoad,
  pauseFor,
  type SmallLoadOptions,
  tooLarge,
  unreadable,
} from "./reading.ts";
import { locate, openRoots, type Roots } from "./roots.ts";
import { compareUnits, type Walk, type WalkedFile, walk } from "./walk.ts";

/**
 * The source of a load: a file or folder on disk, text at hand, parts of a context, or files of
 * several places.
 */
export type Source =
  | { kind: "path" /** Absolute, or relative to `cwd`. */; path: string }
  | { kind: "text"; text: string | Uint8Array /** Document id, e.g. `stdin`. */; name: string }
  | { kind: "excerpt"; of: Context; ranges: readonly Range[] /** As `stats.sources` has it. */; name: string }
  | PathsSource;

/**
 * Reads a source into a new context (spec §3.1), or puts it behind `previous` (spec §3.2). A
 * folder's files are sorted by code unit of their relative path and each is preceded by
 * `\n===== {relative path} =====\n`; a single file or text is P as it is. The bytes of UTF-8 stay,
 * without a byte order mark, and other texts are decoded (`decodeText`). Several places are loaded
 * as one folder (`PathsSource`). All of a context, as an excerpt, is that context itself. Behind
 * `previous` stands `\n\n===== APPENDED: {absolute path or name} =====\n\n` with the files that are
 * new or have changed; without any, `previous` is returned. Limits count what is loaded already.
 * Rejects with `path_outside_sandbox`, `path_not_found`, `context_too_large`, `invalid_argument` or
 * `cancelled`.
 */
export function load(source: Source, given: SmallLoadOptions, previous?: SmallContext): Promise<SmallContext>;
export function load(source: Source, given: LoadOptions, previous?: Context): Promise<Context>;
export async function load(source: Source, given: LoadOptions, previous?: Context): Promise<Context> {
  if (previous && !isSmall(previous)) throw new Error("nothing can be put behind a context in files");
  const options = { ...given, begunAt: performance.now() };
  if (source.kind === "paths") return extendByPaths(previous, source, options);
  const size = { files: previous?.documents.length ?? 0, bytes: previous?.text.bytes ?? 0 };
  const reading = readingOf(source, size, previous, options);
  const { name, pause } = reading;
  await pause(0);
  if (source.kind === "text") {
    const loaded = await loadContent(reading, contentOf(source.text, name, options), { relative: name, path: "-" });
    return extendContext(previous, loaded, pause);
  }
  if (source.kind === "excerpt") {
    if (previous === undefined && isAll(source.of.text, source.ranges)) return source.of;
    const { files } = excerptOf(source.of, source.ranges);
    return extendContext(previous, sourceOf(reading, { files, skipped: [], isFolder: true }), pause);
  }
  const place = await locatePath(reading, options);
  const { known } = options;
  const seen = known && (await printOf(reading, place, known, previous?.key ?? null));
  const readers = () => readersNow(options);
  const result = seen && (await known.loads.find(seen.key, seen.print, readers));
  const before = result && (await known.open(result.key));
  if (before) return before;
  const loaded = place.isFolder ? await loadFolder(reading, place) : await loadFile(reading, place);
  const hasChanged = !previous || loaded.files.length > 0 || changesSkips(previous, loaded);
  const context = hasChanged ? await extendContext(previous, loaded, pause) : previous;
  for (const { bytes } of loaded.files) freeBytes(bytes);
  // Of younger files a change could be missed.
  if (seen && reading.isWhole && seen.isOld) {
    const used = reading.hasDocuments ? await readers() : "";
    await known.loads.keep(seen.key, seen.print, { hash: context.hash, key: context.key }, used);
  }
  return context;
}

/**
 * Returns the hash and the key of what `load` would give, or on top of the context with the key
 * `previous`, if that is known without reading the files. Rejects as `load` does.
 */
export async function knownLoad(
  path: string,
  previous: string | null,
  options: LoadOptions & { readonly known: Known },
): Promise<KnownLoad | undefined> {
  const reading = readingOf({ kind: "path", path }, { files: 0, bytes: 0 }, undefined, options);
  const { known } = options;
  const { key, print } = await printOf(reading, await locatePath(reading, options), known, previous);
  return known.loads.find(key, print, () => readersNow(options));
}

function printOf({ name, pause, options }: Reading, { walked }: Place, known: Known, previous: string | null) {
  return fingerprintOf({ name, previous, now: known.now(), documents: options.documents ?? {} }, walked, pause);
}

interface Reading {
  /** Absolute path, or the text's name. */
  readonly name: string;
  /** The caller's words, for messages. */
  readonly given: string;
  /** The size of the context, counted up while reading. */
  readonly size: ContextSize;
  /** Stands before the first file. */
  readonly separator: string;
  /** True for a file of the context that has not changed. */
  isThere(path: string, bytes: Uint8Array<ArrayBufferLike>): boolean;
  pause(bytes: number): Promise<void>;
  readonly options: LoadOptions;
  isWhole: boolean;
  hasDocuments: boolean;
}

function readingOf(
  source: Exclude<Source, PathsSource>,
  size: ContextSize,
  previous: Context | undefined,
  options: LoadOptions,
): Reading {
  const name = source.kind === "path" ? resolve(options.cwd, source.path) : source.name;
  return {
    name,
    given: source.kind === "path" ? source.path : source.name,
    size,
    separator: previous ? appendedLine(name) : "",
    isThere: unchangedIn(previous),
    pause: pauseFor(options, size),
    options,
    isWhole: true,
    hasDocuments: false,
  };
}

function contentOf(text: string | Uint8Array, name: string, options: LoadOptions): FileContent {
  if (typeof text === "string") return { bytes: Buffer.from(text.replace(/^\ufeff/, "")) };
  const rules = rulesOf(options);
  const way = rules.wayOf(text, name);
  const decoding = rules.decoding(true);
  return way === null ? textBytes(text, decoding) : { way, bytes: text, decoding };
}

/** The target of a path, and the files that are there. */
interface Place {
  readonly roots: Roots;
  /** Absolute, without symlinks. */
  readonly path: string;
  readonly isFolder: boolean;
  readonly walked: Walk;
}

async function locatePath({ given, pause }: Reading, options: LoadOptions): Promise<Place> {
  const roots = openRoots(options.roots, options.cwd);
  const path = locate(roots, given, options.cwd);
  if (isFolder(given, path)) {
    return { roots, path, isFolder: true, walked: await walk(roots, path, pause, options.documents) };
  }
  const walked = { files: [{ relative: basename(path), path }], skipped: [], ignored: 0 };
  return { roots, path, isFolder: false, walked };
}

async function loadFile(reading: Reading, { roots, path }: Place): Promise<LoadedSource> {
  const { size, options } = reading;
  const content = readNamed(roots, path, LIMITS.contextBytes - size.bytes, rulesOf(options));
  return loadContent(reading, content, { relative: basename(path), path });
}

/**
 * The source that one file is: a document as it is, or those of an archive, as a folder has them.
 */
async function loadContent(reading: Reading, content: FileContent, file: NamedFile): Promise<LoadedSource> {
  const { given, size } = reading;
  const documents = await documentsOf(reading, content, file);
  if ("reason" in documents) throw unreadable(given, documents);
  if ("size" in documents) throw tooLarge(given, { files: size.files + 1, bytes: size.bytes + documents.size });
  const files = documents.files.filter(({ path, bytes }) => !reading.isThere(path, bytes));
  if (documents.files.length === 0) throw nothingToLoad(given, documents.skipped, 0);
  return sourceOf(reading, { ...documents, files });
}

/** @throws RlmError `context_too_large` */
function sourceOf({ name, given, size, separator }: Reading, found: FileDocuments): LoadedSource {
  const put = found.isFolder ? named : placed;
  const files = found.files.map((document, at) => put(document, at === 0 ? separator : "", size));
  if (isOver(size)) throw tooLarge(given, size);
  return { name, base: dirname(name), files, skipped: found.skipped };
}

function documentsOf(reading: Reading, content: FileContent, file: NamedFile) {
  reading.hasDocuments ||= "way" in content;
  return documentsOfFile(content, file, reading.options, reading.size);
}

/**
 * Once over a limit, only the sizes of the remaining text files are added up: the error names the
 * real total.
 */
async function loadFolder(reading: Reading, { roots, walked }: Place): Promise<LoadedSource> {
  const { name, given, size, pause, options } = reading;
  const files: LoadedFile[] = [];
  let unchanged = 0;
  const skipped: SkippedFile[] = [...walked.skipped];
  const shares = new Map<string, ContextSize>();
  const rules = rulesOf(options);
  const read = ahead(walked.files, (file) => {
    const room = size.files < LIMITS.files ? LIMITS.contextBytes - size.bytes : -1;
    const content = readListed(roots, file.path, room, room < 0 ? { ...rules, wayOf: () => null } : rules);
    return documentsOf(reading, content, file);
  });
  for await (const [{ relative }, found] of read) {
    const before = { ...size };
    if ("reason" in found) {
      if (isFleeting(found)) reading.isWhole = false;
      skipped.push({ path: relative, reason: found.reason });
    } else if ("size" in found) {
      size.files += 1;
      size.bytes += Buffer.byteLength(separatorOf(relative)) + found.size;
    } else {
      for (const document of found.files) {
        if (reading.isThere(document.path, document.bytes)) {
          unchanged += 1;
          continue;
        }
        const file = named(document, files.length === 0 ? reading.separator : "", size);
        if (!isOver(size)) files.push(file);
      }
      skipped.push(...found.skipped);
    }
    await pause(FILE_COST_BYTES + bytesOf(found));
    if (size.files === before.files) continue;
    const share = relative.replace(/\/.*/s, "/");
    const sum = shares.get(share) ?? { files: 0, bytes: 0 };
    sum.files += size.files - before.files;
    sum.bytes += size.bytes - before.bytes;
    shares.set(share, sum);
  }
  if (isOver(size)) throw tooLarge(given, size, shares);
  skipped.sort((a, b) => compareUnits(a.path, b.path));
  if (files.length === 0 && unchanged === 0) throw nothingToLoad(given, skipped, walked.ignored);
  return { name, files, skipped };
}

/** Raise it if the same files give another context than before. */
const RULES = 5;
/** The coarsest clock of a file system in use (FAT), ms. */
const TICK_MS = 2000;
/** Asking for a file's facts takes about as long as reading this much. */
const STAT_COST_BYTES = 16 * 1024;

/** The load that a fingerprint is of. */
interface Loading {
  readonly name: string;
  readonly previous: string | null;
  /** ms since the epoch, before any of the files was read. */
  readonly now: number;
  readonly documents: DocumentOptions;
}

/**
 * Facts of a source that are known without reading it. `key`: the sources that are loaded, and the
 * context below them. `print`: names, and of each file what changes with its content, which are
 * device, inode, size and times of change. `isOld`: another change would show. A file that was
 * changed just now may be changed again within the same tick of the file system's clock, as git
 * says of its index.
 */
async function fingerprintOf(
  { name, previous, now, documents }: Loading,
  { files, skipped, ignored }: Walk,
  pause: Pause,
) {
  const print = createHash("sha256").update(JSON.stringify([skipped, ignored]));
  const newest = BigInt(Math.floor(now - TICK_MS)) * 1_000_000n;
  let isOld = true;
  // A database that is loaded alone may have changed in its log; in a folder that is a file as
  // well.
  const [only, ...others] = files;
  const log: WalkedFile[] = only && others.length === 0 ? [{ relative: "", path: `${only.path}-wal` }] : [];
  for (const { relative, path, rules } of [...files, ...log.filter((file) => existsSync(file.path))]) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (!stats) return { key: "", print: "", isOld: false };
    const { dev, ino, size, mtimeNs, ctimeNs } = stats;
    if (mtimeNs >= newest || ctimeNs >= newest) isOld = false;
    print.update(
      JSON.stringify([relative, path, rules?.id ?? null, ...[dev, ino, size, mtimeNs, ctimeNs].map(String)]),
    );
    await pause(STAT_COST_BYTES);
  }
  const { files: most, contextBytes, directoryFileBytes } = LIMITS;
  const rules = [RULES, most, contextBytes, directoryFileBytes, process.getuid?.() ?? null];
  const { raw = false, secrets = false, convert = {}, encoding = null, lossy = false } = documents;
  const how = [raw, secrets, convert, encoding, lossy];
  const key = createHash("sha256").update(JSON.stringify([...rules, name, previous, ...how]));
  return { key: key.digest("hex"), print: print.digest("hex"), isOld };
}
