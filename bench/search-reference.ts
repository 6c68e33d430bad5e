import { DatabaseSync } from "node:sqlite";
import { tokensOf } from "../src/context/search/tokens.ts";

export const BEST = 10;
/** Words, names and sentences that an explorer of JavaScript packages types. */
export const QUERIES = [
  "parse error",
  "readFile",
  "worker thread",
  "memory limit",
  "create a server",
  "module resolution",
  "abort signal",
  "max_old_space_size",
  "regular expression flags",
  "JSON schema validation",
  "createServer",
  "terminal colors",
  "stack trace line number",
  "package exports types",
  "deprecated since",
  "how are symbolic links followed",
  "utf8 encoding",
  "promise rejected",
  "license",
  "timeout in milliseconds",
];

/** The numbers of the best texts for a query, best first. */
export type Ranking = (query: string, best: number) => readonly number[];

const K1 = 1.2;
const B = 0.75;

/** BM25 as the textbook has it, in memory, over the stems of each text's words: what Belay's ranking is compared with. */
export function referenceRanking(texts: readonly string[]): Ranking {
  const bags = texts.map(tokensOf);
  const stem = stemsOf(new Set(bags.flat()));
  const average = bags.reduce((sum, bag) => sum + bag.length, 0) / bags.length;
  const postings = new Map<string, Map<number, number>>();
  for (const [number, bag] of bags.entries()) {
    for (const word of bag) {
      const term = stem(word);
      const counts = postings.get(term) ?? new Map<number, number>();
      postings.set(term, counts.set(number, (counts.get(number) ?? 0) + 1));
    }
  }
  return (query, best) => {
    const scores = new Map<number, number>();
    for (const term of new Set(tokensOf(query).map(stem))) {
      const counts = postings.get(term) ?? new Map<number, number>();
      const idf = Math.log(1 + (bags.length - counts.size + 0.5) / (counts.size + 0.5));
      for (const [number, count] of counts) {
        const length = (bags[number]?.length ?? 0) / average;
        const worth = (idf * count * (K1 + 1)) / (count + K1 * (1 - B + B * length));
        scores.set(number, (scores.get(number) ?? 0) + worth);
      }
    }
    const ranked = [...scores].sort(([a, one], [b, other]) => other - one || a - b);
    return ranked.slice(0, best).map(([number]) => number);
  };
}

/** Porter's stems, as SQLite's own tokenizer gives them. */
function stemsOf(words: ReadonlySet<string>): (word: string) => string {
  using database = new DatabaseSync(":memory:");
  database.exec(`CREATE VIRTUAL TABLE words USING fts5 (word, tokenize = 'porter ascii');
    CREATE VIRTUAL TABLE stems USING fts5vocab (words, instance); BEGIN`);
  const add = database.prepare("INSERT INTO words (rowid, word) VALUES (?, ?)");
  const list = [...words];
  for (const [index, word] of list.entries()) add.run(index + 1, word);
  const stems = new Map<string, string>();
  for (const { doc, term } of database.prepare("SELECT doc, term FROM stems").all()) {
    stems.set(list[Number(doc) - 1] ?? "", String(term));
  }
  return (word) => stems.get(word) ?? word;
}
