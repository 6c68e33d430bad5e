import { relative, resolve } from "node:path";
import { isWithin } from "../../platform/paths.ts";
import type { Document } from "../context.ts";
import type { Pause } from "../pauses.ts";
import { type Glob, globIn, matching, type PathsSource } from "./paths.ts";
import { canonical } from "./roots.ts";

/** Documents of P that paths name. */
interface NamedDocuments {
  readonly count: number;
  /** The first of them, in the order of the paths. */
  readonly first: readonly Document[];
}

/** Bounds of a search for documents. */
interface NamedOptions {
  /** Documents that are named at most. The others are counted. */
  readonly most: number;
  readonly pause: Pause;
}

/** Documents that are looked at together. */
const BATCH = 4096;
/** To read a document out of a table takes about as long as reading this much. */
const DOCUMENT_COST_BYTES = 256;

/** A path, and what it names. */
interface NamedPath {
  /** Absolute. */
  readonly at: string;
  /** Null if the path is that of a file or folder. */
  readonly glob: Glob | null;
  /** The first documents that no path before it names. */
  readonly first: Document[];
}

/**
 * The newest document of each file that the paths name, among those of P. One batch
 * of them is held at once, and they may be gone through twice.
 */
export async function documentsNamed(
  documents: Iterable<Document>,
  { paths, folder }: Pick<PathsSource, "paths" | "folder">,
  { most, pause }: NamedOptions,
): Promise<NamedDocuments> {
  const given = paths.map((path) => canonical(resolve(folder, path)));
  const names = await filesAmong(
    documents,
    given.filter((at) => globIn(at) !== null),
    pause,
  );
  const named = given.map((at): NamedPath => ({ at, glob: names.has(at) ? null : globIn(at), first: [] }));
  let count = 0;
  for (const batch of batchesOf(documents)) {
    let left: readonly Document[] = batch;
    for (const path of named) {
      const found = new Set(left.filter(({ path: own }) => isWithin(path.glob?.base ?? path.at, own)));
      const matched = path.glob ? new Set(inGlob(path.glob, [...found])) : found;
      count += matched.size;
      path.first.push(...[...matched].slice(0, most - path.first.length));
      left = left.filter((document) => !matched.has(document));
    }
    await pause(batch.length * DOCUMENT_COST_BYTES);
  }
  return { count, first: named.flatMap(({ first }) => first).slice(0, most) };
}

const inGlob = (glob: Glob, documents: readonly Document[]) =>
  matching(glob, documents, ({ path }) => relative(glob.base, path));

/** Those of the paths that are the names of files or folders, though they look like globs. */
async function filesAmong(
  documents: Iterable<Document>,
  globs: readonly string[],
  pause: Pause,
): Promise<ReadonlySet<string>> {
  const files = new Set<string>();
  if (globs.length === 0) return files;
  for (const batch of batchesOf(documents)) {
    for (const at of globs) if (batch.some(({ path }) => isWithin(at, path))) files.add(at);
    await pause(batch.length * DOCUMENT_COST_BYTES);
  }
  return files;
}

/** The documents that no later one replaces. */
function* batchesOf(documents: Iterable<Document>): Generator<readonly Document[]> {
  let batch: Document[] = [];
  for (const document of documents) {
    if (document.replaced_by !== undefined) continue;
    batch.push(document);
    if (batch.length < BATCH) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
