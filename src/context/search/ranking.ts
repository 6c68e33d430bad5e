import type { IndexFile, SegmentFacts } from "./index-file.ts";
import { addCounts, blockOf, chunkFacts, type IndexTerm, indexTerm, type TermCounts } from "./reader.ts";
import { CHUNK_WORDS } from "./segment.ts";

/** A range of P, UTF-16 units, with its score, which is above 0. */
export interface Ranked {
  readonly start: number;
  readonly end: number;
  readonly score: number;
}

/** A term of a query with its weight. */
export type WeightedTerm = readonly [term: string, weight: number];

/**
 * A chunk with the word itself wins over any number of its other forms: BM25 lets repetition make a
 * term's worth 2.2 times as large at the most, and a word is at least as rare as its stem, so that
 * one exact match is worth 3 times as much.
 */
const EXACT_WEIGHT = 2;
const K1 = 1.2;
const B = 0.75;
const LEAST_IDF = 1e-6;
/** Blocks stay in memory between the two times that they are needed, up to this. */
const KEPT_BYTES = 32 * 1024 * 1024;

/** A term of a query. */
interface Term extends IndexTerm {
  readonly weight: number;
  /** The number of chunks with the word, and of those with any word of its stem. */
  readonly holders: { exact: number; forms: number };
}

/**
 * The `k` chunks with the highest scores, best first, equal ones in the order of P. A score needs
 * the number of all chunks with a term, so the segments are gone through twice, each by itself: the
 * memory does not grow with P.
 *
 * @param seed of the index
 */
export function rank(file: IndexFile, query: readonly WeightedTerm[], seed: number, k: number): readonly Ranked[] {
  const terms = query.map(([term, weight]) => ({
    ...indexTerm(term, seed),
    weight,
    holders: { exact: 0, forms: 0 },
  }));
  const blocks = openBlocks(file, terms);
  const room = openRoom(file.segments);
  for (const segment of file.segments) {
    for (const { term, block } of blocks.in(segment)) {
      const { exact, forms } = room.counts(segment, term, block);
      term.holders.exact += holdersIn(exact);
      term.holders.forms += holdersIn(forms);
    }
  }
  const worthOf = openWorth(file.segments);
  const best = openBest(k);
  for (const segment of file.segments) {
    const matched = blocks.in(segment);
    if (matched.length === 0) continue;
    const facts = chunkFacts(file, segment);
    const { words, stems } = room.scores(segment);
    for (const { term, block } of matched) {
      const { exact, forms } = room.counts(segment, term, block);
      addWorth(words, exact, term.weight, worthOf(term.holders.exact, facts));
      addWorth(stems, forms, term.weight, worthOf(term.holders.forms, facts));
    }
    for (let chunk = 0; chunk < words.length; chunk++) {
      const score = EXACT_WEIGHT * (words[chunk] ?? 0) + (stems[chunk] ?? 0);
      if (score > best.least()) best.add(rangeOf(segment, facts, chunk, score));
    }
  }
  return best.all();
}

/** The block of a term in a segment. */
interface TermBlock {
  readonly term: Term;
  readonly block: Buffer;
}

/** The blocks of terms by segments. */
interface Blocks {
  in(segment: SegmentFacts): readonly TermBlock[];
}

function openBlocks(file: IndexFile, terms: readonly Term[]): Blocks {
  const kept = new Map<SegmentFacts, readonly TermBlock[]>();
  let bytes = 0;
  return {
    in(segment) {
      const known = kept.get(segment);
      if (known) return known;
      const blocks = terms.flatMap((term) => {
        const block = blockOf(file, segment, term);
        return block ? [{ term, block }] : [];
      });
      bytes += blocks.reduce((sum, { block }) => sum + block.length, 0);
      // A copy, since a block keeps its page.
      if (bytes <= KEPT_BYTES) {
        kept.set(
          segment,
          blocks.map(({ term, block }) => ({ term, block: Buffer.from(block) })),
        );
      }
      return blocks;
    },
  };
}

/** The scores of the chunks of a segment, for words and for stems. */
interface SegmentScores {
  readonly words: Float64Array;
  readonly stems: Float64Array;
}

/** Memory for one segment after the other. */
interface Room {
  counts(segment: SegmentFacts, term: IndexTerm, block: Buffer): TermCounts;
  /** Scores that are 0. */
  scores(segment: SegmentFacts): SegmentScores;
}

function openRoom(segments: readonly SegmentFacts[]): Room {
  const most = segments.reduce((largest, { chunks }) => Math.max(largest, chunks), 0);
  const exact = new Uint32Array(most);
  const forms = new Uint32Array(most);
  const words = new Float64Array(most);
  const stems = new Float64Array(most);
  return {
    counts({ chunks }, term, block) {
      const counts = { exact: exact.subarray(0, chunks).fill(0), forms: forms.subarray(0, chunks).fill(0) };
      addCounts(block, term, counts);
      return counts;
    },
    scores: ({ chunks }) => ({
      words: words.subarray(0, chunks).fill(0),
      stems: stems.subarray(0, chunks).fill(0),
    }),
  };
}

function holdersIn(counts: Uint32Array): number {
  let holders = 0;
  for (let chunk = 0; chunk < counts.length; chunk++) if (counts[chunk] !== 0) holders += 1;
  return holders;
}

/** The worth of a term that a chunk has so many times. */
type Worth = (chunk: number, count: number) => number;

/** BM25. @returns the worth of a term that so many chunks have, in a segment with these facts */
function openWorth(segments: readonly SegmentFacts[]): (holders: number, facts: Uint32Array) => Worth {
  const chunks = segments.reduce((sum, segment) => sum + segment.chunks, 0);
  const averageWords = segments.reduce((sum, segment) => sum + segment.words, 0) / chunks;
  return (holders, facts) => {
    const idf = Math.max(Math.log((chunks - holders + 0.5) / (holders + 0.5)), LEAST_IDF);
    return (chunk, count) => {
      const words = facts[chunk * CHUNK_WORDS + 2] ?? 0;
      const share = 1 - B + (B * words) / averageWords;
      return idf * ((count * (K1 + 1)) / (count + K1 * share));
    };
  };
}

function addWorth(scores: Float64Array, counts: Uint32Array, weight: number, worthOf: Worth): void {
  for (let chunk = 0; chunk < counts.length; chunk++) {
    const count = counts[chunk] ?? 0;
    if (count === 0) continue;
    const worth = worthOf(chunk, count);
    for (let times = 0; times < weight; times++) scores[chunk] = (scores[chunk] ?? 0) + worth;
  }
}

function rangeOf({ start }: SegmentFacts, facts: Uint32Array, chunk: number, score: number): Ranked {
  const at = chunk * CHUNK_WORDS;
  return { start: start + (facts[at] ?? 0), end: start + (facts[at + 1] ?? 0), score };
}

/** The ranges with the highest scores, equal ones in the order in which they are added. */
interface Best {
  /** A range with a higher score is one of the best. */
  least(): number;
  add(range: Ranked): void;
  all(): readonly Ranked[];
}

function openBest(k: number): Best {
  const best: Ranked[] = [];
  return {
    least: () => (best.length < k ? 0 : (best.at(-1)?.score ?? 0)),
    add(range) {
      const at = best.findLastIndex(({ score }) => score >= range.score) + 1;
      best.splice(at, 0, range);
      if (best.length > k) best.pop();
    },
    all: () => best,
  };
}
