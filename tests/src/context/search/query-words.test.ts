import fc from "fast-check";
import { expect, test } from "vitest";
import { queryWords } from "../../../../src/context/search/query-words.ts";
import { queryTerms, stemOf, tokensOf } from "../../../../src/context/search/tokens.ts";

test.for([
  ["cancelled cells", "# Cells\nA cell is cancelled with Esc.\nA cell.\n", "A cell is cancelled with Esc."],
  ["max bytes", "maximum\nconst maxBytes = 3;\nbytes\n", "const maxBytes = 3;"],
  ["connection", "connections\nthe connection\n", "the connection"],
  ["退款", "没有\n请退款\n", "请退款"],
  ["nowhere", "one\ntwo\n", "one"],
] as const)("the best line for %j in %j is %j", ([query, text, line]) => {
  const at = queryWords(query).bestLine(text);
  expect(text.slice(at).split("\n", 1)[0]).toBe(line);
});

test.for([
  ["cancelled cells", "A cell is (cancelled) here", ["cell", "cancelled"]],
  ["Müller", "Herr MULLER und Müllers", ["MULLER", "Müllers"]],
  ["parse http", "parseHTTPRequest(x)", ["parseHTTPRequest"]],
  ["退款", "请退款给我", ["退款"]],
  ["x", "a b", []],
] as const)("the words of %j in %j are %j", ([query, text, words]) => {
  const ranges = queryWords(query).rangesIn(text);
  expect(ranges.map(([start, end]) => text.slice(start, end))).toEqual(words);
});

const latin1 = (token: string) => Buffer.from(token).toString("latin1");

/** The best line by the tokens of all lines. */
function plainBestLine(query: string, text: string): number {
  const terms = queryTerms(query);
  const stems = new Map(Array.from(terms.keys(), (term) => [stemOf(latin1(term)), term]));
  const worthOf = (line: string) => {
    const worth = new Map<string, number>();
    for (const token of tokensOf(line)) {
      const term = terms.has(token) ? token : stems.get(stemOf(latin1(token)));
      if (term === undefined) continue;
      worth.set(term, Math.max(worth.get(term) ?? 0, (terms.get(term) ?? 1) * (term === token ? 3 : 1)));
    }
    return worth.values().reduce((sum, one) => sum + one, 0);
  };
  const lines = text.split("\n");
  const worths = lines.map(worthOf);
  const best = worths.indexOf(Math.max(...worths));
  return lines.slice(0, best).reduce((at, line) => at + line.length + 1, 0);
}

const syllable = fc.constantFrom(
  ...["a", "as", "ay", "by", "car", "pars", "HTTP", "Req", "uest", "fly", "ies", "ing", "ed", "eed", "ation", "ize"],
  ...["ness", "able", "abil", "ity", "ical", "ator", "hop", "y", "e", "s", "2", "56", "_", "-", "é", "款", "退"],
);
const written = fc.array(syllable, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""));
const sentence = fc.array(written, { maxLength: 5 }).map((words) => words.join(" "));

test("the best line is that by the tokens of all lines, whatever names and scripts they have", () => {
  fc.assert(
    fc.property(sentence, fc.array(sentence, { minLength: 1, maxLength: 6 }), (query, lines) => {
      const text = lines.join("\n");
      expect(queryWords(query).bestLine(text)).toBe(plainBestLine(query, text));
    }),
    { numRuns: 3000 },
  );
});
