import { LIMITS } from "../../../runtime/index.ts";
import type { NamedFile } from "../../documents/read.ts";
import { megabytes, thousands } from "../../platform/figures.ts";
import { type Context, changesSkips } from "../context.ts";
import { type Gathering, gather } from "../large.ts";
import type { Pause } from "../pauses.ts";
import type { SkippedFile } from "../skipped.ts";
import type { IsThere } from "../unchanged.ts";
import { deletedFiles, noteArchive, type ReadArchives } from "./deleted.ts";
import {
  ahead,
  documentsToLoad,
  type LoadContent,
  type LoadDocuments,
  named,
  readText,
  rulesOf,
  separatorOf,
} from "./file-content.ts";
import { FILE_COST_BYTES, type LoadOptions, nothingToLoad, unreadable } from "./reading.ts";
import type { Refusal, Roots } from "./roots.ts";
import { CHANGED } from "./roots.ts";
import { type ContextSize, isOver, type MostSize, tooLarge } from "./size.ts";
import { compareUnits } from "./walk.ts";

/** A load while it reads its source. */
export interface Reading {
  /** Absolute path, or the text's name. */
  readonly name: string;
  /** The caller's words, for messages. */
  readonly given: string;
  readonly previous: Context | undefined;
  /** The size of the context, counted up while reading. */
  readonly size: ContextSize;
  readonly most: MostSize;
  /** Throws if a load of these sizes adds too much at once. */
  readonly checkAdded?: (added: Readonly<ContextSize>) => void;
  /** Stands before the first file. */
  readonly separator: string;
  /** True for a file of the context that has not changed. */
  readonly isThere: IsThere;
  readonly pause: Pause;
  readonly options: LoadOptions;
  /** The folder that paths of skipped files are relative to. */
  readonly base: string;
  /** As `LoadedSource` has it. */
  readonly folder: null | undefined;
  /** True if the bytes of files in memory may be freed. */
  readonly ownsBytes: boolean;
  /** Facts about the files that were read. */
  readonly seen: SeenFiles;
}

/** Facts about files that were read. */
interface SeenFiles {
  /** False if a file was not read for a reason that may pass. */
  isWhole: boolean;
  hasDocuments: boolean;
}

/** A file that is to be loaded. */
export interface ListedFile extends NamedFile {
  /** The caller's words, if it was named itself: then it is an error if it cannot be loaded. */
  readonly given?: string | null;
}

/** Files to load, each once, and what was found beside them. */
interface FilesFound {
  readonly files: Iterable<ListedFile> & { readonly length: number };
  readonly skipped: readonly SkippedFile[];
  readonly ignored: number;
}

/**
 * Loads files, each behind the line that names it. Of those that were not named themselves, the
 * largest are left out if the context has no room for all that are over 10 MB.
 */
export async function loadFiles(reading: Reading, roots: Roots, found: FilesFound): Promise<Context> {
  const begun = { ...reading.size };
  for (let leftOut: LeftOut = new Map(), tries = 1; ; tries++) {
    const sizes = sizesOf(found.files.length);
    const context = await tryToLoad(reading, roots, { found, leftOut, sizes });
    if (context) return context;
    leftOut = withLargest(reading, found, { begun, leftOut, sizes, leavesAll: tries === MOST_TRIES });
    Object.assign(reading.size, begun);
  }
}

/** Then all files over 10 MB are left out. */
const MOST_TRIES = 3;

/** Files that are left out for their size, by their numbers. */
type LeftOut = ReadonlyMap<number, Pick<LargeFile, "relative" | "bytes">>;

/** A file that may be left out. */
interface LargeFile {
  readonly n: number;
  readonly relative: string;
  /** Bytes that it would add. */
  readonly bytes: number;
}

/** The sizes of what files added to a context, or would have added. */
interface FileSizes {
  readonly documents: Uint32Array;
  readonly bytes: Float64Array;
  /** Documents that are added, and their bytes. */
  readonly added: ContextSize;
  /** Documents that are in the context already. */
  unchanged: number;
}

