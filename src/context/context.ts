import { createHash, hash as digest } from "node:crypto";
import { basename } from "node:path";
import { type ConvertedStats, convertedIn, withPlacesWithin } from "../documents/conversions.ts";
import type { Converted } from "../documents/growing.ts";
import type { Document, Documents } from "./document.ts";
import { inSlices, type Pause } from "./pauses.ts";
import { isRouteFile, type RouteEntry } from "./routes/entries.ts";
import { newRoutes } from "./routes/new-routes.ts";
import {
  allSkipped,
  type SkippedFile,
  type SkippedStats,
  type SourceSkips,
  skippedStats,
  withSkipsOf,
} from "./skipped.ts";
import { type MemoryText, type Text, textFromParts } from "./text/text.ts";

export type { Document, Documents } from "./document.ts";

/** Facts about a context, by their wire names (spec §3.1). */
export interface ContextStats {
  /** UTF-16 units of P. */
  length_chars: number;
  /** `floor(length_chars / 4)`. */
  length_tokens_estimate: number;
  /** Lines of P; a newline at the very end begins no further line, and an empty P has none. */
  line_count: number;
  document_count: number;
  /**
   * Present if P has over 100 MB or 10,000 documents. It lies in files then, and is not a string in
   * cells.
   */
  large?: true;
  has_routing: boolean;
  routing_entry_count: number;
  /** One per load or append: absolute paths, and names of texts. */
  sources: string[];
  context_hash: string;
  /** Files of its sources that are not in P. */
  skipped: SkippedStats;
  /**
   * Documents whose file was appended again with another text, which follows them; absent if there
   * are none.
   */
  replaced?: number;
  /** Absent if all documents are text as they were. */
  converted?: ConvertedStats;
}

/** The text that one load or append added to P. P is the concatenation of its parts. */
export interface ContextPart {
  /** SHA-256 of the part's UTF-8, hex. */
  readonly hash: string;
  /** Bytes of UTF-8. */
  readonly bytes: number;
}

/**
 * The loaded text P with its index. Immutable: an append makes a new one. All but `text` can be
 * structured-cloned.
 */
export interface Context {
  /** SHA-256 of P's UTF-8, hex. */
  readonly hash: string;
  /**
   * Identifies P together with its sources, ids, paths and routes: the same text of another folder
   * has another key.
   */
  readonly key: string;
  readonly text: Text;
  readonly parts: readonly ContextPart[];
  /** By `start`; they do not overlap, and separators lie between them. */
  readonly documents: Documents;
  readonly routes: readonly RouteEntry[];
  /** The files that each source lacks, of the sources that lack any. */
  readonly skips: readonly SourceSkips[];
  readonly stats: ContextStats;
}

/** A context whose text is in memory. */
export interface SmallContext extends Context {
  readonly text: Text<MemoryText>;
  readonly documents: readonly Document[];
}

/** True if the text of a context is in memory. */
export const isSmall = (context: Context): context is SmallContext => context.text.large === undefined;

/**
 * A file that was read: its bytes (valid UTF-8), the separator that stands before it in P, and what
 * a conversion told of it.
 */
export interface LoadedFile extends Partial<Converted> {
  readonly relative: string;
  readonly path: string;
  readonly separator: Uint8Array;
  readonly bytes: Uint8Array;
}

/** A file for a context, whose bytes may be read when it is put there. */
export interface ContextFile extends Omit<LoadedFile, "bytes"> {
  readonly bytes: Uint8Array | PiecedBytes;
}

/** Valid UTF-8 that is not in memory. */
export interface PiecedBytes {
  readonly length: number;
  /** All of them, in order. A piece stays as it is until the next one is asked for. */
  pieces(): Iterable<Uint8Array>;
}

/** The text and files of one source. */
export interface LoadedSource {
  /** The words that `stats.sources` shows. */
  readonly name: string;
  /**
   * null: nothing stands before the name of a document whose name is taken; else the last part of
   * `name` does.
   */
  readonly folder?: null;
  readonly files: readonly LoadedFile[];
  readonly skipped: readonly SkippedFile[];
  /**
   * The absolute folder that paths of skipped files are relative to; absent: `name` is that folder.
   */
  readonly base?: string;
}

const NEWLINE = 0x0a;

/** The context that follows `previous` (none: the first load). */
export async function extendContext(
  previous: SmallContext | undefined,
  source: LoadedSource,
  pause: Pause,
): Promise<SmallContext> {
  const before = previous === undefined ? [] : [previous.text.data.bytes];
  const added = source.files.flatMap((file) => [file.separator, file.bytes]);
  const text = await textFromParts([...before, ...added], pause);
  const { bytes } = text.data;
  const firstByte = previous?.text.data.bytes.length ?? 0;
  const { hash, newlines } = await scan(bytes, pause);
  const part = previous === undefined ? { hash } : await scan(bytes.subarray(firstByte), pause);
  const newDocuments = documentsOf(source, previous, text, firstByte);
  const documents = [...markReplaced(previous?.documents ?? [], newDocuments), ...newDocuments];
  const replaced = documents.filter(({ replaced_by }) => replaced_by !== undefined).length;
  const converted = convertedIn(documents);
  const { routes, skipped: cut } = await newRoutes(newDocuments, text, previous?.routes ?? [], pause);
  const loaded = new Set(source.files.map(({ path }) => path));
  const skipped = [...source.skipped, ...cut];
  const skips = skipsAfter(previous, { ...source, skipped, hasLoaded: (path) => loaded.has(path) });
  const stats = statsOf(previous, source.name, {
    hash,
    length: text.length,
    lines: newlines + (bytes.length > 0 && bytes.at(-1) !== NEWLINE ? 1 : 0),
    documents: documents.length,
    isLarge: false,
    hasRouting: documents.some(({ id }) => isRouteFile(id)),
    routes: routes.length,
    skips,
    replaced,
    converted,
  });
  const index = { documents, routes, skips, stats };
  const parts = [...(previous?.parts ?? []), { hash: part.hash, bytes: bytes.length - firstByte }];
  return { hash, key: keyOf(hash, index), text, parts, ...index };
}

