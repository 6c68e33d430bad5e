import type { DatabaseSync } from "node:sqlite";
import type { IndexLocation, SearchSource } from "./build.ts";
import { isSqliteError, openIndexFile } from "./file.ts";
import { queryTerms } from "./tokens.ts";

export type { IndexLocation, SearchSource } from "./build.ts";

/** A chunk of P (whole lines, at most about 1,500 UTF-16 units) that holds a term of the query. */
export interface SearchHit {
  /** P.slice(start, end). */
  text: string;
  /** BM25, > 0, higher is better, 6 significant digits; comparable within one answer only. */
  score: number;
  start: number;
  end: number;
}

/** The index of one context, bound to the thread that opened it. Disposing it closes the file. */
export interface SearchIndex extends Disposable {
  /**
   * The `k` best chunks for any term of the query or for another form of it (connections, connection), best first, equal
   * ones in the order of P. The form in the query counts more than other forms. The query is data: no character of it is
   * an operator. Without a letter or digit in it the answer is empty.
   */
  search(query: string, k: number): SearchHit[];
}

/** Further terms of a query are ignored: a paragraph has fewer, and the cost of a search is terms times chunks. */
const MAX_QUERY_TERMS = 128;

/**
 * Opens the index of a context, and first builds it if it is missing or damaged: about 0.08 s per MB of P, in this
 * thread. Errors of the file system are thrown as they are.
 */
export function openSearchIndex(source: SearchSource, options: IndexLocation): SearchIndex {
  let database = openIndexFile(source, options);
  return {
    search(query, k) {
      const match = matchExpression(query);
      if (match === "") return [];
      try {
        return bestChunks(database, source, match, k);
      } catch (error) {
        if (!isSqliteError(error)) throw error;
        database.close();
        database = openIndexFile(source, options, true);
        return bestChunks(database, source, match, k);
      }
    },
    [Symbol.dispose]() {
      if (database.isOpen) database.close();
    },
  };
}

/** Terms hold letters and digits only, so quoting them is enough. FTS5 has no weights: a term is repeated instead. */
function matchExpression(query: string): string {
  return [...queryTerms(query)]
    .slice(0, MAX_QUERY_TERMS)
    .flatMap(([term, weight]) => Array.from({ length: weight }, () => `"${term}"`))
    .join(" OR ");
}

/**
 * A chunk with the word itself wins over any number of its other forms: BM25 lets repetition make a term's worth 2.2
 * times as large at the most, and a word is at least as rare as its stem, so that one exact match is worth 3 times as much.
 */
const EXACT_WEIGHT = 2;

function bestChunks(database: DatabaseSync, { text }: SearchSource, match: string, k: number): SearchHit[] {
  const rows = database
    .prepare(
      `SELECT start, end, score
         FROM (SELECT id, sum(score) AS score
                 FROM (SELECT rowid AS id, ${EXACT_WEIGHT} * -bm25(words) AS score FROM words WHERE words MATCH :match
                       UNION ALL
                       SELECT rowid AS id, -bm25(stems) AS score FROM stems WHERE stems MATCH :match)
                GROUP BY id ORDER BY score DESC, id LIMIT :k)
         JOIN chunks USING (id) ORDER BY score DESC, id`,
    )
    .all({ match, k });
  return rows.map((row) => {
    const [start, end] = [Number(row.start), Number(row.end)];
    return { text: text.slice(start, end), score: Number(Number(row.score).toPrecision(6)), start, end };
  });
}