function sizesOf(files: number): FileSizes {
  const added = { files: 0, bytes: 0 };
  return { documents: new Uint32Array(files), bytes: new Float64Array(files), added, unchanged: 0 };
}

interface Attempt {
  readonly found: FilesFound;
  readonly leftOut: LeftOut;
  readonly sizes: FileSizes;
}

/**
 * The context of the files, or null if they are too large together. Once over a limit, only the
 * sizes of the remaining text files are added up.
 */
async function tryToLoad(reading: Reading, roots: Roots, { found, leftOut, sizes }: Attempt): Promise<Context | null> {
  const { given, size, most, pause, options, isThere } = reading;
  using gathering = gatheringOf(reading, found.files.length > 1);
  const skipped = [...found.skipped];
  const archives: ReadArchives = new Map();
  for (const { relative, bytes } of leftOut.values()) skipped.push({ path: relative, reason: hasNoRoom(bytes, most) });
  const rules = rulesOf(options);
  const wholeText = (path: string, file: ListedFile) =>
    readText(roots, path, { most: Number.POSITIVE_INFINITY, atOnce: gathering.room() }, rules, isNamed(file));
  const contents = ahead(numbered(found.files), ([n, file]) => {
    if (leftOut.has(n)) return LEFT_OUT;
    const left = size.files < most.files ? most.bytes - size.bytes : -1;
    const room = { most: left, atOnce: gathering.room() };
    const reads = left < 0 ? { ...rules, wayOf: () => null } : rules;
    return documentsOf(reading, readText(roots, file.path, room, reads, isNamed(file)), file);
  });
  for await (const [[n, file], first] of contents) {
    const { relative, path, given: own = null } = file;
    const before = { ...size };
    // A file that is in the context needs no room there.
    const isLikely = "size" in first && (await isThere(path, { length: first.size }));
    const content = isLikely ? await documentsOf(reading, wholeText(path, file), file) : first;
    if ("reason" in content) {
      if (own !== null) throw unreadable(own, content);
      if (isFleeting(content)) reading.seen.isWhole = false;
      if (content !== LEFT_OUT) skipped.push({ path: relative, reason: content.reason });
    } else if ("size" in content) {
      size.files += 1;
      size.bytes += Buffer.byteLength(separatorOf(relative)) + content.size;
    } else {
      skipped.push(...content.skipped);
      noteArchive(archives, file, content);
      if (content.isFleeting) reading.seen.isWhole = false;
      await addDocuments(reading, gathering, content, sizes);
    }
    sizes.documents[n] = size.files - before.files;
    sizes.bytes[n] = size.bytes - before.bytes;
    await pause(FILE_COST_BYTES + size.bytes - before.bytes);
  }
  if (isOver(size, most)) return null;
  skipped.sort((a, b) => compareUnits(a.path, b.path));
  if (gathering.isEmpty() && sizes.unchanged === 0) throw nothingToLoad(given, skipped, found.ignored);
  skipped.push(...(await deletedFiles({ ...reading, archives })));
  return ended(reading, gathering, skipped);
}

/**
 * True for a refusal that another load may not meet: the system, the time or the memory refused.
 */
function isFleeting(refusal: Refusal): boolean {
  const { errno, document } = refusal;
  return (
    refusal === CHANGED ||
    errno !== undefined ||
    document === "too_slow" ||
    document === "too_big" ||
    document === "reader_failed" ||
    document === "own_converter"
  );
}

function* numbered<T>(items: Iterable<T>): Generator<readonly [number, T]> {
  let n = 0;
  for (const item of items) yield [n++, item];
}

const LEFT_OUT: Refusal = { reason: "left out" };

const isNamed = ({ given = null }: ListedFile) => given !== null;

/** Adds the documents that are new or have changed. */
async function addDocuments(
  { size, most, isThere, separator, checkAdded }: Reading,
  gathering: Gathering,
  { files }: LoadDocuments,
  sizes: Pick<FileSizes, "added" | "unchanged">,
): Promise<void> {
  for (const document of files) {
    if (await isThere(document.path, document.bytes)) {
      sizes.unchanged += 1;
      continue;
    }
    const file = named(document, gathering.isEmpty() ? separator : "", size);
    sizes.added.files += 1;
    sizes.added.bytes += document.bytes.length;
    checkAdded?.(sizes.added);
    if (!isOver(size, most)) await gathering.add(file);
  }
}

