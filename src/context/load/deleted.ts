import { dirname, relative } from "node:path";
import { ARCHIVE_CUT } from "../../documents/growing.ts";
import type { NamedFile } from "../../documents/read.ts";
import { isWithin, statsOf } from "../../platform/paths.ts";
import { type Context, NO_PATH } from "../context.ts";
import type { Pause } from "../pauses.ts";
import { DELETED, type SkippedFile } from "../skipped.ts";
import type { LoadDocuments } from "./file-content.ts";

/** Tells by the paths of archives that a load has read whether a path below one is still a member, or left out. */
export type ReadArchives = Map<string, (path: string) => boolean>;

/** A load behind a context. */
interface Append {
  readonly previous: Context | undefined;
  /** The folder that paths are relative to. */
  readonly base: string;
  /** The folder or archive that is read, if it is not that folder. */
  readonly top?: string;
  readonly archives: ReadArchives;
  readonly pause: Pause;
}

/** Asking for a file's facts takes about as long as reading this much. */
const STAT_COST_BYTES = 16 * 1024;

/** The files and members of archives that a load does not find any more, and whose texts stay in the context. */
export async function deletedFiles({
  previous,
  base,
  top = base,
  archives,
  pause,
}: Append): Promise<readonly SkippedFile[]> {
  const deleted: SkippedFile[] = [];
  for (const { path, replaced_by } of previous?.documents ?? []) {
    if (replaced_by !== undefined || path === NO_PATH || !isWithin(top, path)) continue;
    const isMissing = archives.get(standing(path))?.(path) === false;
    if (isMissing || isGone(path)) deleted.push({ path: relative(base, path), reason: DELETED });
    await pause(STAT_COST_BYTES);
  }
  return deleted;
}

/** Notes what a file has, if it is an archive. */
export function noteArchive(archives: ReadArchives, { path, relative, rules }: NamedFile, found: LoadDocuments): void {
  if (!found.isFolder || found.skipped.some(({ reason }) => reason === ARCHIVE_CUT)) return;
  const leftOut = found.skipped.map((file) => path + file.path.slice(relative.length));
  const all = new Set([...found.files.map((file) => file.path), ...leftOut]);
  archives.set(path, (member) => all.has(member) || rules?.excludes(member.slice(path.length + 1)) === true);
}

/** True for the path of a file that is gone. A member of an archive is below a file. */
export function isGone(path: string): boolean {
  const place = standing(path);
  return place !== path && statsOf(place)?.isDirectory() === true;
}

/** The path itself, or the nearest above it at which something stands. */
function standing(path: string): string {
  let place = path;
  while (!statsOf(place) && dirname(place) !== place) place = dirname(place);
  return place;
}
