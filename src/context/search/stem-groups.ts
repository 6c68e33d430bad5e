import { accumulate, withLength } from "./numbers.ts";
import { stemOf } from "./tokens.ts";
import type { WordTable } from "./word-table.ts";

/**
 * Words by their stems, and stems by the buckets of their hashes. A stem has the number of the word
 * that it is; one that is no word of its own has a number behind theirs.
 */
export interface StemGroups {
  readonly buckets: number;
  /** Stems in the order of their buckets, those of a bucket in the order of their numbers. */
  readonly order: Uint32Array;
  /** The place in `order` at which each bucket ends. */
  readonly bucketEnds: Uint32Array;
  /** The first word of a stem, plus 1. */
  readonly firsts: Uint32Array;
  /** The next word with the same stem, plus 1; 0: there is none. */
  readonly nexts: Uint32Array;
}

/** Finds stems of the words of a table, again and again in the same memory. */
interface Stems {
  /**
   * Valid until the next call. Stems are added to the table.
   *
   * @param words the number of words in the table
   */
  groups(words: number): StemGroups;
}

/** Stems in a bucket, on average. */
const BUCKET_STEMS = 4;
const ROOM = 1 << 14;

/** The bucket of a hash of 32 bits. */
export const bucketOf = (hash: number, buckets: number) => Math.floor((hash * buckets) / 2 ** 32);

/** Opens the stems of a table of words. */
export function openStems(table: WordTable): Stems {
  const differs = mayDiffer();
  let stems = new Uint32Array(ROOM);
  let firsts = new Uint32Array(ROOM);
  let nexts = new Uint32Array(ROOM);
  let order = new Uint32Array(ROOM);
  let bucketEnds = new Uint32Array(ROOM);

  /** The number of a word's stem. */
  function stemNumber(word: number): number {
    const bytes = table.bytes();
    const from = table.start(word);
    const to = table.end(word);
    if (to - from < 2 || differs[((bytes[to - 2] ?? 0) << 8) | (bytes[to - 1] ?? 0)] === 0) return word;
    const text = bytes.toString("latin1", from, to);
    const stem = stemOf(text);
    if (stem === text) return word;
    const other = Buffer.from(stem, "latin1");
    return table.numberOf(other, 0, other.length);
  }

  function findStems(words: number): void {
    for (let word = 0; word < words; word++) stems[word] = stemNumber(word);
  }

  /** Puts words that have the same stem behind each other. Returns the number of stems. */
  function link(words: number): number {
    let count = 0;
    for (let word = words - 1; word >= 0; word--) {
      const stem = stems[word] ?? 0;
      const first = firsts[stem] ?? 0;
      if (first === 0) count += 1;
      nexts[word] = first;
      firsts[stem] = word + 1;
    }
    return count;
  }

  /** Counts the stems in the bucket before each. */
  function countStems(buckets: number, all: number): void {
    for (let stem = 0; stem < all; stem++) {
      if (firsts[stem] === 0) continue;
      const next = bucketOf(table.hash(stem), buckets) + 1;
      bucketEnds[next] = (bucketEnds[next] ?? 0) + 1;
    }
  }

  /** Puts stems into the order of their buckets; beginnings of buckets become ends. */
  function sort(buckets: number, all: number): void {
    for (let stem = 0; stem < all; stem++) {
      if (firsts[stem] === 0) continue;
      const bucket = bucketOf(table.hash(stem), buckets);
      const place = bucketEnds[bucket] ?? 0;
      order[place] = stem;
      bucketEnds[bucket] = place + 1;
    }
  }

  return {
    groups(words) {
      stems = withLength(stems, words);
      nexts = withLength(nexts, words);
      findStems(words);
      const all = table.count();
      firsts = withLength(firsts, all);
      firsts.fill(0, 0, all);
      const count = link(words);
      const buckets = Math.ceil(count / BUCKET_STEMS);
      order = withLength(order, count);
      bucketEnds = withLength(bucketEnds, buckets + 1);
      bucketEnds.fill(0, 0, buckets + 1);
      countStems(buckets, all);
      accumulate(bucketEnds, buckets + 1);
      sort(buckets, all);
      return { buckets, order, bucketEnds, firsts, nexts };
    },
  };
}

/** Bytes of words with which a stem may end otherwise: all that `stemOf` changes end so. */
const ENDINGS = new Set("ed ng ci gi li ti al ul ll er or on sm nt ic ou".split(" "));
const LAST = new Set("esy");
let endings: Uint8Array | undefined;

/** 1 for two bytes that may end a word with another stem than itself. It takes 1 ms, which threads that make no index do without. */
function mayDiffer(): Uint8Array {
  endings ??= Uint8Array.from({ length: 1 << 16 }, (_, pair) => {
    const last = String.fromCharCode(pair & 0xff);
    return LAST.has(last) || ENDINGS.has(String.fromCharCode(pair >> 8) + last) ? 1 : 0;
  });
  return endings;
}
