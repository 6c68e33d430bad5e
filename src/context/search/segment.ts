import { openByteWriter } from "./byte-writer.ts";
import { chunksIn, type Span } from "./chunks.ts";
import type { Segment } from "./index-file.ts";
import { openPostings } from "./postings.ts";
import { openRecords, type Records } from "./records.ts";
import { openRuns } from "./runs.ts";
import { openStems, type StemGroups } from "./stem-groups.ts";
import { openWordTable } from "./word-table.ts";

// A segment of an index. First numbers of 32 bits: for each chunk its start and its end, counted
// from the segment's start, and how many words it has; for each bucket of a hash table the place of
// its first block in the segment, and at last the segment's length. Then the blocks. A block has
// the words of a stem, and lies in the bucket of the stem's hash. It has its own length, and for
// each word the length of its UTF-8, the UTF-8, the length of its postings, and the postings. A
// posting is twice the distance from the chunk before, plus 1 if the word is there more than once:
// then the number of times follows. Numbers in blocks have 7 bits a byte, the lowest ones first.

export const WORD_BYTES = 4;
export const CHUNK_WORDS = 3;
/** Makes segments, one after the other, in the same memory. */
interface SegmentMaker {
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
  const postings = openPostings();
  const runs = openRuns(table, seed, postings.add);
  const records = openRecords(table);
  const stems = openStems(table);
  const blocks = openBlocks(records);
  return {
    segmentOf(bytes, spans, between = () => {}) {
      const start = spans[0]?.start ?? 0;
      table.clear();
      postings.clear();
      runs.begin(bytes);
      const facts: number[] = [];
      let words = 0;
      for (const chunk of chunksIn(bytes, start, spans)) {
        between();
        postings.beginChunk();
        const inChunk = runs.each(chunk.from, chunk.to);
        facts.push(chunk.start - start, chunk.end - start, inChunk);
        words += inChunk;
      }
      const count = table.count();
      records.write(postings.sorted(count));
      const groups = stems.groups(count);
      const content = blocks.write(facts, groups);
      return { content, start, chunks: facts.length / CHUNK_WORDS, words, buckets: groups.buckets };
    },
  };
}

/** Writes segments. */
interface Blocks {
  /** @param facts the numbers of all chunks */
  write(facts: readonly number[], groups: StemGroups): Buffer;
}

function openBlocks(records: Records): Blocks {
  const writer = openByteWriter();

  function putBlock({ firsts, nexts }: StemGroups, stem: number): void {
    const block = writer.open();
    for (let word = firsts[stem] ?? 0; word !== 0; word = nexts[word - 1] ?? 0) {
      writer.copy(records.bytes(), records.start(word - 1), records.end(word - 1));
    }
    writer.close(block);
  }

  /** Puts the stems of a place and of those behind it, up to an end. */
  function putBucket(groups: StemGroups, from: number, to: number): void {
    for (let place = from; place < to; place++) putBlock(groups, groups.order[place] ?? 0);
  }

  /** Puts all buckets. Returns the place of each, and of their end. */
  function putBuckets(groups: StemGroups): Uint32Array {
    const { buckets, bucketEnds } = groups;
    const places = new Uint32Array(buckets + 1);
    places[0] = writer.at();
    for (let bucket = 0; bucket < buckets; bucket++) {
      putBucket(groups, bucket === 0 ? 0 : (bucketEnds[bucket - 1] ?? 0), bucketEnds[bucket] ?? 0);
      places[bucket + 1] = writer.at();
    }
    return places;
  }

  return {
    write(facts, groups) {
      const numbers = facts.length + groups.buckets + 1;
      writer.begin(numbers * WORD_BYTES);
      const places = putBuckets(groups);
      const end = writer.at();
      const room = writer.room();
      const head = new Uint32Array(room.buffer, 0, numbers);
      head.set(facts);
      head.set(places, facts.length);
      return room.subarray(0, end);
    },
  };
}
