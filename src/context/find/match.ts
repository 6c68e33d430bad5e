/** Bytes of UTF-8; `end` is exclusive. */
export type Match = readonly [start: number, end: number];

/**
 * Between two searches: every match that begins before `from` is known, and the last one ends at
 * `lastEnd` (-1: none).
 */
export interface Position {
  readonly from: number;
  readonly lastEnd: number;
}

/** The place of a haystack in a text that has more than it. */
export interface Part {
  /**
   * The place to begin at, in bytes of the haystack. Two characters of context are before it, unless
   * the text begins with the haystack.
   */
  readonly begin: Position;
  /** True if more of the text follows. */
  readonly isOpen: boolean;
}

/** The beginning of a text. */
export const BEGIN: Position = { from: 0, lastEnd: -1 };
/** A haystack that is all of its text. */
export const WHOLE: Part = { begin: BEGIN, isOpen: false };

/** Matches so many bytes later, or earlier. */
export function moved(matches: Iterable<Match>, by: number): Iterable<Match> {
  return by === 0 ? matches : movedBy(matches, by);
}

function* movedBy(matches: Iterable<Match>, by: number): Generator<Match> {
  for (const [start, end] of matches) yield [start + by, end + by];
}
