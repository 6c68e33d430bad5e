import type { Document } from "../document.ts";
import type { Pause } from "../pauses.ts";
import type { SkippedFile } from "../skipped.ts";
import type { Text } from "../text/text.ts";
import { isRouteFile, parseRoutes, type RouteEntry } from "./entries.ts";

/**
 * An AGENTS.md is read for routes as far as this, UTF-16 units: a longer one would hold up the
 * thread.
 */
const MAX_UNITS = 1024 * 1024;
/** Routes of one context: each takes some 200 bytes here and in the store. */
const MAX_ROUTES = 100_000;

/** The routes that documents add to those of a context, and what of them is left out. */
export async function newRoutes(
  documents: readonly Document[],
  text: Text,
  before: readonly RouteEntry[],
  pause: Pause,
): Promise<{ readonly routes: readonly RouteEntry[]; readonly skipped: readonly SkippedFile[] }> {
  const routes = [...before];
  const skipped: SkippedFile[] = [];
  for (const { id, start, end } of documents) {
    if (!isRouteFile(id)) continue;
    const entries = parseRoutes(id, text.slice(start, Math.min(end, start + MAX_UNITS)));
    const room = MAX_ROUTES - routes.length;
    for (const route of entries.slice(0, room)) routes.push(route);
    if (entries.length > room)
      skipped.push({
        path: id,
        reason: `its routes beyond ${MAX_ROUTES.toLocaleString("en-US")} of the context are left out`,
      });
    else if (end - start > MAX_UNITS)
      skipped.push({ path: id, reason: "its routes beyond the first 1 MB are left out" });
    await pause(end - start);
  }
  return { routes, skipped };
}
