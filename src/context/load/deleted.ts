import { dirname, relative } from "node:path";
import { isWithin, statsOf } from "../../platform/paths.ts";
import { type Context, NO_PATH } from "../context.ts";
import type { Pause } from "../pauses.ts";
import { DELETED, type SkippedFile } from "../skipped.ts";

/** A load behind a context. */
interface Append {
  readonly previous: Context | undefined;
  /** The folder that is read. */
  readonly base: string;
  readonly pause: Pause;
}

/** Asking for a file's facts takes about as long as reading this much. */
const STAT_COST_BYTES = 16 * 1024;

/** The files of the folder of a load that are deleted, and whose texts stay in the context. */
export async function deletedFiles({ previous, base, pause }: Append): Promise<readonly SkippedFile[]> {
  const deleted: SkippedFile[] = [];
  for (const { path, replaced_by } of previous?.documents ?? []) {
    if (replaced_by !== undefined || path === NO_PATH || !isWithin(base, path)) continue;
    if (isGone(path)) deleted.push({ path: relative(base, path), reason: DELETED });
    await pause(STAT_COST_BYTES);
  }
  return deleted;
}

/** True for the path of a file that is gone. A member of an archive is below a file. */
export function isGone(path: string): boolean {
  let place = path;
  while (!statsOf(place) && dirname(place) !== place) place = dirname(place);
  return place !== path && statsOf(place)?.isDirectory() === true;
}
