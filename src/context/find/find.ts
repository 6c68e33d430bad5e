import type { Text, TextData } from "../text/text.ts";
import { type FindPattern, searchError } from "./pattern.ts";
import { scan, type Windows } from "./scan.ts";

export { compileFind, escapePattern, type FindPattern } from "./pattern.ts";

/** Its range is worked out when it is asked for, which takes longer than finding the match. */
export interface Match {
  /** UTF-16 offsets; `end` is exclusive. */
  range(): [start: number, end: number];
}

export interface FindResult {
  /** UTF-16 offsets, ascending, never overlapping; `end` is exclusive. */
  matches: [start: number, end: number][];
  /** There is at least one more match than `limit`. */
  capped: boolean;
}

/**
 * 64 KB: after the first character that is not ASCII, a search with `\b` is slow to the end of its window (0.19 s for
 * 10 MB in windows of 256 KB, 0.08 s in these), and larger windows make no pattern faster, as a call costs microseconds.
 * 12 KB: `.` with the default limit of 10,000 is answered from the first one.
 */
const WINDOWS: Windows = { smallest: 12 * 1024, largest: 64 * 1024, effort: 256 * 1024 * 1024 };

/** The first `limit` matches: those of one pass of Rust's regex crate over the whole text, whatever the sizes of windows. */
export function find(text: Text, pattern: FindPattern, limit: number, windows = WINDOWS): FindResult {
  const matches: [number, number][] = [];
  for (const match of matchesIn(text, pattern, { windows })) {
    if (matches.length === limit) return { matches, capped: true };
    matches.push(match.range());
  }
  return { matches, capped: false };
}

/** The searched text: bytes of UTF-8, and the offset of each of them. */
type Searched = Pick<Text, "unitAt"> & { readonly data: Pick<TextData, "bytes"> };

/**
 * All matches in their order. Each is found when it is taken, so that they can be counted without being kept.
 *
 * @param between is called between two windows, and may throw to end the search
 */
export function* matchesIn(
  text: Searched,
  pattern: FindPattern,
  { windows = WINDOWS, between = () => {} }: { readonly windows?: Windows; readonly between?: () => void } = {},
): Generator<Match> {
  try {
    for (const [start, end] of scan(text.data.bytes, pattern, windows, between)) {
      yield { range: () => [text.unitAt(start), text.unitAt(end)] };
    }
  } catch (error) {
    throw searchError(error);
  }
}
