import { gzipSync } from "node:zlib";
import type { Head, Texts } from "./format.ts";

/** UTF-16 units of texts in a chunk: none takes longer to read than a turn of the event loop may. */
const CHUNK_UNITS = 256 * 1024;

/** Texts that may have to be cut, and the index of the error among them; null: none is one. */
export interface Kept {
  readonly texts: Texts;
  readonly error: number | null;
}

interface Chunks {
  readonly chunks: Uint8Array[];
  readonly ranges: Head["chunks"][number][];
  /** Entries of which texts were cut to fit. */
  readonly cut: number;
}

/**
 * The texts as gzipped chunks of JSON that together take this many bytes. If they take more, the oldest keep their beginnings
 * alone, and after that nothing.
 *
 * @param groups a chunk has texts of one of them
 */
export function inChunks(groups: readonly (readonly Kept[])[], maxBytes: number): Chunks {
  const parts = groups.flatMap(partsOf);
  const chunks = parts.map((part) => packed(part.map(({ texts }) => texts)));
  let bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  let cut = 0;
  for (const shorter of [beginnings, nothing]) {
    for (let at = 0; at < parts.length && bytes > maxBytes; at++) {
      const short = packed((parts[at] ?? []).map(shorter));
      const { length } = chunks[at] ?? [];
      if (short.length >= (length ?? 0)) continue;
      if (shorter === beginnings) cut += parts[at]?.length ?? 0;
      bytes += short.length - (length ?? 0);
      chunks[at] = short;
    }
  }
  let first = 0;
  const ranges = parts.map(({ length }) => {
    first += length;
    return [first - length, length] as const;
  });
  return { chunks, ranges, cut };
}

function partsOf(all: readonly Kept[]): Kept[][] {
  const parts: Kept[][] = [];
  let units = CHUNK_UNITS;
  for (const kept of all) {
    if (units >= CHUNK_UNITS) {
      parts.push([]);
      units = 0;
    }
    parts.at(-1)?.push(kept);
    units += kept.texts.reduce((sum, { length }) => sum + length, 0);
  }
  return parts;
}

const packed = (texts: readonly Texts[]) => gzipSync(JSON.stringify(texts));

/** UTF-16 units that are left of a text, and of an error, which says why. */
const [FEW, OF_AN_ERROR] = [40, 400];

const beginnings = ({ texts, error }: Kept): Texts =>
  texts.map((text, at) => text.slice(0, at === error ? OF_AN_ERROR : FEW));

const nothing = ({ texts }: Kept): Texts => texts.map(() => "");
