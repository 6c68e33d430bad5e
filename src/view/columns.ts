import { gzipSync } from "node:zlib";
import { COLUMNS, NONE, PAGE_CALLS } from "./format.ts";

/**
 * The numbers of calls as gzipped pages: one column after the other, of each the lowest bytes first. So they take 9 bytes a
 * call. null becomes `NONE`.
 */
export function columnsOf(rows: readonly (readonly (number | null)[])[]): { pages: Uint8Array[]; counts: number[] } {
  const starts = Array.from({ length: Math.ceil(rows.length / PAGE_CALLS) }, (_, page) => page * PAGE_CALLS);
  const parts = starts.map((start) => rows.slice(start, start + PAGE_CALLS));
  return { pages: parts.map((part) => gzipSync(planesOf(part))), counts: parts.map(({ length }) => length) };
}

function planesOf(rows: readonly (readonly (number | null)[])[]): Uint8Array {
  const planes = new Uint8Array(COLUMNS.length * 4 * rows.length);
  for (const [row, numbers] of rows.entries()) {
    for (const [column, number] of numbers.entries()) {
      const kept = number === null ? NONE : Math.min(Math.max(0, Math.round(number)), NONE - 1);
      for (let byte = 0; byte < 4; byte++) {
        planes[(column * 4 + byte) * rows.length + row] = Math.floor(kept / 2 ** (8 * byte)) % 256;
      }
    }
  }
  return planes;
}
