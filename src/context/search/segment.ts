import { chunksIn, type Span } from "./chunks.ts";
import type { Segment } from "./index-file.ts";
import { openPostings, type SortedPostings } from "./postings.ts";
import { openRuns } from "./runs.ts";
import { openStems, type StemGroups } from "./stem-groups.ts";
import { openWordTable, type WordTable } from "./word-table.ts";

// A segment of an index. First numbers of 32 bits: for each chunk its start and its end, counted
// from the segment's start, and how many words it has; for each bucket of a hash table the place of
// its first block in the segment, and at last the segment's length. Then the blocks. A block has
// the words of a stem, and lies in the bucket of the stem's hash. It has its own length, and for
// each word the length of its UTF-8, the UTF-8, the length of its postings, and the postings. A
// posting is twice the distance from the chunk before, plus 1 if the word is there more than once:
// then the number of times follows. Numbers in blocks have 7 bits a byte, the lowest ones first.

export const WORD_BYTES = 4;
export const CHUNK_WORDS = 3;
/** Most bytes of a number in a block, and of a posting. */
const NUMBER_BYTES = 5;
const POSTING_BYTES = 2 * NUMBER_BYTES;

/** Makes segments, one after the other, in the same memory. */
export interface SegmentMaker {
  /**
   * Indexes a part of P. Equal parts always give equal bytes. They are valid until the next part.
   *
   * @param bytes the UTF-8 from the first range to the last
   * @param spans ranges of P, sorted, not overlapping
   * @param between is called before each chunk, and may throw to end the work
   */
  segmentOf(bytes: Buffer, spans: readonly Span[], between?: () => void): Segment;
}

/** Opens a maker of segments. */
export function openSegmentMaker(seed: number): SegmentMaker {
  const table = openWordTable(seed);
  const runs = openRuns(table, seed);
  const postings = openPostings();
  const stems = openStems(table);
  const blocks = openBlocks(table);
  return {
    segmentOf(bytes, spans, between = () => {}) {
      const start = spans[0]?.start ?? 0;
      table.clear();
      postings.clear();
      runs.begin(bytes);
      const facts: number[] = [];
      let words = 0;
      let inChunk = 0;
      function add(word: number): void {
        postings.add(word);
        inChunk += 1;
      }
      for (const chunk of chunksIn(bytes, start, spans)) {
        between();
        postings.beginChunk();
        inChunk = 0;
        runs.each(chunk.from, chunk.to, add);
        facts.push(chunk.start - start, chunk.end - start, inChunk);
        words += inChunk;
      }
      const count = table.count();
      const sorted = postings.sorted(count);
      const groups = stems.groups(count);
      const content = blocks.write(facts, groups, sorted);
      return { content, start, chunks: facts.length / CHUNK_WORDS, words, buckets: groups.buckets };
    },
  };
}

/** Writes segments. */
interface Blocks {
  /** @param facts the numbers of all chunks */
  write(facts: readonly number[], groups: StemGroups, postings: SortedPostings): Buffer;
}

function openBlocks(table: WordTable): Blocks {
  let room = Buffer.from(new ArrayBuffer(1 << 16));
  let at = 0;

  function reserve(bytes: number): void {
    while (at + bytes > room.length) room = Buffer.from(room.buffer.transfer(2 * room.length));
  }

  function put(value: number): void {
    let rest = value;
    for (; rest >= 0x80; rest >>>= 7) room[at++] = (rest & 0x7f) | 0x80;
    room[at++] = rest;
  }

  /** Puts the length of what was put from a place on in front of it. One byte was left for that. */
  function close(from: number): void {
    const length = at - from;
    if (length < 0x80) {
      room[from - 1] = length;
      return;
    }
    const more = length < 1 << 14 ? 1 : length < 1 << 21 ? 2 : length < 1 << 28 ? 3 : 4;
    room.copyWithin(from + more, from, at);
    at = from - 1;
    put(length);
    at += length;
  }

  function putWord(word: number, { ends, chunks, counts }: SortedPostings): void {
    const from = table.start(word);
    const to = table.end(word);
    const first = word === 0 ? 0 : (ends[word - 1] ?? 0);
    const last = ends[word] ?? 0;
    reserve(to - from + (last - first) * POSTING_BYTES + 3 * NUMBER_BYTES);
    put(to - from);
    const bytes = table.bytes();
    for (let n = from; n < to; n++) room[at++] = bytes[n] ?? 0;
    at += 1;
    const listAt = at;
    let before = 0;
    for (let posting = first; posting < last; posting++) {
      const chunk = chunks[posting] ?? 0;
      const count = counts[posting] ?? 0;
      put((chunk - before) * 2 + (count > 1 ? 1 : 0));
      if (count > 1) put(count);
      before = chunk;
    }
    close(listAt);
  }

  return {
    write(facts, { buckets, order, bucketEnds, firsts, nexts }, postings) {
      at = (facts.length + buckets + 1) * WORD_BYTES;
      reserve(0);
      const places = new Uint32Array(buckets + 1);
      let n = 0;
      for (let bucket = 0; bucket < buckets; bucket++) {
        places[bucket] = at;
        for (const last = bucketEnds[bucket] ?? 0; n < last; n++) {
          reserve(NUMBER_BYTES);
          at += 1;
          const blockAt = at;
          for (let word = firsts[order[n] ?? 0] ?? 0; word !== 0; word = nexts[word - 1] ?? 0) {
            putWord(word - 1, postings);
          }
          close(blockAt);
        }
      }
      places[buckets] = at;
      const head = new Uint32Array(room.buffer, 0, facts.length + buckets + 1);
      head.set(facts);
      head.set(places, facts.length);
      return room.subarray(0, at);
    },
  };
}
