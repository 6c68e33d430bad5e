import { expect, test } from "vitest";
import { growing } from "../../../src/documents/growing.ts";
import { boundedNumber, counting, type Level, numeral, type Shift, shifting } from "../../../src/documents/labels.ts";
import { openXml } from "../../../src/documents/markup.ts";
import { block, tableOf } from "../../../src/documents/office.ts";

test.each([
  ["1", "0 1 27 4000"],
  ["01", "00 01 27 4000"],
  ["a", "0 a aa ewv"],
  ["AA", "0 A AA 4000"],
  ["i", "0 i xxvii 4000"],
  ["I", "0 I XXVII 4000"],
] as const)("numbers as %s are %s", (format, printed) => {
  expect([0, 1, 27, 4000].map((number) => numeral(number, format)).join(" ")).toBe(printed);
});

test("behind z comes aa, and then ab or bb", () => {
  expect(numeral(28, "A")).toBe("AB");
  expect(numeral(28, "AA")).toBe("BB");
  expect(numeral(1994, "I")).toBe("MCMXCIV");
});

test("a number that a file gives is whole and has bounds", () => {
  const given = ["7", "7.9", "-3", "1e999", "many", undefined];
  expect(given.map((number) => boundedNumber(number, 1, 50))).toEqual([7, 7, 0, 50, 1, 1]);
});

const level = (format: Level["format"], label: Level["label"], more: Partial<Level> = {}): Level => {
  return { format, label, start: 1, ...more };
};

/** The labels of items on these levels, one behind the other. */
function labels(levels: readonly Level[], items: readonly number[]): string {
  const list = counting();
  return items.map((at) => list.next(at, (n) => levels[n])).join(" ");
}

const LEGAL = [level("1", [0]), level("1", [0, ".", 1]), level("aa", ["(", 2, ")"])];

test.each([
  ["levels begin again below each item", LEGAL, [0, 1, 1, 2, 2, 0, 1, 2], "1 1.1 1.2 (a) (b) 2 2.1 (a)"],
  ["a level that was passed over counts", LEGAL, [1, 1, 0, 2, 1], "1.1 1.2 2 (a) 2.2"],
  ["bullets and levels without numbers", [level("bullet", []), level("none", [0])], [0, 1], "- "],
  ["a level that is not defined has no label", LEGAL, [0, 9], "1 "],
  ["a start", [level("I", ["Article ", 0, "."], { start: 4 })], [0, 0], "Article IV. Article V."],
  [
    "decimal numbers of a legal list",
    [level("I", [0]), level("01", [0, ".", 1], { isLegal: true })],
    [0, 1, 1],
    "I 1.01 1.02",
  ],
  [
    "a level that never begins again, and one that does so below the first",
    [level("1", [0]), level("1", [1], { restartedBy: 0 }), level("1", [2], { restartedBy: 1 })],
    [0, 1, 2, 1, 2, 0, 1, 2],
    "1 1 1 2 2 2 3 1",
  ],
] as const)("labels of lists: %s", (_, levels, items, printed) => {
  expect(labels(levels, items)).toBe(printed);
});

test("an item may have a number of its own, from which its list counts on", () => {
  const list = counting();
  const levels = () => level("1", [0]);
  expect([undefined, 7, undefined].map((start) => list.next(0, levels, start))).toEqual(["1", "7", "8"]);
});

const RUNS: Readonly<Record<string, readonly (readonly [string, Shift])[]>> = {
  "10^6": [
    ["10", ""],
    ["6", "^"],
  ],
  "10^-6 m": [
    ["10", ""],
    ["-", "^"],
    ["6", "^"],
    [" m", ""],
  ],
  "1st 3e": [
    ["1", ""],
    ["st", "^"],
    [" 3", ""],
    ["e", "^"],
  ],
  "x^n^2": [
    ["x", ""],
    ["n", "^"],
    ["^2", ""],
  ],
  BelayTM: [
    ["Belay", ""],
    ["TM", "^"],
  ],
  "CO2 and 10_2": [
    ["CO", ""],
    ["2", "_"],
    [" and 10", ""],
    ["2", "_"],
  ],
  "^1 Audited": [
    ["1", "^"],
    [" Audited", ""],
  ],
  "a ^2": [
    ["a", ""],
    [" 2", "^"],
  ],
};

test.each(Object.entries(RUNS))("raised and lowered words: %s", (line, runs) => {
  const shift = shifting();
  let words = "";
  for (const [more, where] of runs) words += shift(words, more, where);
  expect(words).toBe(line);
});

/** The text of a table whose cells have spans, and rows that begin later. */
function rows(source: string): string {
  const text = growing(10_000);
  const xml = openXml(source);
  const table = tableOf(xml, text, "table", "tr", "td");
  const on = {
    ...table.handlers,
    later: ({ by }: Readonly<Record<string, string>>) => table.skip(Number(by)),
    over: ({ columns }: Readonly<Record<string, string>>) => table.span(Number(columns)),
  };
  xml.walk({ take: (said) => table.take(said), on });
  return text.end().text;
}

test("the nth cell of a row is the nth column", () => {
  const inner = '<table><tr><later by="5"/><td>in</td></tr></table>';
  const spans = '<tr><td>North</td><td><over columns="2"/>n/a</td><td>33</td></tr>';
  const text = rows(`<table>${spans}<tr><later by="1"/><td>7</td><td>${inner}</td></tr></table>`);
  expect(text).toBe("North | n/a |  | 33\n | 7 | in\n\n");
});

test("columns that a file says to be empty have a bound", () => {
  const text = rows(`<table><tr>${'<td><over columns="999999999"/></td>'.repeat(50)}<td>x</td></tr></table>`);
  expect(text.length).toBeLessThan(4000);
});

test("an item begins with its label, as far in as its level; a heading has its number", () => {
  const text = growing(10_000);
  const table = tableOf(openXml(""), text, "table", "tr", "td");
  block(text, table, "Buyer", { label: "1.2", level: 1 });
  block(text, table, "a sign", { label: "-", level: 99 });
  block(text, table, "Title", { heading: 2, label: "1.2", level: 1 });
  block(text, table, "Dash", { heading: 1, label: "-" });
  block(text, table, "words", {});
  expect(text.end().text).toBe("  1.2 Buyer\n                - a sign\n\n## 1.2 Title\n\n# Dash\n\nwords\n");
});
