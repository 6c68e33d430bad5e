import { createHash } from "node:crypto";
import { lstatSync } from "node:fs";
import { LIMITS } from "../../../runtime/index.ts";
import type { Pause } from "../context.ts";
import type { Walk } from "./walk.ts";

/** Facts of a source that are known without reading it. */
export interface Fingerprint {
  /** The sources that are loaded, and the context below them. */
  readonly key: string;
  /** Names, and of each file what changes with its content: device, inode, size, times of change. */
  readonly print: string;
  /**
   * True if another change would show. A file that was changed just now may be changed again within the same tick of the
   * file system's clock, as git says of its index.
   */
  readonly isOld: boolean;
}

/** Raise it if the same files give another context than before. */
const RULES = 1;
/** The coarsest clock of a file system in use (FAT), ms. */
const TICK_MS = 2000;
/** Asking for a file's facts takes about as long as reading this much. */
const STAT_COST_BYTES = 16 * 1024;

/** @param now ms since the epoch, before any of the files was read */
export async function fingerprintOf(
  { name, previous, now }: { readonly name: string; readonly previous: string | null; readonly now: number },
  { files, skipped, ignored }: Walk,
  pause: Pause,
): Promise<Fingerprint> {
  const print = createHash("sha256").update(JSON.stringify([skipped, ignored]));
  const newest = BigInt(Math.floor(now - TICK_MS)) * 1_000_000n;
  let isOld = true;
  for (const { relative, path } of files) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (!stats) return { key: "", print: "", isOld: false };
    const { dev, ino, size, mtimeNs, ctimeNs } = stats;
    if (mtimeNs >= newest || ctimeNs >= newest) isOld = false;
    print.update(JSON.stringify([relative, path, ...[dev, ino, size, mtimeNs, ctimeNs].map(String)]));
    await pause(STAT_COST_BYTES);
  }
  const { files: most, contextBytes, directoryFileBytes } = LIMITS;
  const rules = [RULES, most, contextBytes, directoryFileBytes, process.getuid?.() ?? null];
  const key = createHash("sha256").update(JSON.stringify([...rules, name, previous]));
  return { key: key.digest("hex"), print: print.digest("hex"), isOld };
}
