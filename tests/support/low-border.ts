import { SMALL } from "../../src/context/load/size.ts";

// A context is large from 10,001 files on, or above 100 MB. Tests of large contexts lower that in their own process, and
// keep real files few and small.

/** The most files of a small context while the border is low. */
export const FEW_FILES = 1000;

/** Lowers the most that a small context has. Returns what raises it again. */
export function lowerBorder(files = FEW_FILES, bytes = SMALL.bytes): () => void {
  const before = { ...SMALL };
  Object.assign(SMALL, { files, bytes });
  return () => void Object.assign(SMALL, before);
}
