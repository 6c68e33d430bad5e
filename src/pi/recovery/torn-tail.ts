import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";

const NEWLINE = 0x0a;

/**
 * Ends a session file that breaks off in the middle of a line, as a process leaves it that died while it wrote: Pi 0.73
 * would join the next entry to the rest, and lose all that came before.
 */
export function endTornLine(path: string | undefined): void {
  if (path === undefined) return;
  let file: number;
  try {
    file = openSync(path, "r+");
  } catch {
    // Not written yet, or not ours to write.
    return;
  }
  try {
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    if (size === 0 || readSync(file, last, 0, 1, size - 1) !== 1 || last[0] === NEWLINE) return;
    writeSync(file, "\n", size);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
