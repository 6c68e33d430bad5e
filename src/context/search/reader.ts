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

/** A term in the chunks of a segment that have it, in no order. */
export interface TermPostings {
  /**
   * From `from` to `to` three numbers for each chunk: its own, the number of times that it has the word
   * itself, and the number of times that it has any word of the stem.
   */
  readonly numbers: Uint32Array;
  readonly from: number;
  readonly to: number;
  /** The chunks that have the word itself. */
  readonly exact: number;
}

/** Numbers of a chunk in postings. */
export const POSTING = { chunk: 0, exact: 1, forms: 2, numbers: 3 } as const;

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
    if (hasStem(openCursor(block), stem)) return block;
    cursor.skip(length);
  }
  return undefined;
}

/** True if a block is that of a stem. It begins as all words of it do, and to make one takes longer. */
function hasStem(block: Cursor, stem: string): boolean {
  const word = block.text();
  return word.charCodeAt(0) === stem.charCodeAt(0) && stemOf(word) === stem;
}

/** Reads blocks, one after the other. */
interface PostingsReader {
  read(block: Buffer, term: IndexTerm): TermPostings;
}

/** Numbers that are allocated at once: 1 MB. */
const ROOM_NUMBERS = 256 * 1024;

/** Opens a reader. @param most the chunks of the largest segment */
export function openPostingsReader(most: number): PostingsReader {
  // For each chunk of the segment; 0 between two blocks.
  const exactOf = new Uint32Array(most);
  const formsOf = new Uint32Array(most);
  const met = new Uint32Array(most);
  let numbers = new Uint32Array(0);
  let used = 0;

  /** Adds the postings of a word that the cursor stands before, and returns how many chunks were met. */
  function addWord(cursor: Cursor, bytes: number, counts: Uint32Array | null, before: number): number {
    const end = cursor.at() + bytes;
    let count = before;
    for (let chunk = 0; cursor.at() < end; ) {
      const posting = cursor.number();
      chunk += posting >>> 1;
      const times = (posting & 1) === 1 ? cursor.number() : 1;
      const known = formsOf[chunk] ?? 0;
      if (known === 0) met[count++] = chunk;
      formsOf[chunk] = known + times;
      if (counts) counts[chunk] = times;
    }
    return count;
  }

  return {
    read(block, { word }) {
      const cursor = openCursor(block);
      let count = 0;
      while (cursor.at() < block.length) {
        const isExact = cursor.text() === word;
        count = addWord(cursor, cursor.number(), isExact ? exactOf : null, count);
      }
      const needed = POSTING.numbers * count;
      if (used + needed > numbers.length) {
        numbers = new Uint32Array(Math.max(needed, Math.min(ROOM_NUMBERS, 2 * POSTING.numbers * most)));
        used = 0;
      }
      const from = used;
      let exact = 0;
      for (let n = 0; n < count; n++) {
        const chunk = met[n] ?? 0;
        const times = exactOf[chunk] ?? 0;
        if (times !== 0) exact += 1;
        numbers[used] = chunk;
        numbers[used + POSTING.exact] = times;
        numbers[used + POSTING.forms] = formsOf[chunk] ?? 0;
        used += POSTING.numbers;
        exactOf[chunk] = 0;
        formsOf[chunk] = 0;
      }
      return { numbers, from, to: used, exact };
    },
  };
}

/** The facts of the chunks of a segment. Starts and ends are counted from its start. */
export interface ChunkFacts {
  start(chunk: number): number;
  end(chunk: number): number;
  words(chunk: number): number;
}

/** Reads the facts of the chunks of a segment. */
export function chunkFacts(file: IndexFile, { at, chunks }: SegmentFacts): ChunkFacts {
  const bytes = file.read(at, at + chunks * CHUNK_WORDS * WORD_BYTES);
  const number = (chunk: number, n: number) => bytes.readUInt32LE((chunk * CHUNK_WORDS + n) * WORD_BYTES);
  return {
    start: (chunk) => number(chunk, 0),
    end: (chunk) => number(chunk, 1),
    words: (chunk) => number(chunk, 2),
  };
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
