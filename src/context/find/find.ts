import type { Text, TextData } from "../text/text.ts";
import { type FindPattern, searchError } from "./pattern.ts";
import { type Match, scan, type Windows } from "./scan.ts";

export { compileFind, escapePattern, type FindPattern } from "./pattern.ts";

/**
 * 64 KB: after the first character that is not ASCII, a search with `\b` is slow to the end of its window (0.19 s for
 * 10 MB in windows of 256 KB, 0.08 s in these), and larger windows make no pattern faster, as a call costs microseconds.
 * 12 KB: `.` with the default limit of 10,000 is answered from the first one.
 */
const WINDOWS: Windows = { smallest: 12 * 1024, largest: 64 * 1024, effort: 256 * 1024 * 1024 };

/**
 * The first `limit` matches: those of one pass of Rust's regex crate over the whole text, whatever the sizes of windows. They are
 * UTF-16 offsets, ascending, never overlapping. `capped`: there is at least one more.
 */
export function find(text: Text, pattern: FindPattern, limit: number, between?: () => void, windows?: Windows) {
  const matches: [start: number, end: number][] = [];
  for (const some of matchesIn(text.data, pattern, between, windows)) {
    for (const [start, end] of some) {
      if (matches.length === limit) return { matches, capped: true };
      matches.push([text.unitAt(start), text.unitAt(end)]);
    }
  }
  return { matches, capped: false };
}

/** The number of all matches. */
export function count({ data }: Text, pattern: FindPattern, between?: () => void): number {
  let matches = 0;
  for (const some of matchesIn(data, pattern, between)) for (const _match of some) matches++;
  return matches;
}

/**
 * All matches in their order, some at a time; each is found when it is taken, or not long before.
 *
 * @param between is called between two windows, and may throw to end the search
 */
export function* matchesIn(
  { bytes }: Pick<TextData, "bytes">,
  pattern: FindPattern,
  between = () => {},
  windows = WINDOWS,
): Generator<Iterable<Match>> {
  try {
    yield* scan(bytes, pattern, windows, between);
  } catch (error) {
    throw searchError(error);
  }
}
