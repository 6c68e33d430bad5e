import type { TextObject } from "../context/index.ts";
import { cutText } from "../platform/visible.ts";

/** Most bytes of what an answer quotes. A tool of Pi may answer 51,200; a line of facts stands above. */
export const QUOTED_BYTES = 50_000;

const NAME_UNITS = 200;

/** The name of an object's document in answers, on one line. */
export function nameOf({ of, document }: Pick<TextObject, "of" | "document">): string {
  const shown = cutText(document.id.replaceAll(/\p{Cc}/gu, " "), NAME_UNITS);
  return of === "P" ? `P: ${shown}` : shown;
}

/** The number of UTF-16 units of a text that take at most so many bytes of UTF-8. A surrogate pair counts whole. */
export function unitsWithin(text: string, maxBytes: number): number {
  let bytes = 0;
  let units = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    units += character.length;
  }
  return units;
}
