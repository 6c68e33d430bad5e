/**
 * The end of a window of `size` bytes from `start`: on a character boundary, after at least one
 * character.
 */
export function windowEnd(haystack: Buffer, start: number, size: number): number {
  const end = boundary(haystack, Math.min(start + size, haystack.length));
  return end > start ? end : next(haystack, start);
}

/**
 * The beginning of the character before `at`, which is a character boundary; -1 at the beginning of
 * the text.
 */
export function before(haystack: Buffer, at: number): number {
  return at <= 0 ? -1 : boundary(haystack, at - 1);
}

/** The end of the character that begins at `at`; the end of the text stays. */
export function next(haystack: Buffer, at: number): number {
  let end = at + 1;
  while (isContinuation(haystack[end])) end += 1;
  return Math.min(end, haystack.length);
}

/** The beginning of the character that the byte at `at` belongs to. */
export function boundary(haystack: Buffer, at: number): number {
  let start = at;
  while (isContinuation(haystack[start])) start -= 1;
  return start;
}

/** The beginning of the last line that begins after `start`, at `end` at the latest. */
export function afterLineFeed(haystack: Buffer, start: number, end: number): number | undefined {
  const at = haystack.subarray(start, end).lastIndexOf(LINE_FEED);
  return at === -1 ? undefined : start + at + 1;
}

export const LINE_FEED = 10;
/** Bytes of the longest character. */
export const CHARACTER_BYTES = 4;

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
