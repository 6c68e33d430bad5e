import { createHash } from "node:crypto";
import { existsSync, lstatSync } from "node:fs";
import { LIMITS } from "../../../runtime/index.ts";
import type { DocumentOptions } from "../../documents/kinds.ts";
import type { Pause } from "../pauses.ts";
import type { ContextSize } from "./size.ts";
import type { Walk, WalkedFile, WalkedFiles } from "./walk.ts";

/** Raise it if the same files give another context than before. */
const RULES = 6;
/** The coarsest clock of a file system in use (FAT), ms. */
const TICK_MS = 2000;
/** Asking for a file's facts takes about as long as reading this much. */
const STAT_COST_BYTES = 16 * 1024;

/** The load that a fingerprint is of. */
interface Loading {
  readonly name: string;
  readonly previous: string | null;
  /** ms since the epoch, before any of the files was read. */
  readonly now: number;
  readonly documents: DocumentOptions;
  /** With less room a folder may leave files out. */
  readonly most: Readonly<ContextSize>;
}

/**
 * Facts of a source that are known without reading it. `key`: the sources that are loaded, and the
 * context below them. `print`: names, and of each file what changes with its content, which are
 * device, inode, size and times of change. `isOld`: another change would show. A file that was
 * changed just now may be changed again within the same tick of the file system's clock, as git
 * says of its index.
 */
export async function fingerprintOf(
  { name, previous, now, documents, most }: Loading,
  { files, skipped, ignored }: Walk,
  pause: Pause,
) {
  const print = createHash("sha256").update(JSON.stringify([skipped, ignored]));
  const newest = BigInt(Math.floor(now - TICK_MS)) * 1_000_000n;
  let isOld = true;
  for (const { relative, path, rules } of withLog(files)) {
    const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (!stats) return { key: "", print: "", isOld: false };
    const { dev, ino, size, mtimeNs, ctimeNs } = stats;
    if (mtimeNs >= newest || ctimeNs >= newest) isOld = false;
    print.update(
      JSON.stringify([relative, path, rules?.id ?? null, ...[dev, ino, size, mtimeNs, ctimeNs].map(String)]),
    );
    await pause(STAT_COST_BYTES);
  }
  const rules = [RULES, most.files, most.bytes, LIMITS.directoryFileBytes, process.getuid?.() ?? null];
  const { raw = false, secrets = false, convert = {}, encoding = null, lossy = false } = documents;
  const how = [raw, secrets, convert, encoding, lossy];
  const key = createHash("sha256").update(JSON.stringify([...rules, name, previous, ...how]));
  return { key: key.digest("hex"), print: print.digest("hex"), isOld };
}

/**
 * The files, and the log of one that is loaded alone: a database may have changed in its log. In a
 * folder the log is a file as well.
 */
function* withLog(files: WalkedFiles): Generator<WalkedFile> {
  for (const file of files) {
    yield file;
    const log = `${file.path}-wal`;
    if (files.length === 1 && existsSync(log)) yield { relative: "", path: log };
  }
}
