import { lstatSync, rmSync } from "node:fs";
import { join } from "node:path";
import { indexFolder } from "../../platform/home.ts";
import { type DroppedTexts, dropLargeContexts } from "../sql/drop-texts.ts";
import type { Plan } from "../sql/sql.ts";
import { namesIn, strayTexts } from "../sql/texts.ts";
import { openFileLocks } from "./leases.ts";
import type { OpenTexts } from "./texts.ts";

/** A sweep of the texts that no context needs. While it lasts no load makes any. */
export interface TextSweep extends Disposable {
  /** True if nothing can be removed, because a load is under way. */
  readonly isInUse: boolean;
  /**
   * Drops contexts that nothing needs, and removes their search indexes, within a transaction.
   * Returns the number of contexts.
   */
  drop(): Plan<number>;
  /** Removes the files of what was dropped, once the transaction has ended, and files that a killed load has left. */
  removeFiles(): SweptTexts;
}

/** Files that were removed, or would be. */
interface SweptTexts {
  readonly files: number;
  /** Bytes that they took. */
  readonly bytes: number;
}

const NOTHING_SWEPT: SweptTexts = { files: 0, bytes: 0 };

/** Begins a sweep. @param hasRows the store has had large contexts @param isDry only says what would go */
export function beginSweep({ port: { folder }, lock }: OpenTexts, hasRows: boolean, isDry: boolean): TextSweep {
  const isNeeded = hasRows || namesIn(folder).length > 0;
  const alone = isNeeded ? lock.alone() : null;
  let dropped: DroppedTexts | null = null;
  let indexes = NOTHING_SWEPT;
  return {
    isInUse: isNeeded && alone === null,
    *drop() {
      if (!alone) return 0;
      dropped = yield* dropLargeContexts();
      // If the process ends before the rows are gone, they are made again.
      indexes = sweepIndexes(dropped.hashes, isDry);
      return dropped.contexts;
    },
    removeFiles: () =>
      dropped ? sumOf([indexes, removeAll(folder, strayTexts(folder, dropped.kept), isDry)]) : NOTHING_SWEPT,
    [Symbol.dispose]: () => alone?.[Symbol.dispose](),
  };
}

/** Removes the search indexes of texts with these hashes. They are made again if they are needed. */
function sweepIndexes(hashes: readonly string[], isDry: boolean): SweptTexts {
  const folder = indexFolder(process.env);
  if (folder === undefined || hashes.length === 0) return NOTHING_SWEPT;
  const those = namesIn(folder).filter((name) => hashes.some((hash) => name.startsWith(hash)));
  return removeAll(folder, those, isDry);
}

/** The folder of the texts of a store in memory, and the file of its lock. */
const OWN_TEXTS = /^(texts\.[0-9a-f-]{36})(?:\.db)?$/;

/** Removes the texts of stores in memory whose processes were killed: nobody has their lock. */
export function sweepLeftTexts(isDry: boolean): SweptTexts {
  const folder = indexFolder(process.env);
  if (folder === undefined) return NOTHING_SWEPT;
  using locks = openFileLocks();
  const left = new Set(namesIn(folder).flatMap((name) => OWN_TEXTS.exec(name)?.[1] ?? []));
  return [...left].reduce((swept, name) => {
    const lock = locks.take(join(folder, `${name}.db`), 0);
    if (lock === null) return swept;
    const within = join(folder, name);
    const some = removeAll(within, namesIn(within), isDry);
    if (!isDry) rmSync(within, { recursive: true, force: true });
    lock.remove();
    return sumOf([swept, some]);
  }, NOTHING_SWEPT);
}

export function sumOf(swept: readonly SweptTexts[]): SweptTexts {
  return {
    files: swept.reduce((sum, { files }) => sum + files, 0),
    bytes: swept.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

function removeAll(folder: string, names: readonly string[], isDry: boolean): SweptTexts {
  let bytes = 0;
  for (const name of names) {
    const path = join(folder, name);
    bytes += lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (!isDry) rmSync(path, { force: true });
  }
  return { files: names.length, bytes };
}
