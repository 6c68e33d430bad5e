import { gzipSync } from "node:zlib";
import { COLUMNS, type Head, NONE, PAGE_CALLS, type Row, type Texts } from "./format.ts";

/**
 * The numbers of calls as gzipped pages: one column after the other, of each the lowest bytes
 * first. So they take 9 bytes a call. null becomes `NONE`.
 */
export function columnsOf(rows: readonly Row[]): Uint8Array[] {
  const starts = Array.from({ length: Math.ceil(rows.length / PAGE_CALLS) }, (_, page) => page * PAGE_CALLS);
  return starts.map((start) => gzipSync(planesOf(rows.slice(start, start + PAGE_CALLS))));
}

function planesOf(rows: readonly Row[]): Uint8Array {
  const planes = new Uint8Array(COLUMNS.length * 4 * rows.length);
  for (const [at, row] of rows.entries()) {
    for (const [column, name] of COLUMNS.entries()) {
      const number = row[name];
      const kept = number === null ? NONE : Math.min(Math.max(0, Math.round(number)), NONE - 1);
      for (let byte = 0; byte < 4; byte++) planes[(column * 4 + byte) * rows.length + at] = kept / 2 ** (8 * byte);
    }
  }
  return planes;
}

/**
 * UTF-16 units of texts in a chunk: none takes longer to read than a turn of the event loop may.
 */
const CHUNK_UNITS = 256 * 1024;

/** Texts that may have to be cut, and the index of the error among them; null: none is one. */
export interface Kept {
  readonly texts: Texts;
  readonly error: number | null;
}

/**
 * The texts as gzipped chunks of JSON that together take this many bytes, and in how many entries
 * texts were cut for that: the oldest keep their beginnings alone, and after that nothing.
 *
 * @param groups a chunk has texts of one of them
 */
export function inChunks(groups: readonly (readonly Kept[])[], maxBytes: number) {
  const parts = groups.flatMap(partsOf);
  const chunks: Uint8Array[] = parts.map((part) => packed(part.map(({ texts }) => texts)));
  let bytes = sumOf(chunks);
  let cut = 0;
  for (const shorter of [beginnings, nothing]) {
    for (const [at, part] of parts.entries()) {
      if (bytes <= maxBytes) break;
      const short = packed(part.map(shorter));
      const { length } = chunks[at] ?? short;
      if (short.length >= length) continue;
      if (shorter === beginnings) cut += part.length;
      bytes += short.length - length;
      chunks[at] = short;
    }
  }
  let first = 0;
  const ranges: Head["chunks"] = parts.map(({ length }) => {
    first += length;
    return [first - length, length];
  });
  return { chunks, ranges, cut };
}

export const sumOf = (all: readonly Uint8Array[]) => all.reduce((sum, { length }) => sum + length, 0);

function partsOf(all: readonly Kept[]): Kept[][] {
  const parts: Kept[][] = [];
  let units = CHUNK_UNITS;
  for (const kept of all) {
    if (units >= CHUNK_UNITS) {
      parts.push([]);
      units = 0;
    }
    parts.at(-1)?.push(kept);
    units += kept.texts.join("").length;
  }
  return parts;
}

const packed = (texts: readonly Texts[]) => gzipSync(JSON.stringify(texts));

/** UTF-16 units that are left of a text, and of an error, which says why. */
const FEW = 40;
const OF_AN_ERROR = 400;

const beginnings = ({ texts, error }: Kept): Texts =>
  texts.map((text, at) => text.slice(0, at === error ? OF_AN_ERROR : FEW));

const nothing = ({ texts }: Kept): Texts => texts.map(() => "");
