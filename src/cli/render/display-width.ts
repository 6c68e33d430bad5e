import displayWidth from "string-width";

/** Columns of a terminal that a text takes: two for a wide letter and an emoji, none for a combining mark. */
export { displayWidth };

const CLUSTERS = new Intl.Segmenter();

/** The text; one that takes more columns ends with `…`, at a whole character. */
export function fitted(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let left = width - 1;
  let end = 0;
  for (const { segment } of CLUSTERS.segment(text)) {
    left -= displayWidth(segment);
    if (left < 0) break;
    end += segment.length;
  }
  return `${text.slice(0, end)}…`;
}

/** The text with blanks on one side, so that it takes so many columns. */
export function padded(text: string, width: number, side: "left" | "right"): string {
  const blanks = " ".repeat(Math.max(0, width - displayWidth(text)));
  return side === "left" ? `${text}${blanks}` : `${blanks}${text}`;
}
