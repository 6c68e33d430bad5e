import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import MiniSearch from "minisearch";
import { chunksIn } from "../src/context/search/chunks.ts";
import { openSearchIndex, type SearchIndex } from "../src/context/search/search.ts";
import type { Corpus } from "./corpus.ts";
import { median, type Turns, takeTurns, timed } from "./measure.ts";
import { aimAtMost, type Report } from "./report.ts";
import { BEST, QUERIES, referenceRanking } from "./search-reference.ts";
import { bestOfFts5, buildFts5, STEMS, WORDS } from "./stems.ts";

/** The tables of FTS5 that score as Belay's index does. */
const TABLES = [WORDS, STEMS];
/**
 * An index of the corpus and its ten best chunks for a query.
 *
 * @param options.isCompared answers are compared with those of BM25 in memory, which takes 100 times as much memory as the corpus
 */
export async function benchSearch(
  { context, scratch }: Corpus,
  { turns = INDEX_TURNS, isCompared = true }: { readonly turns?: Turns; readonly isCompared?: boolean } = {},
): Promise<Report> {
  const { text, documents, hash } = context;
  const chunks = Array.from(chunksIn(text.read(0, text.bytes), 0, documents), ({ start, end }, id) => ({
    ...{ id, start },
    text: text.slice(start, end),
  }));
  let index: SearchIndex | undefined;
  let folder = "";
  let peer = new MiniSearch<(typeof chunks)[number]>({ fields: ["text"] });
  const texts = chunks.map(({ text }) => text);
  let tables = "";
  const built = await takeTurns(
    [
      {
        name: "Belay",
        async once() {
          index?.[Symbol.dispose]();
          folder = scratch();
          return timed(() => {
            index = openSearchIndex({ text, documents, hash }, { dir: folder });
          });
        },
      },
      {
        name: "minisearch",
        async once() {
          peer = new MiniSearch({ fields: ["text"] });
          return timed(() => peer.addAll(chunks));
        },
      },
      {
        name: "FTS5",
        async once() {
          tables = join(scratch(), "index.db");
          return timed(() => buildFts5(tables, TABLES, texts));
        },
      },
    ],
    turns,
  );
  const askBelay = (query: string) => index?.search(query, BEST).map((hit) => hit.text);
  const askPeer = (query: string) =>
    peer
      .search(query)
      .slice(0, BEST)
      .map(({ id }) => chunks[id]?.text);
  using database = new DatabaseSync(tables, { readOnly: true });
  const queried = await takeTurns(
    [
      { name: "Belay", once: queries(askBelay) },
      { name: "minisearch", once: queries(askPeer) },
      { name: "FTS5", once: queries((query) => bestOfFts5(database, TABLES, query)) },
    ],
    { rounds: 5 * QUERIES.length, warmups: QUERIES.length },
  );
  const [asked = Number.NaN, peerAsked = Number.NaN] = queried.map(({ samples }) => median(samples));
  const kept = JSON.stringify(peer);
  const opened = await takeTurns(
    [
      {
        name: "Belay",
        once: () =>
          timed(() => {
            index?.[Symbol.dispose]();
            index = openSearchIndex({ text, documents, hash }, { dir: folder });
            index.search("error", BEST);
          }),
      },
      {
        name: "minisearch",
        once: () => timed(() => MiniSearch.loadJSON(kept, { fields: ["text"] }).search("error")),
      },
    ],
    isCompared ? { rounds: 10, warmups: 2 } : turns,
  );
  const found = (query: string) => index?.search(query, BEST).map(({ start }) => start) ?? [];
  const size = readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  const shared = isCompared ? [sharedLine(chunks, found)] : [];
  index?.[Symbol.dispose]();
  return {
    title: `search: ${chunks.length.toLocaleString("en-US")} chunks of the corpus, the ${BEST} best for ${QUERIES.length} queries`,
    cases: [
      { name: "index", measured: built },
      { name: "query", measured: queried },
      { name: "open a kept index, and ask", measured: opened },
    ],
    notes: [
      "Belay's index is a file on disk, made anew each time, with the parts of names (readFile → read, file); minisearch's is in memory. The others are given the chunks ready-made.",
      "FTS5 is SQLite's, with a table of words and one of stems: the same scores.",
      `The index takes ${percent(size / text.bytes)} of the corpus's bytes; minisearch's, kept as JSON, ${percent(kept.length / text.bytes)}.`,
      ...shared,
    ],
    aims: [aimAtMost("a query ≤ minisearch's", asked / peerAsked, 1, "x")],
  };
}

const INDEX_TURNS: Turns = { rounds: 5, warmups: 1, budgetMs: 15_000 };

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;

function sharedLine(...args: Parameters<typeof sharedWithReference>): string {
  const share = percent(sharedWithReference(...args));
  return `Of the ${BEST} best, ${share} are also among the ${BEST} best by BM25 over stems, computed in memory.`;
}

/** The part of all answers that the reference gives too; a chunk is known by its beginning. */
function sharedWithReference(
  chunks: readonly { readonly text: string; readonly start: number }[],
  found: (query: string) => readonly number[],
): number {
  const rank = referenceRanking(chunks.map(({ text }) => text));
  const shares = QUERIES.map((query) => {
    const reference = rank(query, BEST).map((number) => chunks[number]?.start);
    return found(query).filter((start) => reference.includes(start)).length / reference.length;
  });
  return shares.reduce((sum, each) => sum + each, 0) / shares.length;
}

/** The queries one after the other, each a sample. */
function queries(search: (query: string) => readonly unknown[] | undefined): () => Promise<number> {
  let next = 0;
  return async () => {
    const query = QUERIES[next++ % QUERIES.length] ?? "";
    let hits: readonly unknown[] | undefined;
    const ms = await timed(() => {
      hits = search(query);
    });
    if (!hits) throw new Error("there is no index");
    return ms;
  };
}
