import { type FindPattern, searchError } from "./find-pattern.ts";
import { scan, type Windows } from "./find-scan.ts";
import type { Text } from "./text.ts";

export { compileFind, type FindPattern } from "./find-pattern.ts";

export interface FindResult {
  /** UTF-16 offsets, ascending, never overlapping; `end` is exclusive. */
  matches: [start: number, end: number][];
  /** There is at least one more match than `limit`. */
  capped: boolean;
}

/**
 * 256 KB: a window full of one-byte matches makes 262,144 objects (about 0.5 s and 60 MB for a moment), and larger
 * windows are not faster. 16 KB: `.` with the default limit of 10,000 is answered from the first one.
 */
const WINDOWS: Windows = { smallest: 16 * 1024, largest: 256 * 1024, effort: 256 * 1024 * 1024 };

/** The first `limit` matches: those of one pass of Rust's regex crate over the whole text. */
export function find(text: Text, pattern: FindPattern, limit: number): FindResult {
  return findIn(text, pattern, limit, WINDOWS);
}

/** `find` with other window sizes; the result does not depend on them. */
export function findIn(text: Text, pattern: FindPattern, limit: number, windows: Windows): FindResult {
  const matches: [number, number][] = [];
  try {
    for (const [start, end] of scan(text.data.bytes, pattern, windows)) {
      if (matches.length === limit) return { matches, capped: true };
      matches.push([text.unitAt(start), text.unitAt(end)]);
    }
  } catch (error) {
    throw searchError(error);
  }
  return { matches, capped: false };
}
