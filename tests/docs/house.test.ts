import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { circlesOf, countHouse, type House, waysOf } from "../../scripts/house.ts";
import { ROOT } from "../../scripts/process.ts";

const page = readFileSync(join(ROOT, "docs/architecture.md"), "utf8");

/** The figure in the row of docs/architecture.md that begins with these words. */
function atMost(words: string): number {
  const row = page.split("\n").find((line) => line.startsWith(`| ${words} |`));
  if (!row) throw new Error(`docs/architecture.md has no row: ${words}`);
  return Number.parseFloat(row.split("|")[2] ?? "");
}

const HELD: readonly [words: string, of: (house: House) => number][] = [
  ["files on the longest way", ({ ways }) => Math.max(...ways)],
  ["files on all four ways", ({ ways }) => ways.reduce((sum, files) => sum + files, 0)],
  ["circles of imports", ({ circles }) => circles],
  ["files in the largest circle", ({ largestCircle }) => largestCircle],
  ["types taken from what a function returns", ({ returnTypes }) => returnTypes],
  ["object literals spread into object literals", ({ literalSpreads }) => literalSpreads],
  ["constants taken out of one array", ({ sharedConstants }) => sharedConstants],
  ["nodes of syntax a line", ({ nodesPerLine }) => nodesPerLine],
  ["lines over 100 characters, %", ({ longLines }) => 100 * longLines],
  ["npm scripts", ({ scripts }) => scripts],
];

test("what a reader of the sources feels does not get worse", () => {
  const house = countHouse();
  const worse = HELD.flatMap(([words, of]) => (of(house) > atMost(words) ? [`${words}: ${of(house)}`] : []));
  expect(worse, "see `npm run house`; docs/architecture.md has the figures that are held").toEqual([]);
  expect(house.ways).toHaveLength(4);
});

test("a circle is a group of files that reach each other", () => {
  const imports = [
    ["a.ts", "./b.ts"],
    ["b.ts", "./c.ts"],
    ["c.ts", "./a.ts"],
    ["c.ts", "./d.ts"],
    ["d.ts", "./e.ts"],
    ["e.ts", "./d.ts"],
    ["f.ts", "./a.ts"],
  ].map(([file = "", specifier = ""]) => ({ file, specifier }));
  expect(circlesOf(imports).map((files) => files.toSorted())).toEqual([
    ["a.ts", "b.ts", "c.ts"],
    ["d.ts", "e.ts"],
  ]);
});

test("a way has as many files as its list has numbers", () => {
  const ways = "## Four ways through the code\n\nwords\n\n1. a\n2. b\n\n**next**\n\n1. c\n\n## The rest\n\n1. d\n";
  expect(waysOf(`\n${ways}`)).toEqual([2, 1]);
});
