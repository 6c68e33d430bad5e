import type { Text } from "../text/text.ts";
import { type FindPattern, searchError } from "./pattern.ts";
import { scan, type Windows } from "./scan.ts";

export { compileFind, type FindPattern } from "./pattern.ts";

export interface FindResult {
  /** UTF-16 offsets, ascending, never overlapping; `end` is exclusive. */
  matches: [start: number, end: number][];
  /** There is at least one more match than `limit`. */
  capped: boolean;
}

/**
 * 64 KB: after the first character that is not ASCII, a search with `\b` is slow to the end of its window (0.19 s for
 * 10 MB in windows of 256 KB, 0.08 s in these), and larger windows make no pattern faster, as a call costs microseconds.
 * 16 KB: `.` with the default limit of 10,000 is answered from the first one.
 */
const WINDOWS: Windows = { smallest: 16 * 1024, largest: 64 * 1024, effort: 256 * 1024 * 1024 };

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
