import { unpackText } from "./pack.ts";
import { isSealed, type Row, value } from "./seal.ts";

/** The key of a text that is kept by the SHA-256 of it. */
export const textKey = (hash: string) => `text:${hash}`;

/** Texts are kept for so long, ms, whatever becomes of answers. */
export const TEXT_MS = 30 * 24 * 60 * 60 * 1000;

/** The answer's JSON; null if the row is damaged. */
export function answerOf(row: Row): string | null {
  const content = unpackText(row, "value");
  return content !== null && isSealed(row, [value(row, "key"), content, value(row, "at")]) ? content : null;
}
