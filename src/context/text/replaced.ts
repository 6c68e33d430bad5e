import type { Loss } from "../../documents/growing.ts";

/** Bytes of a text that are not of its encoding. */
export type Invalid = Pick<Loss, "count" | "where">;

/** Stands for a byte that is not of the encoding. */
export const REPLACEMENT = Buffer.from("\ufffd");
const NEWLINE = Buffer.from("\n");
const LISTED = 20;

/** Replacements in a text that is read piece by piece. */
interface Replaced {
  add(text: Buffer): void;
  told(): Invalid;
}

/** The number of times that bytes have a part. */
export function countOf(given: Uint8Array, part: Buffer): number {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
  let count = 0;
  for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + part.length)) count += 1;
  return count;
}

/** Counts U+FFFD as a text grows, and notes the first lines that have it. */
export function openReplaced(): Replaced {
  const where: string[] = [];
  let count = 0;
  let line = 1;
  let isNoted = false;
  return {
    add(text: Buffer): void {
      count += countOf(text, REPLACEMENT);
      let from = 0;
      while (where.length < LISTED) {
        if (isNoted) {
          const end = text.indexOf(NEWLINE, from);
          if (end < 0) return;
          from = end + 1;
          line += 1;
          isNoted = false;
        }
        const at = text.indexOf(REPLACEMENT, from);
        line += countOf(text.subarray(from, at < 0 ? text.length : at), NEWLINE);
        if (at < 0) return;
        where.push(`line ${line}`);
        isNoted = true;
        from = at;
      }
    },
    told: () => ({ count, where }),
  };
}
