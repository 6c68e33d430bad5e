import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { chunksIn } from "../src/context/search/chunks.ts";
import { indexForm, queryTerms } from "../src/context/search/tokens.ts";
import type { Corpus } from "./corpus.ts";
import { takeTurns, timed } from "./measure.ts";
import type { Report } from "./report.ts";
import { BEST, QUERIES, referenceRanking } from "./search-reference.ts";

/** Tables of an index, with what the score of each counts. */
type Tables = readonly { readonly table: "words" | "stems"; readonly tokenize: string; readonly weight: number }[];

export const WORDS = { table: "words", tokenize: "ascii", weight: 2 } as const;
export const STEMS = { table: "stems", tokenize: "porter ascii", weight: 1 } as const;
const VARIANTS: readonly (readonly [name: string, tables: Tables])[] = [
  ["words and stems", [WORDS, STEMS]],
  ["words alone", [WORDS]],
  ["stems alone", [STEMS]],
];

/** An index of FTS5 with two tables, which scores as Belay's, and with one of them: time, size, and what it finds. */
export async function benchStems({ context, scratch }: Corpus): Promise<Report> {
  const { text, documents } = context;
  const chunks = Array.from(chunksIn(text.read(0, text.bytes), 0, documents), ({ start, end }) =>
    text.slice(start, end),
  );
  const files = new Map<string, string>();
  const built = await takeTurns(
    VARIANTS.map(([name, tables]) => ({
      name,
      async once() {
        const path = join(scratch(), "index.db");
        files.set(name, path);
        return timed(() => buildFts5(path, tables, chunks));
      },
    })),
    { rounds: 5, warmups: 1 },
  );
  const rank = referenceRanking(chunks);
  const remarks: Record<string, string> = {};
  for (const [name, tables] of VARIANTS) {
    const path = files.get(name) ?? "";
    using database = new DatabaseSync(path, { readOnly: true });
    const shares = QUERIES.map((query) => {
      const reference = rank(query, BEST);
      return bestOfFts5(database, tables, query).filter((id) => reference.includes(id)).length / reference.length;
    });
    const share = shares.reduce((sum, each) => sum + each, 0) / shares.length;
    const size = statSync(path).size / text.bytes;
    remarks[name] = `${(size * 100).toFixed(1)} % of P's bytes; ${(share * 100).toFixed(1)} % of the ${BEST} best`;
  }
  return {
    title: `stems: ${chunks.length.toLocaleString("en-US")} chunks of the corpus, indexed with two tables or one`,
    cases: [{ name: "index", measured: built, remarks }],
    notes: [`"of the ${BEST} best": the part that textbook BM25 over stems, computed in memory, ranks there too.`],
    aims: [],
  };
}

export function buildFts5(path: string, tables: Tables, chunks: readonly string[]): void {
  using database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = NORMAL; BEGIN EXCLUSIVE");
  const inserts = tables.map(({ table, tokenize }) => {
    database.exec(`CREATE VIRTUAL TABLE ${table} USING fts5 (body, content = '', tokenize = '${tokenize}');
      INSERT INTO ${table} (${table}, rank) VALUES ('hashsize', ${16 * 2 ** 20})`);
    return database.prepare(`INSERT INTO ${table} (rowid, body) VALUES (?, ?)`);
  });
  for (const [id, chunk] of chunks.entries()) {
    const form = indexForm(chunk);
    for (const insert of inserts) insert.run(id, form);
  }
  database.exec("COMMIT");
}

/** Numbers of the best chunks, scored as `src/context` scores them. */
export function bestOfFts5(database: DatabaseSync, tables: Tables, query: string): number[] {
  const terms = [...queryTerms(query)].flatMap(([term, weight]) => Array.from({ length: weight }, () => `"${term}"`));
  const scores = tables.map(
    ({ table, weight }) =>
      `SELECT rowid AS id, ${weight} * -bm25(${table}) AS score FROM ${table} WHERE ${table} MATCH :match`,
  );
  return database
    .prepare(
      `WITH scored AS MATERIALIZED (${scores.join(" UNION ALL ")})
       SELECT id FROM scored GROUP BY id ORDER BY sum(score) DESC, id LIMIT ${BEST}`,
    )
    .all({ match: terms.join(" OR ") })
    .map(({ id }) => Number(id));
}
