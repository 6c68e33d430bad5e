import { hash as digest } from "node:crypto";
import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { hasCode, RlmError } from "../../../runtime/index.ts";
import { isIntact } from "../../platform/checked-file.ts";
import { buildIndexFile, type IndexLocation, refuseAgain, type SearchSource } from "./build.ts";
import type { Span } from "./chunks.ts";
import { type IndexFile, openIndexFile } from "./index-file.ts";
import { MAX_QUERY_TERMS, queryWords } from "./query-words.ts";
import { type Ranked, rank, type WeightedTerm } from "./ranking.ts";
import { seedOf } from "./slots.ts";
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
 * Opens the index of a context, and first builds it if it is missing or damaged: about 0.05 s of
 * CPU per MB of P, in this thread and others. Errors of the file system are thrown as they are.
 * @throws RlmError `search_too_large`
 */
export function openSearchIndex(source: SearchSource, options: IndexLocation): SearchIndex {
  const path = pathOf(source, options);
  const file = openTrusted(path, source, options);
  const seed = seedOf(source.hash);

  /** @throws RlmError `search_unavailable` if the file is damaged; it is removed then */
  function ranked(terms: readonly WeightedTerm[], k: number): readonly Ranked[] {
    try {
      return rank(file, terms, seed, k);
    } catch (error) {
      if (!hasCode(error, "context_lost")) throw error;
      rmSync(path, { force: true });
      throw damaged(error);
    }
  }

  return {
    search(query: string, k: number) {
      const terms = [...queryTerms(query)].slice(0, MAX_QUERY_TERMS);
      if (terms.length === 0) return [];
      const words = queryWords(query);
      return ranked(terms, k).map(({ start, end, score }) => {
        const text = source.text.slice(start, end);
        const at = start + words.bestLine(text);
        return { text, score: Number(score.toPrecision(6)), start, end, at };
      });
    },
    [Symbol.dispose]: file[Symbol.dispose],
  };
}

function damaged(cause: unknown): RlmError {
  return new RlmError("search_unavailable", "the search index is damaged, and was removed", {
    suggestion: "Search again: the next search makes a new index.",
    cause,
  });
}

const MAGIC = "belay search index";
/**
 * Another builder may remove the parts of an index that it has made sooner. Then its index is
 * opened.
 */
const BUILD_ATTEMPTS = 3;
/**
 * A file that is no longer is read whole when it is opened, which takes up to 15 ms: if it is
 * damaged, it is replaced at once.
 */
const CHECKED_BYTES = 64 * 1024 * 1024;

const pathOf = ({ hash }: SearchSource, { dir }: IndexLocation) => join(dir, `${hash}-v${INDEX_FORMAT}.index`);

/** Opens the index file of a context, and first builds one if there is none that can be trusted. */
function openTrusted(path: string, source: SearchSource, location: IndexLocation): IndexFile {
  const mark = markOf(source);
  for (let attempt = 0; attempt <= BUILD_ATTEMPTS; attempt += 1) {
    const file = openIndexFile(path, mark);
    if (file && (file.length > CHECKED_BYTES || isIntact(path))) return file;
    file?.[Symbol.dispose]();
    refuseAgain(path, source, mark, location);
    if (attempt < BUILD_ATTEMPTS) buildIndexFile(path, source, mark, location);
  }
  throw new Error(`search index ${path} cannot be read back`);
}

/**
 * Identifies what an index was built from. The same P can be divided into documents in two ways,
 * hence both.
 */
function markOf({ text, hash, documents }: SearchSource): string {
  const { data } = text;
  return `${MAGIC} ${INDEX_FORMAT} ${hash} ${"table" in data ? basename(data.table) : hashOfSpans(documents)}`;
}

function hashOfSpans(documents: Iterable<Span>): string {
  const spans = Array.from(documents, ({ start, end }) => `${start}-${end}`).join(",");
  return digest("sha256", spans);
}