/** Figures of a context. */
interface ContextFigures {
  /** SHA-256 of P, hex. */
  readonly hash: string;
  /** UTF-16 units. */
  readonly length: number;
  readonly lines: number;
  readonly documents: number;
  readonly isLarge: boolean;
  /** True if a document has routes, or could have. */
  readonly hasRouting: boolean;
  readonly routes: number;
  readonly skips: readonly SourceSkips[];
  /** Documents that a later one replaces. */
  readonly replaced: number;
  readonly converted: ConvertedStats | undefined;
}

/** The statistics of a context that follows `previous`. */
export function statsOf(previous: Context | undefined, source: string, figures: ContextFigures): ContextStats {
  const { hash, length, lines, documents, isLarge, hasRouting, routes, skips, replaced, converted } = figures;
  return {
    length_chars: length,
    length_tokens_estimate: Math.floor(length / 4),
    line_count: lines,
    document_count: documents,
    ...(isLarge ? { large: true } : {}),
    has_routing: hasRouting,
    routing_entry_count: routes,
    sources: [...(previous?.stats.sources ?? []), source],
    context_hash: hash,
    skipped: allSkipped(skips),
    ...(replaced > 0 ? { replaced } : {}),
    ...(converted ? { converted } : {}),
  };
}

/** A source and what it lacks. */
interface SkippingSource extends Pick<LoadedSource, "name" | "base" | "skipped"> {
  /** Tells whether the file with this absolute path is in P now. */
  hasLoaded(path: string): boolean;
}

/** The files that each source of a context lacks, once this one is behind `previous`. */
export function skipsAfter(
  previous: Context | undefined,
  { name, base = name, skipped, hasLoaded }: SkippingSource,
): readonly SourceSkips[] {
  return withSkipsOf(previous?.skips ?? [], { source: name, base, stats: skippedStats(skipped) }, hasLoaded);
}

/** True if a source whose files are all there already skips other files than before. */
export function changesSkips(previous: Context, source: Omit<SkippingSource, "hasLoaded">): boolean {
  const after = skipsAfter(previous, { ...source, hasLoaded: () => false });
  return JSON.stringify(allSkipped(after)) !== JSON.stringify(previous.stats.skipped);
}

/** The path of a document whose text came from stdin or a caller. */
export const NO_PATH = "-";

/** The documents of a context, marked if one of the new ones is a newer text of the same file. */
function markReplaced(before: readonly Document[], added: readonly Document[]): readonly Document[] {
  const newest = new Map(added.map(({ path, id }) => [path, id]));
  newest.delete(NO_PATH);
  return before.map((document) => {
    const replaced_by = newest.get(document.path);
    return replaced_by === undefined ? document : { ...document, replaced_by };
  });
}

/**
 * SHA-256 of P's hash and of the hash of its index, hex. The hash of a large context's table stands
 * for its documents.
 */
export function keyOf(
  hash: string,
  index: Pick<Context, "routes" | "skips" | "stats"> & { readonly documents: readonly Document[] | string },
): string {
  return digest("sha256", JSON.stringify([hash, digest("sha256", JSON.stringify(index))]));
}

function documentsOf(
  source: LoadedSource,
  previous: SmallContext | undefined,
  text: Text,
  firstByte: number,
): Document[] {
  const taken = new Set(previous?.documents.map(({ id }) => id));
  const folder = source.folder === null ? null : basename(source.name);
  let at = firstByte;
  return withPlacesWithin(source.files, previous?.documents ?? []).map(
    ({ relative, path, separator, bytes, ...converted }) => {
      const start = text.unitAt(at + separator.length);
      at += separator.length + bytes.length;
      const end = text.unitAt(at);
      const id = freeId(relative, folder, taken);
      taken.add(id);
      return { id, path, start, end, size: end - start, ...converted };
    },
  );
}

/** The id of a new document, of those that are not taken. */
export function freeId(relative: string, folder: string | null, taken: Pick<ReadonlySet<string>, "has">): string {
  const qualified = folder === null ? relative : `${folder}/${relative}`;
  if (!taken.has(relative)) return relative;
  if (!taken.has(qualified)) return qualified;
  for (let number = 2; ; number++) {
    const id = `${qualified}~${number}`;
    if (!taken.has(id)) return id;
  }
}

/** SHA-256, hex, and the number of newlines, in one pass. */
async function scan(bytes: Uint8Array, pause: Pause): Promise<{ hash: string; newlines: number }> {
  const hash = createHash("sha256");
  let newlines = 0;
  for await (const slice of inSlices(bytes, pause)) {
    hash.update(slice);
    for (let at = 0; at < slice.length; at++) newlines += slice[at] === NEWLINE ? 1 : 0;
  }
  return { hash: hash.digest("hex"), newlines };
}
