import type { IndexFile, SegmentFacts } from "./index-file.ts";
import { CHUNK_WORDS, WORD_BYTES } from "./segment.ts";
import { hashOf } from "./slots.ts";
import { bucketOf } from "./stem-groups.ts";
import { stemOf } from "./tokens.ts";

/** A term of a query, as an index has it. */
export interface IndexTerm {
  /** Its UTF-8, each byte a character. */
  readonly word: string;
  readonly stem: string;
  /** The hash of the stem. */
  readonly hash: number;
}

/** The form of a term in which an index is asked for it. @param seed of the index */
export function indexTerm(term: string, seed: number): IndexTerm {
  const word = Buffer.from(term).toString("latin1");
  const stem = stemOf(word);
  const bytes = Buffer.from(stem, "latin1");
  return { word, stem, hash: hashOf(bytes, 0, bytes.length, seed) };
}

/** The counts of a term in the chunks of a segment. */
export interface TermCounts {
  /** For each chunk the number of times that it has the word itself. */
  readonly exact: Uint32Array;
  /** For each chunk the number of times that it has any word of the stem. */
  readonly forms: Uint32Array;
}

/** The block of a stem in a segment; undefined: no word of the segment has the stem. */
export function blockOf(file: IndexFile, segment: SegmentFacts, { stem, hash }: IndexTerm): Buffer | undefined {
  if (segment.buckets === 0) return undefined;
  const placesAt = segment.at + segment.chunks * CHUNK_WORDS * WORD_BYTES;
  const placeAt = placesAt + bucketOf(hash, segment.buckets) * WORD_BYTES;
  const places = file.read(placeAt, placeAt + 2 * WORD_BYTES);
  const bucket = file.read(segment.at + places.readUInt32LE(0), segment.at + places.readUInt32LE(WORD_BYTES));
  const cursor = openCursor(bucket);
  while (cursor.at() < bucket.length) {
    const length = cursor.number();
    const block = bucket.subarray(cursor.at(), cursor.at() + length);
    if (stemOf(openCursor(block).text()) === stem) return block;
    cursor.skip(length);
  }
  return undefined;
}

/** Adds the postings of a block to the counts of its segment. */
export function addCounts(block: Buffer, { word }: IndexTerm, { exact, forms }: TermCounts): void {
  const cursor = openCursor(block);
  while (cursor.at() < block.length) {
    const isExact = cursor.text() === word;
    const length = cursor.number();
    const end = cursor.at() + length;
    for (let chunk = 0; cursor.at() < end; ) {
      const posting = cursor.number();
      chunk += posting >>> 1;
      const count = posting % 2 === 1 ? cursor.number() : 1;
      forms[chunk] = (forms[chunk] ?? 0) + count;
      if (isExact) exact[chunk] = count;
    }
  }
}

/** Start, end and words of each chunk of a segment; starts and ends are counted from its start. */
export function chunkFacts(file: IndexFile, { at, chunks }: SegmentFacts): Uint32Array {
  const bytes = file.read(at, at + chunks * CHUNK_WORDS * WORD_BYTES);
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}

/** A place in a block that moves on. */
interface Cursor {
  at(): number;
  number(): number;
  text(): string;
  skip(bytes: number): void;
}

function openCursor(bytes: Buffer): Cursor {
  let at = 0;
  function number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
  }
  return {
    at: () => at,
    number,
    text() {
      const length = number();
      at += length;
      return bytes.toString("latin1", at - length, at);
    },
    skip(length) {
      at += length;
    },
  };
}
