import type { Text } from "../text/text.ts";

/** A half-open range of P, UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Most UTF-16 units in a chunk: about one screen of code, small enough that a hit can be read whole. */
export const CHUNK_UNITS = 1500;

/**
 * Cuts documents (sorted, not overlapping) into chunks of whole lines, as many as fit in `CHUNK_UNITS`. A longer
 * line is cut at that length, never inside a surrogate pair. Chunks of a document tile it; none crosses its ends.
 */
export function* chunksOf(text: Text, documents: readonly Span[]): Generator<Span & { text: string }> {
  for (const document of documents) {
    for (let start = document.start; start < document.end; ) {
      const ahead = text.slice(start, Math.min(start + CHUNK_UNITS, document.end));
      const length = start + ahead.length < document.end ? cut(ahead) : ahead.length;
      yield { start, end: start + length, text: ahead.slice(0, length) };
      start += length;
    }
  }
}

/** Length of the first chunk of a text that goes on after `ahead`. */
function cut(ahead: string): number {
  const lineEnd = ahead.lastIndexOf("\n") + 1;
  if (lineEnd > 0) return lineEnd;
  const last = ahead.charCodeAt(ahead.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? ahead.length - 1 : ahead.length;
}
