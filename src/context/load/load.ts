import { createHash } from "node:crypto";
import { existsSync, lstatSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { LIMITS } from "../../../runtime/index.ts";
import type { DocumentOptions } from "../../documents/kinds.ts";
import type { NamedFile } from "../../documents/read.ts";
import type { Context, ContextFile, SmallContext } from "../context.ts";
import { excerptOf, isAll, type Range } from "../excerpt.ts";
import { roomBehind } from "../large.ts";
import type { Pause } from "../pauses.ts";
import { unchangedIn } from "../unchanged.ts";
import { deletedFiles, noteArchive, type ReadArchives } from "./deleted.ts";
import {
  appendedLine,
  type LoadContent,
  type LoadDocuments,
  named,
  placed,
  readersNow,
  readText,
  rulesOf,
  textBytes,
} from "./file-content.ts";
import type { KnownLoad } from "./known-loads.ts";
import { documentsOf, ended, gatheringOf, loadFiles, type Reading } from "./load-files.ts";
import { extendByPaths, type PathsSource } from "./paths.ts";
import {
  isFolder,
  type Known,
  type LoadOptions,
  nothingToLoad,
  pauseFor,
  type SmallLoadOptions,
  unreadable,
} from "./reading.ts";
import { locate, openRoots, type Roots } from "./roots.ts";
import { type ContextSize, isOver, mostOf, tooLarge } from "./size.ts";
import { type Walk, type WalkedFile, type WalkedFiles, walk } from "./walk.ts";

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
  const options = { ...given, begunAt: performance.now() };
  if (source.kind === "paths") return extendByPaths(previous, source, options);
  const size = { files: previous?.documents.length ?? 0, bytes: previous?.text.bytes ?? 0 };
  const reading = readingOf(source, size, previous, options);
  const { name } = reading;
  await reading.pause(0);
  if (source.kind === "text") {
    return loadContent(reading, contentOf(source.text, name, options), { relative: name, path: "-" });
  }
  if (source.kind === "excerpt") {
    if (previous === undefined && isAll(source.of.text, source.ranges)) return source.of;
    const { files } = excerptOf(source.of, source.ranges);
    return loadDocuments(reading, { files, skipped: [], isFolder: true });
  }
  const place = await locatePath(reading, options);
  const { known } = options;
  const seen = known && (await printOf(reading, place, known, previous?.key ?? null));
  const readers = () => readersNow(options);
  const result = seen && (await known.loads.find(seen.key, seen.print, readers));
  const before = result && (await known.open(result.key));
  if (before) return before;
  const context = place.isFolder
    ? await loadFiles({ ...reading, base: name }, place.roots, place.walked)
    : await loadFile(reading, place);
  // Of younger files a change could be missed.
  if (seen && reading.seen.isWhole && seen.isOld) {
    const used = reading.seen.hasDocuments ? await readers() : "";
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

/** Raise it if the same files give another context than before. */
const RULES = 7;

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
  /** With less room a folder may leave files out. */
  readonly most: Readonly<ContextSize>;
}

function printOf({ name, pause, options, most }: Reading, { walked }: Place, known: Known, previous: string | null) {
  const loading = { name, previous, now: known.now(), documents: options.documents ?? {}, most };
  return fingerprintOf(loading, walked, pause);
}

/**
 * Facts of a source that are known without reading it. `key`: the sources that are loaded, and the
 * context below them. `print`: names, and of each file what changes with its content, which are
 * device, inode, size and times of change. `isOld`: another change would show. A file that was
 * changed just now may be changed again within the same tick of the file system's clock, as git
 * says of its index.
 */
async function fingerprintOf(
  { name, previous, now, documents, most }: Loading,
  { files, skipped, ignored }: Walk,
  pause: Pause,
) {
  const print = createHash("sha256").update(JSON.stringify([skipped, ignored]));
  const newest = BigInt(Math.floor(now - TICK_MS)) * 1_000_000n;
  let isOld = true;
  for (const { relative, path, rules } of withLog(files)) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (!stats) return { key: "", print: "", isOld: false };
    const { dev, ino, size, mtimeNs, ctimeNs } = stats;
    if (mtimeNs >= newest || ctimeNs >= newest) isOld = false;
    print.update(
      JSON.stringify([relative, path, rules?.id ?? null, ...[dev, ino, size, mtimeNs, ctimeNs].map(String)]),
    );
    await pause(STAT_COST_BYTES);
  }
  const rules = [RULES, most.files, most.bytes, LIMITS.directoryFileBytes, process.getuid?.() ?? null];
  const { raw = false, secrets = false, convert = {}, encoding = null, lossy = false } = documents;
  const how = [raw, secrets, convert, encoding, lossy];
  const key = createHash("sha256").update(JSON.stringify([...rules, name, previous, ...how]));
  return { key: key.digest("hex"), print: print.digest("hex"), isOld };
}

