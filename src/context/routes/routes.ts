import MiniSearch from "minisearch";
import { tokensOf } from "../search/tokens.ts";
import type { RouteEntry } from "./entries.ts";

const FIELD_WORTH: Readonly<Record<string, number>> = { label: 1, path: 0.8, description: 0.6 };
const KIND_WORTH = { word: 1, beginning: 0.75, similar: 0.5 };
const PREFIX_MIN = 2;
/** Shorter words have too many neighbours at one edit. */
const FUZZY_MIN = 5;
const TWO_EDITS_MIN = 8;
/** Further words of a topic are ignored. */
const MAX_WORDS = 64;

/**
 * Entries with equal path and description count once, as the first of them. The index is built at
 * the first `find`.
 */
export function openRoutes(entries: readonly RouteEntry[]) {
  const seen = new Set<string>();
  const distinct = entries.filter(({ path, description }) => {
    const key = `${path}\n${description}`;
    return !seen.has(key) && seen.add(key);
  });
  let index: MiniSearch | undefined;
  return {
    /**
     * The entries that share a word with the topic, best first, equal ones in the order of the
     * entries, at most `limit`.
     *
     * Words are compared as in search; a beginning (`auth`) and a typing error (`authetication`)
     * count too. The relevance is the mean over the topic's words of the best match of each: field
     * (label 1, path 0.8, description 0.6) x kind (the word 1, its beginning 0.75, a similar word
     * 0.5), 0..1, with three decimals. A rare word has more weight in the mean, with BM25's idf
     * over the entries; one that no entry matches has none.
     */
    find(topic: string, limit: number) {
      index ??= indexOf(distinct);
      return [...relevances(index, topic)]
        .sort(([one, a], [other, b]) => b - a || one - other)
        .slice(0, limit)
        .flatMap(([id, relevance]) => {
          const entry = distinct[id];
          return entry === undefined
            ? []
            : [{ path: entry.path, description: entry.description, relevance, label: entry.label }];
        });
    },
  };
}

function indexOf(entries: readonly RouteEntry[]): MiniSearch {
  const index = new MiniSearch({
    fields: Object.keys(FIELD_WORTH),
    tokenize: tokensOf,
    processTerm: (term) => term,
    searchOptions: {
      tokenize: (word) => [word],
      prefix: (term) => term.length >= PREFIX_MIN,
      fuzzy: (term) => (term.length < FUZZY_MIN ? false : term.length < TWO_EDITS_MIN ? 1 : 2),
    },
  });
  index.addAll(entries.map(({ label, path, description }, id) => ({ id, label, path, description })));
  return index;
}

/** Relevance of each entry that matches, by its position. */
function relevances(index: MiniSearch, topic: string): Map<number, number> {
  const sums = new Map<number, number>();
  let weights = 0;
  for (const word of [...new Set(tokensOf(topic))].slice(0, MAX_WORDS)) {
    const results = index.search(word);
    if (results.length === 0) continue;
    const weight = Math.log(1 + (index.documentCount - results.length + 0.5) / (results.length + 0.5));
    weights += weight;
    for (const { id, match } of results) sums.set(id, (sums.get(id) ?? 0) + weight * worth(word, match));
  }
  return new Map([...sums].map(([id, sum]) => [id, Number((sum / weights).toFixed(3))]));
}

/**
 * Worth of the best match of a word, given the entry's matching words and the fields they stand in.
 */
function worth(word: string, match: Readonly<Record<string, string[]>>): number {
  const worths = Object.entries(match).flatMap(([found, fields]) => {
    const kind = found === word ? "word" : found.startsWith(word) ? "beginning" : "similar";
    return fields.map((field) => KIND_WORTH[kind] * (FIELD_WORTH[field] ?? 0));
  });
  return Math.max(...worths);
}
