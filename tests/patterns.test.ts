import { expect, test } from "vitest";
import { isLinear, LISTED, patternsIn, patternsOfHost } from "../campaigns/attack/patterns.ts";
import { READERS } from "../campaigns/attack/texts.ts";

const FOUND = patternsOfHost();

test("each backtracking pattern is linear by its form, or is listed with the reason why its texts are bounded", () => {
  const listed = new Set(LISTED.map(({ pattern }) => pattern));
  const unlisted = FOUND.filter(({ pattern, isLiteral }) => !listed.has(pattern) && !(isLiteral && isLinear(pattern)));
  expect(unlisted.map(({ place, pattern }) => `${place}: ${pattern}`)).toEqual([]);
});

test("the list has each pattern once, and none that is not in the code", () => {
  const there = new Set(FOUND.map(({ pattern }) => pattern));
  const listed = LISTED.map(({ pattern }) => pattern);
  expect(listed.filter((pattern) => !there.has(pattern))).toEqual([]);
  expect(new Set(listed).size).toBe(listed.length);
});

test("patterns that took the square of a text, or more, are not linear by their form", () => {
  const square = [
    String.raw`/\beyJ[\w-]{10,}(?:\.[\w-]+){1,2}/g`,
    String.raw`/^[\s.]+|[\s.]+$/g`,
    String.raw`/(?:^|[^\\])(?:\\\\)*\\$/`,
    String.raw`/"(?:[^"\\]|\\.)*"|[{}[\]]/gs`,
    ...["/a[^b]*b/", "/foo.*bar/", String.raw`/^\s*x/m`, "/(?:a|b)+c/", "/(a+)+$/"],
  ];
  expect(square.filter(isLinear)).toEqual([]);
  const linear = [String.raw`/^\s*x/`, String.raw`/-\d+$/`, String.raw`/sk-[\w-]{16,}/g`, "/[ab]{0,256}c/"];
  expect(linear.filter((pattern) => !isLinear(pattern))).toEqual([]);
  const source = 'const a = /x+y/g;\nconst b = new RegExp("x" + a.source);\nconst c = "/no/";';
  expect(patternsIn("a.ts", source)).toEqual([
    { place: "a.ts:1", pattern: "/x+y/g", isLiteral: true },
    { place: "a.ts:2", pattern: 'new RegExp("x" + a.source)', isLiteral: false },
  ]);
});

// A reader that takes the square of these texts does not come to an end here.
test.each(READERS.filter(({ known }) => known).map((reader) => [reader.id, reader] as const))(
  "%s is read, whatever is in it",
  (_id, { units, known = [], read }) => {
    for (const unit of known) read(`${unit.repeat(Math.floor(units / unit.length))}\u0001`);
  },
);
