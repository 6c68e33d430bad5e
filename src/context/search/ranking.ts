import type { IndexFile, SegmentFacts } from "./index-file.ts";
import {
  blockOf,
  type ChunkFacts,
  chunkFacts,
  type IndexTerm,
  indexTerm,
  openPostingsReader,
  POSTING,
  type TermPostings,
} from "./reader.ts";

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
/** Postings stay in memory between the two times that they are needed, up to this. */
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
  const postings = openPostings(file, terms);
  for (const segment of file.segments) {
    for (const { term, from, to, exact } of postings.in(segment)) {
      term.holders.exact += exact;
      term.holders.forms += (to - from) / POSTING.numbers;
    }
  }
  const scorer = openScorer(file.segments);
  const best = openBest(k);
  for (const segment of file.segments) {
    const matched = postings.in(segment);
    if (matched.length === 0) continue;
    const facts = chunkFacts(file, segment);
    const { count, chunks, scores } = scorer.score(facts, matched);
    let least = best.least();
    for (let n = 0; n < count; n++) {
      const score = scores[n] ?? 0;
      if (score < least) continue;
      best.add(rangeOf(segment, facts, chunks[n] ?? 0, score));
      least = best.least();
    }
  }
  return best.all();
}

const mostChunks = (segments: readonly SegmentFacts[]) =>
  segments.reduce((most, { chunks }) => Math.max(most, chunks), 0);

/** A term in a segment. */
interface FoundTerm extends TermPostings {
  readonly term: Term;
}

/** Terms by segments. */
interface Postings {
  in(segment: SegmentFacts): readonly FoundTerm[];
}

function openPostings(file: IndexFile, terms: readonly Term[]): Postings {
  const kept = new Map<SegmentFacts, readonly FoundTerm[]>();
  const reader = openPostingsReader(mostChunks(file.segments));
  let bytes = 0;
  return {
    in(segment) {
      const known = kept.get(segment);
      if (known) return known;
      const found = terms.flatMap((term): FoundTerm[] => {
        const block = blockOf(file, segment, term);
        return block ? [{ term, ...reader.read(block, term) }] : [];
      });
      bytes += found.reduce((sum, { from, to }) => sum + (to - from) * Uint32Array.BYTES_PER_ELEMENT, 0);
      if (bytes <= KEPT_BYTES) kept.set(segment, found);
      return found;
    },
  };
}

/** The first `count` numbers are chunks of a segment that have a term, in no order, with their scores. */
interface Scored {
  readonly count: number;
  readonly chunks: Uint32Array;
  readonly scores: Float64Array;
}

/** Scores the chunks of one segment after the other by BM25. */
interface Scorer {
  /** Scores the chunks with a term. The result holds until the next segment. */
  score(facts: ChunkFacts, found: readonly FoundTerm[]): Scored;
}

function openScorer(segments: readonly SegmentFacts[]): Scorer {
  const most = mostChunks(segments);
  const all = segments.reduce((sum, { chunks }) => sum + chunks, 0);
  const averageWords = segments.reduce((sum, segment) => sum + segment.words, 0) / all;
  // For each chunk of the segment; 0 between two segments.
  const words = new Float64Array(most);
  const stems = new Float64Array(most);
  /** Added to a count, by which a long chunk is worth less. Only those of chunks that were met are valid. */
  const lengths = new Float64Array(most);
  const chunks = new Uint32Array(most);
  const scores = new Float64Array(most);

  const idfOf = (holders: number) => Math.max(Math.log((all - holders + 0.5) / (holders + 0.5)), LEAST_IDF);

  return {
    score(facts, found) {
      let count = 0;
      for (const { term, numbers, from, to } of found) {
        const { weight, holders } = term;
        const exactIdf = idfOf(holders.exact);
        const formsIdf = idfOf(holders.forms);
        for (let at = from; at < to; at += POSTING.numbers) {
          const chunk = numbers[at] ?? 0;
          if (stems[chunk] === 0) {
            chunks[count++] = chunk;
            lengths[chunk] = K1 * (1 - B + (B * facts.words(chunk)) / averageWords);
          }
          const length = lengths[chunk] ?? 0;
          addWorth(stems, chunk, formsIdf, numbers[at + POSTING.forms] ?? 0, length, weight);
          addWorth(words, chunk, exactIdf, numbers[at + POSTING.exact] ?? 0, length, weight);
        }
      }
      for (let n = 0; n < count; n++) {
        const chunk = chunks[n] ?? 0;
        scores[n] = EXACT_WEIGHT * (words[chunk] ?? 0) + (stems[chunk] ?? 0);
        words[chunk] = 0;
        stems[chunk] = 0;
      }
      return { count, chunks, scores };
    },
  };
}

/** Adds what so many occurrences of a term are worth in a chunk. */
function addWorth(scores: Float64Array, chunk: number, idf: number, count: number, length: number, weight: number) {
  if (count === 0) return;
  const worth = idf * ((count * (K1 + 1)) / (count + length));
  for (let times = 0; times < weight; times++) scores[chunk] = (scores[chunk] ?? 0) + worth;
}

function rangeOf({ start }: SegmentFacts, facts: ChunkFacts, chunk: number, score: number): Ranked {
  return { start: start + facts.start(chunk), end: start + facts.end(chunk), score };
}

/** The ranges with the highest scores, equal ones in the order of P. */
interface Best {
  /** A range with a lower score is none of the best. */
  least(): number;
  add(range: Ranked): void;
  all(): readonly Ranked[];
}

function openBest(k: number): Best {
  const best: Ranked[] = [];
  return {
    least: () => (best.length < k ? 0 : (best.at(-1)?.score ?? 0)),
    add(range) {
      const at = best.findLastIndex((one) => isBefore(one, range)) + 1;
      best.splice(at, 0, range);
      if (best.length > k) best.pop();
    },
    all: () => best,
  };
}

function isBefore(one: Ranked, other: Ranked): boolean {
  return one.score > other.score || (one.score === other.score && one.start < other.start);
}
