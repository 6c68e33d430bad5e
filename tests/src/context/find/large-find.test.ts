import { closeSync, openSync, writeSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { count, find } from "../../../../src/context/find/find.ts";
import { compileFind } from "../../../../src/context/find/pattern.ts";
import { SIZES, type Sizes } from "../../../../src/context/find/sizes.ts";
import { type Text, textFromString } from "../../../../src/context/text/text.ts";
import { PAGE_BYTES } from "../../../../src/platform/checked-file.ts";
import { largeText } from "../../../support/large-context.ts";
import { flags, onePass, plainText, source } from "../../../support/patterns.ts";
import { refusalOf } from "../../../support/refusal.ts";

/** Sizes of a few bytes, so that matches lie on every border. This thread searches alone. */
const smallSizes = fc
  .record({
    smallest: fc.integer({ min: 1, max: 24 }),
    factor: fc.integer({ min: 1, max: 4 }),
    piece: fc.integer({ min: 1, max: 60 }),
    line: fc.constantFrom(4, 400, 4000),
    heldLine: fc.constantFrom(4, 400, 4000),
    held: fc.constantFrom(1, 100),
  })
  .map(
    ({ smallest, factor, ...rest }): Sizes => ({
      ...rest,
      windows: { smallest, largest: smallest * factor, effort: 1e6 },
      largestWindow: 2 ** 20,
      alone: Number.POSITIVE_INFINITY,
    }),
  );
/** Pieces of a few lines, which four threads search. */
const SHARED: Partial<Sizes> = { piece: 300, alone: 0 };

/** A text in memory that is searched as one in files is. */
function byWindows(plain: string): Text {
  const { large } = largeText({ parts: ["x"] });
  return large ? { ...textFromString(plain), large } : textFromString(plain);
}

function expectOnePass(pattern: string, letters: string, text: Text, sizes: Partial<Sizes>): void {
  const compiled = compileFind(pattern, letters);
  const expected = onePass(pattern, letters, text);
  expect(find(text, compiled, 1000, undefined, sizes).matches).toEqual(expected.slice(0, 1000));
  expect(count(text, compiled, undefined, sizes)).toBe(expected.length);
}

test("pieces and windows of any size have the matches of one pass", () => {
  const texts = fc.array(fc.tuple(plainText, smallSizes), { minLength: 6, maxLength: 6 });
  fc.assert(
    fc.property(source, flags, texts, (pattern, letters, all) => {
      for (const [plain, sizes] of all) expectOnePass(pattern, letters, byWindows(plain), sizes);
    }),
    { numRuns: 40 },
  );
});

test.each([
  ...["foo", "(?i)foo", "foo|x y", "a.", "[^\\n]*", "\\bfoo\\b", "(?m)^.*$", "(?m)^", "(?m)$", "\\b", "", "a*"],
  ...["aa|a", "a|aa", "foo|fooa|\\n", "(?i)foo|b", "a\\nb|a", "(?i)k\\n"],
  ...["\\r$", "(?m)a\\r?$", "é|漢", "\\w+", "[ab]+\\b", "foo\\s+\\w+", "foo\\n?", "\\n\\n", "(?s)a.*?b", "(?s).{1,3}"],
  ...["\\Aa", "a\\z", "\\A|b\\s*", "(?mR)^\\s*$", "\\s+", "[^b]*", "\\W{2}", "(?s:foo.{0,20}b)", "\\B\\s*\\B"],
])("pieces and windows of any size have the matches of %s", (pattern) => {
  fc.assert(
    fc.property(plainText, smallSizes, (plain, sizes) => expectOnePass(pattern, "", byWindows(plain), sizes)),
    { numRuns: 8 },
  );
});

test.each(["(?m)^a", "\\ba", "\\Ba", "(?m)^.", "a$"])(
  "in parts of a long line %s has the matches of one pass",
  (pattern) => {
    const windows = { smallest: 3, largest: 9, effort: 1e6 };
    for (const plain of [
      `${"a".repeat(50)}\nb a b a`,
      `${"b".repeat(30)}${"a".repeat(20)}\na`,
      `${"é".repeat(30)}a\na`,
    ]) {
      for (const heldLine of [1, 4]) {
        expectOnePass(pattern, "", byWindows(plain), { piece: 1, line: 2, heldLine, windows });
      }
    }
  },
);

const LINES = Array.from({ length: 3000 }, (_, n) => {
  const end = n % 3 === 0 ? "\r\n" : "\n";
  return n % 100 === 42 ? `${"x".repeat(900)} foo ${n}${end}` : `line ${n} é漢😀 ${n % 7 === 0 ? "foo" : "bar"}${end}`;
});

test.each([
  ...[
    "foo",
    "(?i)FOO|bar",
    "\\d+ foo\\b",
    "(?m)^line \\d*7 .*$",
    "\\w+",
    "x{400}",
    "(?m)$",
    "foo\\s+line",
    "nowhere",
    "[^b]{30}",
  ],
])("several threads find %s over several files in its order", (pattern) => {
  const half = LINES.length / 2;
  const text = largeText({ parts: [LINES.slice(0, half).join(""), LINES.slice(half).join("")] });
  expectOnePass(pattern, "", text, SHARED);
  expectOnePass(pattern, "", text, { ...SHARED, held: 3 });
  expectOnePass(pattern, "", text, { ...SHARED, line: 200 });
  expect(find(text, compileFind("foo", ""), 5, undefined, SHARED)).toMatchObject({ capped: true });
});

test("a search that is ended leaves nothing to the next one", () => {
  const text = largeText({ parts: [LINES.join("")] });
  for (const calls of [1, 2, 3, 5]) {
    let left = calls;
    const between = () => {
      left -= 1;
      if (left === 0) throw new Error("the time is over");
    };
    expect(() => count(text, compileFind("[lx][^z\\n]*", ""), between, SHARED)).toThrow("the time is over");
    expectOnePass("foo", "", text, SHARED);
  }
});

test("a damaged page is context_lost, and pages before it are searched", () => {
  const text = largeText({ parts: ["needle\n".repeat(50_000)] });
  const damagedPage = 3;
  const file = openSync(text.data.files[0]?.path ?? "", "r+");
  writeSync(file, "X", damagedPage * PAGE_BYTES + 100);
  closeSync(file);
  const lost = { code: "context_lost", message: expect.stringContaining(`begin at ${damagedPage * PAGE_BYTES}`) };
  for (const sizes of [
    { piece: 1000, alone: 0 },
    { piece: 1000, alone: 1000 },
    { piece: 1000, line: 2 },
  ]) {
    expect(find(text, compileFind("needle", ""), 20, undefined, sizes).matches).toHaveLength(20);
    expect(refusalOf(() => count(text, compileFind("needle", ""), undefined, sizes))).toMatchObject(lost);
  }
});

test("a match that may be longer than the largest window is a RangeError", () => {
  const text = byWindows(`${"a".repeat(3000)} ${"b".repeat(500)}z`);
  const sizes = { piece: 16, largestWindow: 1024 };
  const refusal = refusalOf(() => count(text, compileFind("a[\\s\\S]*z", ""), undefined, sizes));
  expect(refusal).toMatchObject({
    guestName: "RangeError",
    message: "find: a match of this pattern may be longer than 0 MB",
    suggestion: expect.stringContaining("[\\s\\S]{0,2000}?"),
  });
  expect(count(text, compileFind("b[\\s\\S]*z", ""), undefined, sizes)).toBe(1);
  expect(SIZES.largestWindow).toBe(128 * 2 ** 20);
});
