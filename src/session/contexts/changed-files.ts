import { dirname } from "node:path";
import { RlmError } from "../../../runtime/index.ts";
import { type Context, load } from "../../context/index.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { isWithin } from "../../platform/real-path.ts";
import { statsOf } from "../../platform/stats.ts";
import type { Loading } from "../exec/request.ts";
import type { Start } from "../journal/records.ts";
import { readLoadInput, sourceIn, waysIn } from "./contexts.ts";
import type { Granted } from "./granted.ts";

/**
 * Paths of files that differ from what is loaded: changed ones, new ones in a folder, and ones that are gone. If no file looks
 * differently from before, none is read. A source that may no longer be read is skipped.
 */
export async function changedFiles(
  context: Context,
  loads: readonly Start[],
  granted: Granted,
  loading: Loading,
): Promise<readonly string[]> {
  const found = new Set<string>();
  const allowed: string[] = [];
  const known = loading.known && {
    ...loading.known,
    open: async (key: string) => (key === context.key ? context : null),
  };
  const sources = new Map(loads.map(({ input }) => [JSON.stringify(input), readLoadInput(input)]));
  for (const source of sources.values()) {
    if (!("roots" in source)) continue;
    const documents = { ...loading.documents, ...waysIn(source) };
    const roots = granted.among(source.roots);
    allowed.push(...roots);
    const options = { ...loading, roots, documents, onProgress() {}, ...withoutUndefined({ known }) };
    // An append takes what is new or has changed.
    const after = await load(sourceIn(source), options, context).catch((error: unknown) => {
      if (error instanceof RlmError && error.code !== "cancelled") return context;
      throw error;
    });
    for (const { path } of after.documents.slice(context.documents.length)) found.add(path);
  }
  for (const { path, replaced_by } of context.documents) {
    const isAllowed = allowed.some((root) => isWithin(root, path));
    if (isAllowed && replaced_by === undefined && isGone(path)) found.add(path);
  }
  return [...found];
}

/** True for the path of a file that is gone. A member of an archive is below a file. */
function isGone(path: string): boolean {
  let place = path;
  while (!statsOf(place) && dirname(place) !== place) place = dirname(place);
  return place !== path && statsOf(place)?.isDirectory() === true;
}