/** Facts about a load that does not fit. */
interface Misfit {
  /** The size of the context before the load. */
  readonly begun: Readonly<ContextSize>;
  readonly leftOut: LeftOut;
  readonly sizes: FileSizes;
  /** True if all files over 10 MB are to be left out. */
  readonly leavesAll: boolean;
}

/**
 * The files to leave out: those that were, and the largest of the others.
 *
 * @throws RlmError `context_too_large` if the rest has no room, or if there is none
 */
function withLargest(
  { given, size, most }: Reading,
  { files }: FilesFound,
  { begun, leftOut, sizes, leavesAll }: Misfit,
): LeftOut {
  const all = new Map(leftOut);
  let over = size.bytes - most.bytes;
  let documents = size.files - begun.files;
  const large: LargeFile[] = [];
  for (const [n, file] of numbered(files)) {
    const bytes = sizes.bytes[n] ?? 0;
    if (bytes > LIMITS.directoryFileBytes && !isNamed(file)) large.push({ n, relative: file.relative, bytes });
  }
  for (const { n, ...file } of large.sort((a, b) => b.bytes - a.bytes)) {
    if (over <= 0 && !leavesAll) break;
    all.set(n, file);
    over -= file.bytes;
    documents -= sizes.documents[n] ?? 0;
  }
  if (over <= 0 && size.files <= most.files && documents + sizes.unchanged > 0) return all;
  const total = { files: size.files + leftOut.size, bytes: size.bytes };
  for (const [n, { bytes }] of leftOut) {
    total.bytes += bytes;
    sizes.bytes[n] = bytes;
    sizes.documents[n] = 1;
  }
  throw tooLarge(given, total, most, sharesOf(files, sizes));
}

/** The size of each entry of the folder, by its name. */
function sharesOf(files: Iterable<ListedFile>, sizes: FileSizes): ReadonlyMap<string, ContextSize> {
  const shares = new Map<string, ContextSize>();
  for (const [n, { relative }] of numbered(files)) {
    if (sizes.documents[n] === 0) continue;
    const share = relative.replace(/\/.*/s, "/");
    const sum = shares.get(share) ?? { files: 0, bytes: 0 };
    sum.files += sizes.documents[n] ?? 0;
    sum.bytes += sizes.bytes[n] ?? 0;
    shares.set(share, sum);
  }
  return shares;
}

/** The reason for which a file is left out. */
function hasNoRoom(bytes: number, most: Readonly<ContextSize>): string {
  const limit = `${thousands(Math.floor(most.bytes / 2 ** 20))} MB`;
  return `has ${megabytes(bytes)}: the context would have more than ${limit}, and the largest files are left out first`;
}

/** Begins to gather the files of a load. @param isPart true if there is more than one */
export function gatheringOf(reading: Reading, isPart = false): Gathering {
  const { name, base, folder, previous, size, pause, options, ownsBytes } = reading;
  const source = folder === null ? { name, base, folder } : { name, base };
  const onLarge = (texts: string) => options.onProgress?.({ ...size, texts, isPart });
  return gather(previous, { ...source, texts: options.texts, expected: options.expected, onLarge, pause, ownsBytes });
}

/** The context of what was gathered; the one before it if that changes nothing. */
export async function ended(
  { name, base, previous }: Reading,
  gathering: Gathering,
  skipped: readonly SkippedFile[],
): Promise<Context> {
  if (previous && gathering.isEmpty() && !changesSkips(previous, { name, base, skipped })) return previous;
  return gathering.end(skipped);
}

/** The documents of a file of a load. */
export function documentsOf(reading: Reading, content: LoadContent, file: NamedFile) {
  reading.seen.hasDocuments ||= "way" in content;
  return documentsToLoad(content, file, reading.options, reading.size, reading.pause);
}
