/**
 * Bounds of one tool answer: those of Pi's read, find and grep (pi-coding-agent 0.73.1,
 * core/tools/truncate).
 */
export const MAX_LINES = 2000;
export const MAX_BYTES = 50 * 1024;

/** A line of a text: its number from 1, and its extent in UTF-16 units without the line feed. */
export interface Line {
  readonly number: number;
  readonly start: number;
  readonly end: number;
}

/**
 * The lines of a text, one at a time: a list of ten million would not fit. A line feed at the end
 * begins no line.
 */
export function* linesOf(text: string): Generator<Line> {
  let number = 0;
  for (let start = 0; start < text.length; ) {
    const feed = text.indexOf("\n", start);
    const end = feed === -1 ? text.length : feed;
    number += 1;
    yield { number, start, end };
    start = end + 1;
  }
}

/** The first lines that fit into `MAX_BYTES`, whole; `cut`: there were more. */
export function fitting(lines: readonly string[]): { shown: readonly string[]; cut: boolean } {
  let bytes = 0;
  const over = lines.findIndex((line) => {
    bytes += Buffer.byteLength(line) + 1;
    return bytes > MAX_BYTES + 1;
  });
  return over === -1 ? { shown: lines, cut: false } : { shown: lines.slice(0, over), cut: true };
}

/** The text with notes for the model, in brackets under it. */
export function withNotes(text: string, notes: readonly string[]): string {
  return notes.length === 0 ? text : `${text}\n\n[${notes.join(". ")}]`;
}

/**
 * A name as one line shows it. With a line feed in it, it could pass for several lines; quotes show
 * that it is one name.
 */
export function shownName(name: string): string {
  return /\p{Cc}/u.test(name) ? JSON.stringify(name) : name;
}

/** `51.2KB`, as Pi writes sizes. */
export function size(bytes: number): string {
  return bytes < 1024 ? `${bytes}B` : `${(bytes / 1024).toFixed(1)}KB`;
}
