/** Lines of a file, counted from 1, and how many the file has. */
export interface Lines {
  readonly start: number;
  readonly end: number;
  readonly total: number;
}

/** The scope of a whole file. */
export const FULL = "full";

/** The key of a text of these lines: `full` if they are the whole file, else `r:<start>:<end>`. */
export function scopeOf({ start, end, total }: Lines): string {
  return start === 1 && end === total ? FULL : `r:${start}:${end}`;
}

/** First and last line of a range's scope; null for `full`, and for what is not a scope. */
export function rangeOf(scope: string): Pick<Lines, "start" | "end"> | null {
  const [, start, end] = RANGE.exec(scope) ?? [];
  const range = { start: Number(start), end: Number(end) };
  return range.start >= 1 && range.end >= range.start ? range : null;
}

const RANGE = /^r:(\d{1,9}):(\d{1,9})$/;
