import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../../platform/make-folder.ts";
import { isAlive } from "../../platform/processes.ts";

// Derived data in a folder of the user's own, such as that of the search indexes. What is missing
// there is made again.

/** The files of one kind in the folder. */
interface KeptKind {
  readonly names: RegExp;
  /** Nothing is removed from so few files. */
  readonly few: number;
  /**
   * Asked from the youngest file on: once it is false, that file and all older ones are removed.
   */
  stays(bytes: number): boolean;
}

/**
 * Writes a file that is found whole or not at all, and removes the oldest of its kind. It may fail:
 * then nothing is kept.
 */
export async function keepFile(
  dir: string,
  name: string,
  content: string | readonly Uint8Array[],
  kind: KeptKind,
): Promise<void> {
  const temporary = join(dir, `${name}.${process.pid}`);
  try {
    makeFolder(dir);
    await writeFile(temporary, content, { mode: 0o600 });
    renameSync(temporary, join(dir, name));
    dropOldest(dir, kind);
  } catch {
    // `belay doctor` tells if the folder cannot be written.
    if (existsSync(temporary)) rmSync(temporary);
  }
}

function dropOldest(dir: string, { names, few, stays }: KeptKind): void {
  const all = readdirSync(dir);
  for (const name of all) if (isLeft(name, names)) rmSync(join(dir, name), { force: true });
  const ofKind = all.filter((name) => names.test(name));
  if (ofKind.length <= few) return;
  const aged = ofKind.flatMap((name) => {
    const stats = statSync(join(dir, name), { throwIfNoEntry: false });
    return stats ? [{ path: join(dir, name), at: stats.mtimeMs, size: stats.size }] : [];
  });
  const first = aged.sort((a, b) => b.at - a.at).findIndex(({ size }) => !stays(size));
  for (const { path } of first < 0 ? [] : aged.slice(first)) rmSync(path, { force: true });
}

/** True for a file that a process had not written whole when it was killed. */
function isLeft(name: string, names: RegExp): boolean {
  const [, of = "", pid] = /^(.+)\.(\d+)$/.exec(name) ?? [];
  return pid !== undefined && names.test(of) && !isAlive(Number(pid));
}
