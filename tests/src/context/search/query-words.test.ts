import { expect, test } from "vitest";
import { queryWords } from "../../../../src/context/search/query-words.ts";

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