/**
 * The files, and the log of one that is loaded alone: a database may have changed in its log. In a
 * folder the log is a file as well.
 */
function* withLog(files: WalkedFiles): Generator<WalkedFile> {
  for (const file of files) {
    yield file;
    const log = `${file.path}-wal`;
    if (files.length === 1 && existsSync(log)) yield { relative: "", path: log };
  }
}

function readingOf(
  source: Exclude<Source, PathsSource>,
  size: ContextSize,
  previous: Context | undefined,
  options: LoadOptions,
): Reading {
  const name = source.kind === "path" ? resolve(options.cwd, source.path) : source.name;
  const pause = pauseFor(options, size);
  return {
    name,
    given: source.kind === "path" ? source.path : source.name,
    previous,
    size,
    most: mostOf(options),
    separator: previous ? appendedLine(name) : "",
    isThere: unchangedIn(previous, pause),
    pause,
    options,
    base: dirname(name),
    folder: undefined,
    ownsBytes: source.kind === "path",
    seen: { isWhole: true, hasDocuments: false },
  };
}

function contentOf(text: string | Uint8Array, name: string, options: LoadOptions): LoadContent {
  if (typeof text === "string") return { bytes: Buffer.from(text.replace(/^\ufeff/, "")) };
  const { wayOf, decoding } = rulesOf(options);
  const way = wayOf(text, name);
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

async function loadFile(reading: Reading, { roots, path }: Place): Promise<Context> {
  const { previous, size, most, options } = reading;
  const room = { most: most.bytes - size.bytes, atOnce: roomBehind(previous, size) };
  return loadContent(reading, readText(roots, path, room, rulesOf(options), true), { relative: basename(path), path });
}

/**
 * The context of one file: a document as it is, or those of an archive, as a folder has them.
 */
async function loadContent(reading: Reading, content: LoadContent, file: NamedFile): Promise<Context> {
  const { given, size, most } = reading;
  const found = await documentsOf(reading, content, file);
  if ("reason" in found) throw unreadable(given, found);
  if ("size" in found) {
    throw tooLarge(given, { files: size.files + 1, bytes: size.bytes + found.size }, most);
  }
  if (found.files.length === 0) throw nothingToLoad(given, found.skipped, 0);
  const archives: ReadArchives = new Map();
  noteArchive(archives, file, found);
  const append = { ...reading, base: dirname(file.path), top: file.path, archives };
  const deleted = found.isFolder ? await deletedFiles(append) : [];
  return loadDocuments(reading, { ...found, skipped: [...found.skipped, ...deleted] });
}

/** The context with the documents that are new or have changed. */
async function loadDocuments(reading: Reading, found: LoadDocuments): Promise<Context> {
  const { given, size, most, separator, isThere } = reading;
  const put = found.isFolder ? named : placed;
  const files: ContextFile[] = [];
  for (const document of found.files) {
    if (await isThere(document.path, document.bytes)) continue;
    files.push(put(document, files.length === 0 ? separator : "", size));
  }
  if (isOver(size, most)) throw tooLarge(given, size, most);
  using gathering = gatheringOf(reading);
  for (const file of files) await gathering.add(file);
  return ended(reading, gathering, found.skipped);
}
