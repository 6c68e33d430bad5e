import { isNameUnit, isUnspaced, queryTerms, stemOf, tokensOf } from "./tokens.ts";

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

  /** The sum of what the words among some tokens are worth, each counted once. */
  function worthOf(tokens: Iterable<string>): number {
    const worth = new Map<string, number>();
    for (const token of tokens) {
      const term = termOf(token);
      if (term === undefined) continue;
      const weight = (terms.get(term) ?? 1) * (term === token ? EXACT_WORTH : 1);
      worth.set(term, Math.max(worth.get(term) ?? 0, weight));
    }
    return worth.values().reduce((sum, weight) => sum + weight, 0);
  }

  const heads = headsOf(terms.keys());

  const counts = (written: string) => tokensOf(written).some((token) => termOf(token) !== undefined);

  return {
    bestLine(text) {
      let best = { start: 0, worth: 0 };
      for (const { start, tokens } of linesIn(text, heads)) {
        const worth = worthOf(tokens);
        if (worth > best.worth) best = { start, worth };
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

const NOT_ASCII = /[^\0-\x7f]/;

/** A stem of so many letters and all words with it have the first two in common: endings are shorter. */
const LONG_STEM = 4;

/**
 * Finds the beginnings of all words, in texts of ASCII, that are the terms or have their stems. A word
 * begins behind what is no letter, or with a capital, and a name may have joints that it is indexed
 * without.
 */
function headsOf(terms: Iterable<string>): RegExp {
  const heads = new Set<string>();
  for (const term of terms) {
    const stem = stemIn(term);
    const head = term.slice(0, stem.length >= LONG_STEM ? 2 : 1);
    // Other words are in no text of ASCII.
    if (/^[a-z0-9]+$/.test(head)) heads.add(stem.startsWith(head) ? head : head.slice(0, 1));
  }
  return heads.size === 0 ? NOWHERE : new RegExp(Array.from(heads, spelledHead).join("|"), "g");
}

const NOWHERE = /(?!)/g;

function spelledHead([first = "", second]: string): string {
  const capital = first.toUpperCase();
  const begin = capital === first ? `(?<![0-9])${first}` : `(?:(?<![A-Za-z])${first}|${capital})`;
  return second === undefined ? begin : `${begin}[_-]*[${second}${second.toUpperCase()}]`;
}

/** A line, and tokens of it: all of those that a query may count, and perhaps others. */
interface TokenizedLine {
  readonly start: number;
  readonly tokens: readonly string[];
}

/** The lines of a text that may have words of the query. */
function* linesIn(text: string, heads: RegExp): Generator<TokenizedLine> {
  if (!NOT_ASCII.test(text)) return yield* linesWith(text, heads);
  let start = 0;
  for (const line of text.split("\n")) {
    if (NOT_ASCII.test(line)) yield { start, tokens: tokensOf(line) };
    else for (const { tokens } of linesWith(line, heads)) yield { start, tokens };
    start += line.length + 1;
  }
}

/** The lines of a text of ASCII that have heads, and the tokens of the names around them. */
function* linesWith(text: string, heads: RegExp): Generator<TokenizedLine> {
  let start = 0;
  let end = -1;
  let tokens: string[] = [];
  heads.lastIndex = 0;
  for (let hit = heads.exec(text); hit !== null; hit = heads.exec(text)) {
    if (hit.index > end) {
      if (tokens.length > 0) yield { start, tokens };
      tokens = [];
      start = text.lastIndexOf("\n", hit.index) + 1;
      end = text.indexOf("\n", hit.index);
      if (end < 0) end = text.length;
    }
    const name = nameAround(text, hit.index);
    tokens.push(...tokensOf(text.slice(name.start, name.end)));
    heads.lastIndex = name.end;
  }
  if (tokens.length > 0) yield { start, tokens };
}

/** The letters, digits, `_` and `-` around a place of a text of ASCII that has one of them. */
function nameAround(text: string, at: number): { readonly start: number; readonly end: number } {
  let start = at;
  let end = at;
  while (start > 0 && isNameUnit(text.charCodeAt(start - 1))) start -= 1;
  while (isNameUnit(text.charCodeAt(end))) end += 1;
  return { start, end };
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
