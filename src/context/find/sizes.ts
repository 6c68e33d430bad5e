/**
 * Bytes of text given to the engine at once: from `smallest`, growing to `largest` while matches
 * are rare.
 */
export interface Windows {
  readonly smallest: number;
  readonly largest: number;
  /** Bytes that enlarged windows may read beyond sixteen times the text. */
  readonly effort: number;
}

/** Sizes by which a search goes through a text, in bytes. No answer depends on them. */
export interface Sizes {
  /** Bytes that the engine gets at once. */
  readonly windows: Windows;
  /** A piece of a text in files, which one thread searches. Its lines are whole. */
  readonly piece: number;
  /** A text with a longer line is not searched in pieces. */
  readonly line: number;
  /** A longer line of a stream is not held whole. */
  readonly heldLine: number;
  /** More bytes are not held to be certain of a match. */
  readonly largestWindow: number;
  /** Pieces of which a text has more if other threads help to search it. */
  readonly alone: number;
  /** The same for a pattern that is nothing but literals. */
  readonly aloneForLiterals: number;
  /** Matches of a piece that are held until they are wanted. If it has more, it is searched again. */
  readonly held: number;
}

const MB = 2 ** 20;

export const SIZES: Sizes = {
  // 64 KB: after the first character that is not ASCII, a search with `\b` is slow to the end of its
  // window (0.19 s for 10 MB in windows of 256 KB, 0.08 s in these), and larger windows make no
  // pattern faster, as a call costs microseconds. 12 KB: `.` with the default limit of 10,000 is
  // answered from the first one.
  windows: { smallest: 12 * 1024, largest: 64 * 1024, effort: 256 * MB },
  piece: 4 * MB,
  line: 32 * MB,
  heldLine: 64 * MB,
  // A match in a context in memory, of at most 100 MB, is found when it is in files, too.
  largestWindow: 128 * MB,
  // A thread starts in the time of about so many.
  alone: 8,
  aloneForLiterals: 32,
  // 2 MB.
  held: 128 * 1024,
};
