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

  const known = new Map<string, NameWorth>();
  const most = EXACT_WORTH * sumOf(terms);
  const heads = headsOf(terms.keys());

  /** The worth of a name. Chunks repeat names, and to read one takes longer than all else. */
  function worthOfName(name: string): NameWorth {
    const found = known.get(name);
    if (found) return found;
    const byTerm = new Map<string, number>();
    for (const token of tokensOf(name)) {
      const term = termOf(token);
      if (term === undefined) continue;
      const weight = (terms.get(term) ?? 1) * (term === token ? EXACT_WORTH : 1);
      byTerm.set(term, Math.max(byTerm.get(term) ?? 0, weight));
    }
    const worth = { byTerm, sum: sumOf(byTerm) };
    known.set(name, worth);
    return worth;
  }

  /** The sum of what the terms in some names are worth, each counted once. */
  function worthOf(names: readonly string[]): number {
    const [only] = names;
    if (only !== undefined && names.length === 1) return worthOfName(only).sum;
    const byTerm = new Map<string, number>();
    for (const name of names) {
      for (const [term, weight] of worthOfName(name).byTerm) {
        byTerm.set(term, Math.max(byTerm.get(term) ?? 0, weight));
      }
    }
    return sumOf(byTerm);
  }

  return {
    bestLine(text) {
      let best = { start: 0, worth: 0 };
      for (const { start, names } of linesIn(text, heads)) {
        const worth = worthOf(names);
        if (worth > best.worth) best = { start, worth };
        if (worth === most) break;
      }
      return best.start;
    },
    rangesIn(text) {
      const ranges: Range[] = [];
      for (const { 0: written, index } of text.matchAll(WRITTEN)) {
        if (worthOfName(written).sum === 0) continue;
        if (isUnspaced(written)) ranges.push(...pairsIn(written, index, (pair) => terms.has(pair)));
        else ranges.push([index, index + written.length]);
      }
      return ranges;
    },
  };
}

/** The worth of a name for each term, and in sum. */
interface NameWorth {
  readonly byTerm: ReadonlyMap<string, number>;
  readonly sum: number;
}

function sumOf(worth: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const weight of worth.values()) sum += weight;
  return sum;
}

const NOT_ASCII = /[^\0-\x7f]/;

/**
 * Finds the beginnings of all words, in texts of ASCII, that are the terms or have their stems. A word
 * begins behind what is no letter, or with a capital, and a name may have joints that it is indexed
 * without.
 */
function headsOf(terms: Iterable<string>): RegExp {
  // Other words are in no text of ASCII.
  const heads = new Set(Array.from(terms, headOf).filter((head) => /^[a-z0-9]+$/.test(head)));
  return heads.size === 0 ? NOWHERE : new RegExp(Array.from(heads, spelledHead).join("|"), "g");
}

/** The beginning that a term has in common with all words of its stem: of those only the end is another. */
function headOf(term: string): string {
  const stem = stemIn(term);
  return stem.slice(0, Math.max(1, stem.length - (stem.endsWith("ble") ? 2 : 1)));
}

const NOWHERE = /(?!)/g;

function spelledHead([first = "", ...others]: string): string {
  const capital = first.toUpperCase();
  const begin = capital === first ? `(?<![0-9])${first}` : `(?:(?<![A-Za-z])${first}|${capital})`;
  return [begin, ...others.map((other) => `[${other}${other.toUpperCase()}]`)].join("[_-]*");
}

/** A line, and names in it: all of those that a query may count, and perhaps others. */
interface LineNames {
  readonly start: number;
  readonly names: readonly string[];
}

/** The lines of a text that may have words of the query. */
function* linesIn(text: string, heads: RegExp): Generator<LineNames> {
  if (!NOT_ASCII.test(text)) return yield* linesWith(text, heads);
  let start = 0;
  for (const line of text.split("\n")) {
    if (NOT_ASCII.test(line)) yield { start, names: [line] };
    else for (const { names } of linesWith(line, heads)) yield { start, names };
    start += line.length + 1;
  }
}

/** The lines of a text of ASCII that have heads, and the names around them. */
function* linesWith(text: string, heads: RegExp): Generator<LineNames> {
  let start = 0;
  let end = -1;
  let names: string[] = [];
  heads.lastIndex = 0;
  for (let hit = heads.exec(text); hit !== null; hit = heads.exec(text)) {
    if (hit.index > end) {
      if (names.length > 0) yield { start, names };
      names = [];
      start = text.lastIndexOf("\n", hit.index) + 1;
      end = text.indexOf("\n", hit.index);
      if (end < 0) end = text.length;
    }
    const name = nameAround(text, hit.index);
    names.push(text.slice(name.start, name.end));
    heads.lastIndex = name.end;
  }
  if (names.length > 0) yield { start, names };
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
