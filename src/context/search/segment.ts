import { isAscii } from "node:buffer";
import type { Text } from "../text/text.ts";
import { stemOf, tokensOf } from "./tokens.ts";

// A segment of an index: numbers of 32 bits, then a block for each stem. The numbers are how many
// chunks and slots there are; for each chunk its start, its end and how many words it has; and the
// slots of a hash table. A slot is the place of a block, or 0. A block has its own length, and for
// each word of the stem the length of its UTF-8, the UTF-8, the length of its postings, and the
// postings. A posting is twice the distance from the chunk before, plus 1 if the word is there more
// than once: then the number of times follows. Lengths of blocks and postings have 32 bits; the
// other numbers have 7 bits a byte, the lowest ones first.

export const WORD_BYTES = 4;
export const HEADER_WORDS = 2;
export const CHUNK_WORDS = 3;

/**
 * Says where the search for a stem in the slots begins. The seed is a part of P's hash, so that no
 * P can make its stems collide.
 */
export function hashOf(stem: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < stem.length; at++) hash = Math.imul(hash ^ stem.charCodeAt(at), 0x01000193) + (hash >>> 15);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** @param hash sha256 of P, hex */
export function seedOf(hash: string): number {
  return Number.parseInt(hash.slice(0, 8), 16) | 0;
}

/**
 * Indexes these chunks of a text. Equal chunks always give equal bytes.
 *
 * @param between is called before each chunk, and may throw to end the work
 */
export function segmentOf(text: Text, chunks: readonly Chunk[], seed: number, between = () => {}): Buffer {
  const words = openWords(text);
  const lengths = chunks.map((chunk) => {
    between();
    return words.add(chunk);
  });
  const { blocks, places } = writeBlocks(words, seed);
  let slots = 16;
  while (slots < places.length * 2) slots *= 2;
  const head = new Uint32Array(HEADER_WORDS + chunks.length * CHUNK_WORDS + slots);
  head.set([chunks.length, slots]);
  for (const [number, { start, end }] of chunks.entries()) {
    head.set([start, end, lengths[number] ?? 0], HEADER_WORDS + number * CHUNK_WORDS);
  }
  const table = head.subarray(-slots);
  for (const { hash, at } of places) {
    let slot = hash & (slots - 1);
    while (table[slot] !== 0) slot = (slot + 1) & (slots - 1);
    table[slot] = head.byteLength + at;
  }
  return Buffer.concat([Buffer.from(head.buffer), blocks]);
}

/** Words in chunks, by the order of the chunks. A posting is a word in a chunk. */
interface Postings {
  /** The first posting of each chunk, and the number of all. */
  readonly firsts: readonly number[];
  /** The number of each posting's term. */
  readonly termAt: Uint32Array;
  /** The number of times that the chunk of each posting has the term. */
  readonly countAt: Uint32Array;
}

/** The words of a text's chunks, as the chunks are added. */
interface Words {
  /** Adds a chunk. Returns the number of its words. */
  add(chunk: Chunk): number;
  /** The number of each term. */
  readonly terms: ReadonlyMap<string, number>;
  postings(): Postings;
}

function openWords(text: Text): Words {
  const bytes = text.read(0, text.bytes);
  const terms = new Map<string, number>();
  /**
   * Per term: its last posting, plus 1. Per posting: its term, and how often the chunk has it. Per
   * chunk: its first posting.
   */
  let lastOf = new Uint32Array(ROOM);
  let termAt = new Uint32Array(ROOM);
  let countAt = new Uint32Array(ROOM);
  const firsts: number[] = [];
  let postings = 0;
  /** The words of an ASCII text are those of its runs of letters, digits, `_` and `-`. */
  const runs = new Map<string, readonly number[]>();

  function termOf(token: string): number {
    const known = terms.get(token);
    if (known !== undefined) return known;
    terms.set(token, terms.size);
    if (terms.size === lastOf.length) lastOf = grown(lastOf);
    return terms.size - 1;
  }

  function tally(term: number, first: number): void {
    const last = lastOf[term] ?? 0;
    if (last > first) {
      countAt[last - 1] = (countAt[last - 1] ?? 0) + 1;
      return;
    }
    if (postings === termAt.length) {
      termAt = grown(termAt);
      countAt = grown(countAt);
    }
    termAt[postings] = term;
    countAt[postings] = 1;
    postings += 1;
    lastOf[term] = postings;
  }

  return {
    add({ start, end, from, to }) {
      const first = postings;
      let words = 0;
      firsts.push(first);
      const isAscii = end - start === to - from;
      const chunk = bytes.toString(isAscii ? "latin1" : "utf8", from, to);
      for (const run of isAscii ? (chunk.match(RUN) ?? []) : [chunk]) {
        let numbers = runs.get(run);
        if (!numbers) {
          numbers = tokensOf(run).map(termOf);
          runs.set(run, numbers);
        }
        for (const term of numbers) tally(term, first);
        words += numbers.length;
      }
      return words;
    },
    terms,
    postings: () => ({ firsts: [...firsts, postings], termAt, countAt }),
  };
}

const ROOM = 1 << 16;
const RUN = /[A-Za-z0-9_-]+/g;

function grown(numbers: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(numbers.length * 2);
  larger.set(numbers);
  return larger;
}

