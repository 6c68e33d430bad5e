import { basename, join, relative, resolve } from "node:path";
import { type Context, type Document, isWithin } from "../../context/index.ts";
import type { LoadInput } from "./contexts.ts";

/**
 * Returns a context of an earlier build with the names of the session's own loads. Such a build kept contexts by the hash of P, so
 * that the row has the names of whoever loaded the text first. A document gets no path if the loads do not tell it.
 */
export function withOwnNames(context: Context, loads: readonly LoadInput[]): Context {
  const { sources } = context.stats;
  const own = ownSources(loads);
  if (own === null || isAmong(sources, own)) return context;
  const starts = partStarts(context);
  const documents = context.documents.map((document) => {
    const part = starts.findLastIndex((start) => start <= document.start);
    const [from, load] = [sources[part], own.length === sources.length ? loads[part] : undefined];
    return { ...document, ...(from === undefined || !load ? { path: NO_PATH } : placeBy(load, document, from)) };
  });
  return { ...context, documents, stats: { ...context.stats, sources: own } };
}

/** The words that statistics show for each load; null for a part of another context, which has no names of its own. */
export function ownSources(loads: readonly LoadInput[]): string[] | null {
  const names = loads.flatMap((load) => ("kind" in load ? [] : ["name" in load ? load.name : load.path]));
  return names.length === loads.length ? names : null;
}

const NO_PATH = "-";

/** True if the sources are those of these loads in their order. An append that found nothing new has added no source. */
function isAmong(sources: readonly string[], own: readonly string[]): boolean {
  let at = 0;
  for (const name of own) if (name === sources[at]) at += 1;
  return at === sources.length;
}

/** The place at which each part begins in P, UTF-16 units. */
function partStarts({ parts, text }: Context): number[] {
  let bytes = 0;
  return parts.map((part) => {
    const start = text.unitAt(bytes);
    bytes += part.bytes;
    return start;
  });
}

function placeBy(load: LoadInput, { id, path }: Document, from: string): Partial<Document> {
  if ("paths" in load) return { path: resolve(load.folder, id) };
  if (!("path" in load)) return { id: "name" in load ? load.name : id, path: NO_PATH };
  const isFile = path === from || path === NO_PATH;
  if (isFile) return { id: basename(load.path), path: load.path };
  return { path: join(load.path, isWithin(from, path) ? relative(from, path) : id) };
}
