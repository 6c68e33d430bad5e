import { SMALL } from "../../src/context/load/size.ts";

// A context is large from 10,001 files on. Tests of large contexts lower that in their own process, and keep real files few.

/** The most files of a small context while the border is low. */
export const FEW_FILES = 1000;

/** Lowers the number of files from which on contexts are large. Returns what raises it again. */
export function lowerBorder(files = FEW_FILES): () => void {
  const before = { ...SMALL };
  Object.assign(SMALL, { files });
  return () => void Object.assign(SMALL, before);
}
