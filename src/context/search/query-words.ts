import { isUnspaced, queryTerms, stemOf, tokensOf } from "./tokens.ts";

/** A half-open range of a text, UTF-16 units. */
type Range = readonly [start: number, end: number];

/**
 * Finds the words of a query in a text, as the index for `search` counts them: whole words first,
 * other forms of them too.
 */
interface QueryWords {
  /** The offset at which the line begins that has most of the words; of equal ones the first. */
  bestLine(text: string): number;
  /** The words of a text that count, in their order, not overlapping. */
  rangesIn(text: string): Range[];
}

/**
 * Further terms of a query are ignored: a paragraph has fewer, and the cost of a search is terms
 * times chunks.
 */
export const MAX_QUERY_TERMS = 128;

/** A line with a word itself is better than one with another form of it, as it is in the index. */
const EXACT_WORTH = 3;
/** Letters, digits and the joints of names. */
const WRITTEN = /[\p{L}\p{M}\p{N}_-]+/gu;

/** Reads the words of a query. */
export function queryWords(query: string): QueryWords {
  const terms = new Map([...queryTerms(query)].slice(0, MAX_QUERY_TERMS));
  const stems = new Map(Array.from(terms, ([term]) => [stemIn(term), term]));
  // A stem begins as its words do. To make one takes longer than all else that is done to a word.
  const beginnings = new Set(Array.from(terms.keys(), (term) => term.charCodeAt(0)));

  function termOf(token: string): string | undefined {
    if (terms.has(token)) return token;
    return beginnings.has(token.charCodeAt(0)) ? stems.get(stemIn(token)) : undefined;
  }

  function worthOf(line: string): number {
    const worth = new Map<string, number>();
    for (const token of tokensOf(line)) {
      const term = termOf(token);
      if (term === undefined) continue;
      const weight = (terms.get(term) ?? 1) * (term === token ? EXACT_WORTH : 1);
      worth.set(term, Math.max(worth.get(term) ?? 0, weight));
    }
    return worth.values().reduce((sum, weight) => sum + weight, 0);
  }

  const counts = (written: string) => tokensOf(written).some((token) => termOf(token) !== undefined);

  return {
    bestLine(text) {
      let best = { start: 0, worth: 0 };
      let start = 0;
      for (const line of text.split("\n")) {
        const worth = worthOf(line);
        if (worth > best.worth) best = { start, worth };
        start += line.length + 1;
      }
      return best.start;
    },
    rangesIn(text) {
      const ranges: Range[] = [];
      for (const { 0: written, index } of text.matchAll(WRITTEN)) {
        if (!counts(written)) continue;
        if (isUnspaced(written)) ranges.push(...pairsIn(written, index, (pair) => terms.has(pair)));
        else ranges.push([index, index + written.length]);
      }
      return ranges;
    },
  };
}

/**
 * Ranges of the characters that stand in a pair of the query, since such a script does not set
 * words apart.
 */
function pairsIn(run: string, at: number, isTerm: (pair: string) => boolean): Range[] {
  const ranges: Range[] = [];
  const characters = [...run];
  let start = at;
  for (const [index, character] of characters.entries()) {
    const pair = `${character}${characters[index + 1] ?? ""}`;
    const end = start + pair.length;
    const last = ranges.at(-1);
    if (isTerm(pair)) {
      if (last !== undefined && last[1] > start) ranges[ranges.length - 1] = [last[0], end];
      else ranges.push([start, end]);
    }
    start += character.length;
  }
  return ranges.length > 0 ? ranges : [[at, at + run.length]];
}

/** The stem of a token, in the form in which the index keeps both. */
function stemIn(token: string): string {
  return stemOf(Buffer.from(token).toString("latin1"));
}