function writeBlocks(words: Words, seed: number) {
  const terms = Array.from(words.terms.keys(), (word) => (isPlain(word) ? word : Buffer.from(word).toString("latin1")));
  const { ends, chunks, counts } = byTerms(words.postings(), terms.length);
  const text = terms.reduce((sum, word) => sum + word.length, 0);
  const bytes = Buffer.allocUnsafe(
    text + terms.length * (WORD_BYTES * 2 + NUMBER_BYTES) + chunks.length * 2 * NUMBER_BYTES,
  );
  let at = 0;
  const places: { readonly hash: number; readonly at: number }[] = [];
  for (const [stem, members] of Map.groupBy(terms.keys(), (term) => stemOf(terms[term] ?? ""))) {
    const blockAt = at;
    places.push({ hash: hashOf(stem, seed), at });
    at += WORD_BYTES;
    for (const term of members) {
      const word = terms[term] ?? "";
      at = writeNumber(bytes, at, word.length);
      for (let unit = 0; unit < word.length; unit++) bytes[at++] = word.charCodeAt(unit);
      const listAt = at;
      at += WORD_BYTES;
      let before = 0;
      for (let posting = ends[term - 1] ?? 0; posting < (ends[term] ?? 0); posting++) {
        const chunk = chunks[posting] ?? 0;
        const count = counts[posting] ?? 0;
        at = writeNumber(bytes, at, (chunk - before) * 2 + (count > 1 ? 1 : 0));
        if (count > 1) at = writeNumber(bytes, at, count);
        before = chunk;
      }
      bytes.writeUInt32LE(at - listAt - WORD_BYTES, listAt);
    }
    bytes.writeUInt32LE(at - blockAt - WORD_BYTES, blockAt);
  }
  return { blocks: bytes.subarray(0, at), places };
}

const isPlain = (word: string) => /^[a-z0-9]*$/.test(word);

/** Postings by terms, those of a term in the order of chunks, and the ends of the terms. */
function byTerms({ firsts, termAt, countAt }: Postings, terms: number) {
  const all = firsts.at(-1) ?? 0;
  const ends = new Uint32Array(terms + 1);
  for (let posting = 0; posting < all; posting++) {
    const next = (termAt[posting] ?? 0) + 1;
    ends[next] = (ends[next] ?? 0) + 1;
  }
  for (let term = 1; term <= terms; term++) ends[term] = (ends[term] ?? 0) + (ends[term - 1] ?? 0);
  const chunks = new Uint32Array(all);
  const counts = new Uint32Array(all);
  for (let chunk = 0; chunk < firsts.length - 1; chunk++) {
    for (let posting = firsts[chunk] ?? 0; posting < (firsts[chunk + 1] ?? 0); posting++) {
      const term = termAt[posting] ?? 0;
      const place = ends[term] ?? 0;
      ends[term] = place + 1;
      chunks[place] = chunk;
      counts[place] = countAt[posting] ?? 0;
    }
  }
  return { ends, chunks, counts };
}

const NUMBER_BYTES = 5;

/** Returns the place behind it. */
function writeNumber(bytes: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
  bytes[at++] = rest;
  return at;
}

/** A half-open range of P, UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A range of P that is ranked as one, also in bytes of P's UTF-8. */
export interface Chunk extends Span {
  readonly from: number;
  readonly to: number;
}

/**
 * Most UTF-16 units in a chunk: about one screen of code, small enough that a hit can be read
 * whole.
 */
const CHUNK_UNITS = 1500;

/**
 * Cuts documents (sorted, not overlapping) into chunks of whole lines, as many as fit in
 * `CHUNK_UNITS`. A longer line is cut at that length, never inside a surrogate pair. Chunks of a
 * document tile it; none crosses its ends.
 */
export function* chunksOf({ bytes: size, byteAt, read }: Text, documents: readonly Span[]): Generator<Chunk> {
  const bytes = read(0, size);
  for (const document of documents) {
    const last = byteAt(document.end);
    let from = byteAt(document.start);
    for (let start = document.start; from < last; ) {
      const { to, units } = reach(bytes, from, last);
      yield { start, end: start + units, from, to };
      start += units;
      from = to;
    }
  }
}

/**
 * The end of the chunk that begins at `from`, in a document that ends at `last`, and its UTF-16
 * units.
 */
function reach(bytes: Buffer, from: number, last: number): { to: number; units: number } {
  const most = advance(bytes, from, last);
  if (most.to === last) return most;
  const to = from + (bytes.subarray(from, most.to).lastIndexOf(LINE_FEED) + 1 || most.to - from);
  return most.units === most.to - from ? { to, units: to - from } : advance(bytes, from, to);
}

const LINE_FEED = 10;

/** Goes over whole characters, at most `CHUNK_UNITS` UTF-16 units of them, up to `last`. */
function advance(bytes: Buffer, from: number, last: number): { to: number; units: number } {
  const most = Math.min(from + CHUNK_UNITS, last);
  if (isAscii(bytes.subarray(from, most))) return { to: most, units: most - from };
  let units = 0;
  let to = from;
  while (to < last) {
    const byte = bytes[to] ?? 0;
    const wide = byte >= 0xf0 ? 2 : 1;
    if (units + wide > CHUNK_UNITS) break;
    units += wide;
    to += byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  }
  return { to, units };
}
