import type { IndexFile } from "./index-file.ts";
import { CHUNK_WORDS, HEADER_WORDS, hashOf, seedOf, WORD_BYTES } from "./segment.ts";
import { stemOf } from "./tokens.ts";

/** Chunks by their numbers, which are in the order of P, and how often each has a term. */
export interface Postings {
  readonly chunks: readonly number[];
  readonly counts: readonly number[];
}

/** The content of an index file. */
export interface Reader {
  /** The number of chunks, and of the words in one of them on average. */
  readonly chunks: number;
  readonly averageWords: number;
  wordsOf(chunk: number): number;
  spanOf(chunk: number): readonly [start: number, end: number];
  /**
   * The chunks with a term, and those with any word of its stem.
   *
   * @throws Error for a file that is damaged
   */
  find(term: string): { readonly exact: Postings; readonly forms: Postings };
}

interface Segment {
  /** The number of its first chunk. */
  readonly first: number;
  /** Places in the file: of the segment, and of its slots. */
  readonly at: number;
  readonly slotsAt: number;
  readonly slots: number;
}

/** Slots, and bytes of a block, that are read at once. */
const SLOTS_AHEAD = 16;
const BLOCK_AHEAD = 2048;

/** @param hash sha256 of P, hex */
export function openReader(file: IndexFile, hash: string): Reader {
  const seed = seedOf(hash);
  const segments: Segment[] = [];
  const tables: Uint32Array[] = [];
  let chunks = 0;
  for (const at of file.segments) {
    const [count = 0, slots = 0] = numbersIn(file.read(at, HEADER_WORDS * WORD_BYTES));
    const tableAt = at + HEADER_WORDS * WORD_BYTES;
    const table = numbersIn(file.read(tableAt, count * CHUNK_WORDS * WORD_BYTES));
    segments.push({ first: chunks, at, slots, slotsAt: tableAt + table.byteLength });
    tables.push(table);
    chunks += count;
  }
  /** Start, end and words of each chunk. */
  const table = new Uint32Array(chunks * CHUNK_WORDS);
  for (const [number, { first }] of segments.entries()) table.set(tables[number] ?? [], first * CHUNK_WORDS);
  const fact = (chunk: number, which: number) => table[chunk * CHUNK_WORDS + which] ?? 0;
  let words = 0;
  for (let chunk = 0; chunk < chunks; chunk++) words += fact(chunk, 2);
  const counts = new Uint32Array(chunks);
  return {
    chunks,
    averageWords: words / chunks,
    wordsOf: (chunk: number) => fact(chunk, 2),
    spanOf: (chunk: number): readonly [start: number, end: number] => [fact(chunk, 0), fact(chunk, 1)],
    find(term: string): { readonly exact: Postings; readonly forms: Postings } {
      const word = Buffer.from(term).toString("latin1");
      const stem = stemOf(word);
      const exact = { chunks: [0].slice(1), counts: [0].slice(1) };
      const numbers: number[] = [];
      for (const segment of segments) {
        eachPosting(blockOf(file, segment, stem, seed), (form, chunk, count) => {
          const number = segment.first + chunk;
          if (form === word) {
            exact.chunks.push(number);
            exact.counts.push(count);
          }
          if (counts[number] === 0) numbers.push(number);
          counts[number] = (counts[number] ?? 0) + count;
        });
      }
      const forms = { chunks: numbers, counts: numbers.map((chunk) => counts[chunk] ?? 0) };
      for (const chunk of numbers) counts[chunk] = 0;
      return { exact, forms };
    },
  };
}

function numbersIn(bytes: Buffer): Uint32Array {
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}

/** The block of a stem, without its length; empty if the segment has none. */
function blockOf(file: IndexFile, { at, slots, slotsAt }: Segment, stem: string, seed: number): Buffer {
  let slot = hashOf(stem, seed) & (slots - 1);
  for (let tried = 0; tried < slots; ) {
    const ahead = Math.min(SLOTS_AHEAD, slots - slot);
    for (const place of numbersIn(file.read(slotsAt + slot * WORD_BYTES, ahead * WORD_BYTES))) {
      if (place === 0) return Buffer.alloc(0);
      const block = readBlock(file, at + place);
      if (stemOf(openCursor(block).text()) === stem) return block;
    }
    tried += ahead;
    slot = (slot + ahead) & (slots - 1);
  }
  return Buffer.alloc(0);
}

function readBlock(file: IndexFile, at: number): Buffer {
  const head = file.read(at, BLOCK_AHEAD, "ahead");
  const end = WORD_BYTES + head.readUInt32LE(0);
  return end <= head.length ? head.subarray(WORD_BYTES, end) : file.read(at, end).subarray(WORD_BYTES);
}

/** Gives each word of a block with each chunk of its segment that has it. */
function eachPosting(block: Buffer, use: (form: string, chunk: number, count: number) => void): void {
  const cursor = openCursor(block);
  while (cursor.at() < block.length) {
    const form = cursor.text();
    const end = cursor.word() + cursor.at();
    for (let chunk = 0; cursor.at() < end; ) {
      const posting = cursor.number();
      chunk += posting >>> 1;
      use(form, chunk, posting % 2 === 1 ? cursor.number() : 1);
    }
  }
}

function openCursor(bytes: Buffer) {
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
    word() {
      at += WORD_BYTES;
      return bytes.readUInt32LE(at - WORD_BYTES);
    },
    text() {
      const length = number();
      at += length;
      return bytes.toString("latin1", at - length, at);
    },
  };
}
