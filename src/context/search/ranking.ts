import type { IndexFile, SegmentFacts } from "./index-file.ts";
import {
  blockOf,
  chunkFacts,
  type IndexTerm,
  indexTerm,
  openPostingsReader,
  POSTING,
  type TermPostings,
} from "./reader.ts";
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
    const { words, stems } = scorer.scores(segment, facts, matched);
    for (let chunk = 0; chunk < words.length; chunk++) {
      const score = EXACT_WEIGHT * (words[chunk] ?? 0) + (stems[chunk] ?? 0);
      if (score > best.least()) best.add(rangeOf(segment, facts, chunk, score));
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

/** The scores of the chunks of a segment, for words and for stems. They hold until the next segment. */
interface SegmentScores {
  readonly words: Float64Array;
  readonly stems: Float64Array;
}

/** Scores the chunks of one segment after the other by BM25. */
interface Scorer {
  scores(segment: SegmentFacts, facts: Uint32Array, found: readonly FoundTerm[]): SegmentScores;
}

function openScorer(segments: readonly SegmentFacts[]): Scorer {
  const most = mostChunks(segments);
  const all = segments.reduce((sum, { chunks }) => sum + chunks, 0);
  const averageWords = segments.reduce((sum, segment) => sum + segment.words, 0) / all;
  const words = new Float64Array(most);
  const stems = new Float64Array(most);
  /** Added to a count, by which a long chunk is worth less. */
  const lengths = new Float64Array(most);

  /** Adds what a term is worth that so many chunks have. @param which the number of a posting that counts */
  function addWorth(scores: Float64Array, { term, numbers, from, to }: FoundTerm, which: number, holders: number) {
    const idf = Math.max(Math.log((all - holders + 0.5) / (holders + 0.5)), LEAST_IDF);
    for (let at = from; at < to; at += POSTING.numbers) {
      const count = numbers[at + which] ?? 0;
      if (count === 0) continue;
      const chunk = numbers[at] ?? 0;
      const worth = idf * ((count * (K1 + 1)) / (count + (lengths[chunk] ?? 0)));
      for (let times = 0; times < term.weight; times++) scores[chunk] = (scores[chunk] ?? 0) + worth;
    }
  }

  return {
    scores({ chunks: count }, facts, found) {
      for (let chunk = 0; chunk < count; chunk++) {
        lengths[chunk] = K1 * (1 - B + (B * (facts[chunk * CHUNK_WORDS + 2] ?? 0)) / averageWords);
      }
      const scores = { words: words.subarray(0, count).fill(0), stems: stems.subarray(0, count).fill(0) };
      for (const one of found) {
        addWorth(scores.words, one, POSTING.exact, one.term.holders.exact);
        addWorth(scores.stems, one, POSTING.forms, one.term.holders.forms);
      }
      return scores;
    },
  };
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
