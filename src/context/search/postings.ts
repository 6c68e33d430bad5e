import { accumulate, larger, withLength } from "./numbers.ts";

/** The words of chunks, as they are added chunk by chunk. A posting is a word in a chunk. */
interface Postings {
  /** Forgets all, and keeps the memory. */
  clear(): void;
  /** Begins the next chunk. */
  beginChunk(): void;
  /** Adds a word of the chunk by its number. */
  add(word: number): void;
  /** Brings the postings into the order of words. @param words how many there are */
  sorted(words: number): SortedPostings;
}

/** Postings by words, those of a word in the order of chunks. Valid until the next `clear`. */
export interface SortedPostings {
  /** The number of postings of a word and of all words before it. */
  readonly ends: Uint32Array;
  /** The chunk of each posting. */
  readonly chunks: Uint32Array;
  /** The number of times that this chunk has the word. */
  readonly counts: Uint32Array;
}

const ROOM = 1 << 14;

/** Opens a list without postings. */
export function openPostings(): Postings {
  /** Per word: its last posting, plus 1. */
  let lastOf = new Uint32Array(ROOM);
  /** Per posting: its word, and how often the chunk has it. */
  let wordAt = new Uint32Array(ROOM);
  let countAt = new Uint32Array(ROOM);
  let count = 0;
  /** The first posting of each chunk, and of the last one. */
  let firsts = new Uint32Array(ROOM);
  let begun = 0;
  let first = 0;
  let ends = new Uint32Array(ROOM);
  let chunks = new Uint32Array(ROOM);
  let counts = new Uint32Array(ROOM);

  /** Counts the postings of the word before each. */
  function countPostings(): void {
    for (let posting = 0; posting < count; posting++) {
      const next = (wordAt[posting] ?? 0) + 1;
      ends[next] = (ends[next] ?? 0) + 1;
    }
  }

  /** Puts the postings of a chunk behind those of its words; beginnings of words become ends. */
  function sortChunk(chunk: number): void {
    const last = chunk + 1 < begun ? (firsts[chunk + 1] ?? 0) : count;
    for (let posting = firsts[chunk] ?? 0; posting < last; posting++) {
      const word = wordAt[posting] ?? 0;
      const place = ends[word] ?? 0;
      ends[word] = place + 1;
      chunks[place] = chunk;
      counts[place] = countAt[posting] ?? 0;
    }
  }

  return {
    clear() {
      lastOf.fill(0);
      count = 0;
      begun = 0;
    },
    beginChunk() {
      if (begun === firsts.length) firsts = larger(firsts);
      first = count;
      firsts[begun++] = count;
    },
    add(word) {
      while (word >= lastOf.length) lastOf = larger(lastOf);
      const last = lastOf[word] ?? 0;
      if (last > first) {
        countAt[last - 1] = (countAt[last - 1] ?? 0) + 1;
        return;
      }
      if (count === wordAt.length) {
        wordAt = larger(wordAt);
        countAt = larger(countAt);
      }
      wordAt[count] = word;
      countAt[count] = 1;
      count += 1;
      lastOf[word] = count;
    },
    sorted(words) {
      ends = withLength(ends, words + 1);
      chunks = withLength(chunks, count);
      counts = withLength(counts, count);
      ends.fill(0, 0, words + 1);
      countPostings();
      accumulate(ends, words + 1);
      for (let chunk = 0; chunk < begun; chunk++) sortChunk(chunk);
      return { ends, chunks, counts };
    },
  };
}
