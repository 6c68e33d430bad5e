import { createHash } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { errorCode } from "../../platform/errors.ts";
import { buildIndexFile, type IndexLocation, type SearchSource } from "./build.ts";
import { INDEX_FORMAT, queryTerms } from "./tokens.ts";

export type { IndexLocation, SearchSource } from "./build.ts";

/** A chunk of P (whole lines, at most about 1,500 UTF-16 units) that holds a term of the query. */
interface SearchHit {
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

const MAGIC = "belay search index";
/** Another builder may remove a temporary file in the instant when it is not locked: then it is built again. */
const BUILD_ATTEMPTS = 3;

/**
 * Opens the index file of a context read-only, and first builds one if there is none that can be trusted.
 * `rebuild` replaces the file in any case. Errors of the file system (folder not writable, disk full) are thrown.
 */
function openIndexFile(source: SearchSource, location: IndexLocation, rebuild = false): DatabaseSync {
  const path = pathOf(source, location, INDEX_FORMAT);
  const mark = markOf(source);
  const found = rebuild ? undefined : openTrusted(path, mark);
  if (found !== undefined) return found;
  for (let attempt = 1; attempt <= BUILD_ATTEMPTS; attempt += 1) {
    buildIndexFile(path, source, mark, location.onProgress);
    const built = openTrusted(path, mark);
    if (built === undefined) continue;
    removeEarlier(source, location);
    return built;
  }
  throw new Error(`search index ${path} cannot be read back`);
}

function pathOf(source: SearchSource, location: IndexLocation, format: number): string {
  return join(location.dir, `${source.hash}-v${format}.sqlite`);
}

/** Files of earlier formats are of no use to this build; an earlier build makes its own again. */
function removeEarlier(source: SearchSource, location: IndexLocation): void {
  for (let format = 1; format < INDEX_FORMAT; format++) rmSync(pathOf(source, location, format), { force: true });
}

/** Identifies what an index was built from. The same P can be divided into documents in two ways, hence both. */
function markOf(source: SearchSource): string {
  const spans = source.documents.map(({ start, end }) => `${start}-${end}`).join(",");
  const documents = createHash("sha256").update(spans).digest("hex");
  return `${MAGIC} ${INDEX_FORMAT} ${source.hash} ${documents}`;
}

function openTrusted(path: string, mark: string): DatabaseSync | undefined {
  if (!existsSync(path)) return undefined;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { readOnly: true });
    const facts = database.prepare("SELECT mark, chunks, (SELECT count(*) FROM chunks) AS found FROM meta").get();
    if (facts?.mark === mark && facts.chunks === facts.found) return database;
  } catch (error) {
    if (!isSqliteError(error)) throw error;
  }
  database?.close();
  return undefined;
}

/** True if SQLite itself reported this: an unreadable, damaged or foreign file, not a mistake of the caller. */
function isSqliteError(error: unknown): boolean {
  return errorCode(error) === "ERR_SQLITE_ERROR";
}
