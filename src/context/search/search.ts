import { hash } from "node:crypto";
import { join } from "node:path";
import { buildIndexFile, type IndexLocation, refuseAgain, type SearchSource } from "./build.ts";
import { type IndexFile, openIndexFile } from "./index-file.ts";
import { MAX_QUERY_TERMS, queryWords } from "./query-words.ts";
import { openReader, type Postings, type Reader } from "./reader.ts";
import { INDEX_FORMAT, queryTerms } from "./tokens.ts";

/** The index of one context, bound to the thread that opened it. Disposing it closes the file. */
export interface SearchIndex {
  /**
   * The `k` best chunks for any term of the query or for another form of it (connections,
   * connection), best first, equal ones in the order of P. The form in the query counts more than
   * other forms. The query is data: no character of it is an operator. Without a letter or digit in
   * it the answer is empty. Scores are BM25, above 0, with 6 significant digits, and comparable
   * within one answer only. `at` is the beginning of the line of the chunk that has most of the
   * words.
   */
  search(query: string, k: number): { text: string; score: number; start: number; end: number; at: number }[];
  [Symbol.dispose](): void;
}

/**
 * Opens the index of a context, and first builds it if it is missing or damaged: about 0.03 s of
 * CPU per MB of P, in this thread and others. Errors of the file system are thrown as they are.
 * @throws RlmError `search_too_large`
 */
export function openSearchIndex(source: SearchSource, options: IndexLocation): SearchIndex {
  const file = openTrusted(source, options);
  const reader = openReader(file, source.hash);
  return {
    search(query: string, k: number) {
      const terms = [...queryTerms(query)].slice(0, MAX_QUERY_TERMS);
      if (terms.length === 0) return [];
      const words = queryWords(query);
      return best(scoresOf(reader, terms), k).map(([chunk, score]) => {
        const [start, end] = reader.spanOf(chunk);
        const text = source.text.slice(start, end);
        const at = start + words.bestLine(text);
        return { text, score: Number(score.toPrecision(6)), start, end, at };
      });
    },
    [Symbol.dispose]: file[Symbol.dispose],
  };
}

/**
 * A chunk with the word itself wins over any number of its other forms: BM25 lets repetition make a
 * term's worth 2.2 times as large at the most, and a word is at least as rare as its stem, so that
 * one exact match is worth 3 times as much.
 */
const EXACT_WEIGHT = 2;
const K1 = 1.2;
const B = 0.75;
const LEAST_IDF = 1e-6;

/** The scores of all chunks; 0 for one without a term of the query. */
function scoresOf(reader: Reader, terms: readonly (readonly [term: string, weight: number])[]): Float64Array {
  const words = new Float64Array(reader.chunks);
  const stems = new Float64Array(reader.chunks);
  for (const [term, weight] of terms) {
    const { exact, forms } = reader.find(term);
    add(words, exact, weight);
    add(stems, forms, weight);
  }
  return words.map((score, chunk) => EXACT_WEIGHT * score + (stems[chunk] ?? 0));

  function add(scores: Float64Array, { chunks, counts }: Postings, weight: number): void {
    const idf = Math.max(Math.log((reader.chunks - chunks.length + 0.5) / (chunks.length + 0.5)), LEAST_IDF);
    for (const [index, chunk] of chunks.entries()) {
      const count = counts[index] ?? 0;
      const share = 1 - B + (B * reader.wordsOf(chunk)) / reader.averageWords;
      const worth = idf * ((count * (K1 + 1)) / (count + K1 * share));
      for (let times = 0; times < weight; times++) scores[chunk] = (scores[chunk] ?? 0) + worth;
    }
  }
}

/** The `k` chunks with the highest scores above 0, best first, equal ones in their order. */
function best(scores: Float64Array, k: number): (readonly [chunk: number, score: number])[] {
  const hits: (readonly [chunk: number, score: number])[] = [];
  for (const [chunk, score] of scores.entries()) {
    if (score <= (hits.length < k ? 0 : (hits.at(-1)?.[1] ?? 0))) continue;
    const at = hits.findLastIndex(([, other]) => other >= score) + 1;
    hits.splice(at, 0, [chunk, score]);
    if (hits.length > k) hits.pop();
  }
  return hits;
}

const MAGIC = "belay search index";
/**
 * Another builder may remove the parts of an index that it has made sooner. Then its index is
 * opened.
 */
const BUILD_ATTEMPTS = 3;

/** Opens the index file of a context, and first builds one if there is none that can be trusted. */
function openTrusted(source: SearchSource, location: IndexLocation): IndexFile {
  const path = join(location.dir, `${source.hash}-v${INDEX_FORMAT}.index`);
  const mark = markOf(source);
  for (let attempt = 0; attempt <= BUILD_ATTEMPTS; attempt += 1) {
    const file = openIndexFile(path, mark);
    if (file) return file;
    refuseAgain(path, source, mark, location);
    if (attempt < BUILD_ATTEMPTS) buildIndexFile(path, source, mark, location);
  }
  throw new Error(`search index ${path} cannot be read back`);
}

/**
 * Identifies what an index was built from. The same P can be divided into documents in two ways,
 * hence both.
 */
function markOf(source: SearchSource): string {
  const spans = source.documents.map(({ start, end }) => `${start}-${end}`).join(",");
  const documents = hash("sha256", spans);
  return `${MAGIC} ${INDEX_FORMAT} ${source.hash} ${documents}`;
}
