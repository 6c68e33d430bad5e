import fc from "fast-check";
import { expect, test } from "vitest";
import { count, find } from "../../../../src/context/find/find.ts";
import { compileFind } from "../../../../src/context/find/pattern.ts";
import type { Sizes } from "../../../../src/context/find/sizes.ts";
import type { LargeText } from "../../../../src/context/text/port.ts";
import { textFromString } from "../../../../src/context/text/text.ts";
import { largeText } from "../../../support/large-context.ts";
import { flags, onePass, plainText, source } from "../../../support/patterns.ts";

// Matches of both kinds of text, by windows, pieces and parts of a few bytes, against one pass of Rust's
// regex over the whole text.

/** Sizes of a few bytes, so that matches lie on every border. This thread searches alone. */
const smallSizes = fc
  .record({
    smallest: fc.integer({ min: 1, max: 24 }),
    factor: fc.constantFrom(1, 2, 3, 4, 20),
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
      aloneForLiterals: Number.POSITIVE_INFINITY,
    }),
  );

/** The part of a text in files that says that it is one. */
function largePart(): LargeText {
  const { large } = largeText({ parts: ["x"] });
  if (large === undefined) throw new Error("a text in files has no table");
  return large;
}

/** A text and the sizes by which it is searched. */
const searches = (length: number) =>
  fc.array(fc.tuple(plainText, smallSizes), { minLength: length, maxLength: length });

function expectOnePass(
  pattern: string,
  letters: string,
  all: readonly (readonly [plain: string, sizes: Partial<Sizes>])[],
  large: LargeText,
): void {
  const compiled = compileFind(pattern, letters);
  for (const [plain, sizes] of all) {
    const text = textFromString(plain);
    const expected = onePass(pattern, letters, text);
    for (const one of [text, { ...text, large }]) {
      expect(find(one, compiled, 1000, undefined, sizes).matches).toEqual(expected.slice(0, 1000));
      expect(count(one, compiled, undefined, sizes)).toBe(expected.length);
    }
  }
}

test("windows and pieces of any size have the matches of one pass", () => {
  const large = largePart();
  const property = fc.property(source, flags, searches(8), (...args) => expectOnePass(...args, large));
  fc.assert(property, { numRuns: 20 });
});

test.each([
  ...[
    "TODO|foo",
    "foo",
    "(?i)foo",
    "foo|x y",
    "a.",
    ".*",
    "[^\\n]*",
    "\\bfoo\\b",
    "[ab]+\\b",
    "(?m)^.*$",
    "(?m)^\\s?a",
  ],
  ...["(?m)^", "(?m)$", "\\b", "", "a*", "é?foo\\b", "\\B(?:foo|漢)\\n?", "(?m)^.*?(?:foo|😀)+", "\\b(?i)foo.?"],
  ...["(?i)\\w*(?:foo|aaa|x y)", "[ab][xyz]foo$", "aa|a", "a|aa", "foo|fooa|\\n", "(?i)foo|b", "a\\nb|a", "(?i)k\\n"],
  ...["foo\\n?", "a\\sb?", "(?s).{1,3}", "(?s)a.?", "\\n\\n", "\\W{2}", "\\r$", "(?m)a\\r?$", "é|漢", "\\w+"],
  ...["\\s+", "[^b]*", "a[\\s\\S]*?b", "a[\\s\\S]*b", "a(?:[\\s\\S]*=)?", "\\w+\\s+\\w+", "\\b\\w+\\s+\\w+\\b"],
  ...[
    "\\B\\s*\\B",
    "[ab]",
    "foo\\s+\\w+",
    "\\w{2,}",
    "=[^=]+",
    "o\\n+\\w",
    "[^b]{3}",
    "7[^x]{1,2}",
    "(?s:foo.{0,20}b)",
  ],
  ...["\\Aa", "a\\z", "\\A|b\\s*", "(a+)+$", "(?mR)^\\s*$", "(?:(?:\\W)*?|a)*(?mR:^)"],
  // A few bytes around a literal are enough, or those to the end of its line.
  ...[
    "foo.?",
    "\\bfoo\\b.{0,2}",
    ".{0,3}foo",
    "(?m)^.?foo|foo$",
    "\\Bfoo[^\\n]*",
    "foo.*a",
    "(?:foo|x y).*foo",
    "o[^\\n]{2}b",
  ],
  ...["foo(?:a|b|é|漢|7)", "(?:fooa|foob|foo7|foo=|foo_|foo\\.)", "aa.*?foo", "(?i)foo.*B"],
])("windows and pieces of any size have the matches of %s", (pattern) => {
  const large = largePart();
  fc.assert(
    fc.property(searches(8), (all) => expectOnePass(pattern, "", all, large)),
    { numRuns: 2 },
  );
});

test.each(["(?m)^a", "\\ba", "\\Ba", "(?m)^.", "a$"])(
  "in parts of a long line %s has the matches of one pass",
  (pattern) => {
    const windows = { smallest: 3, largest: 9, effort: 1e6 };
    const texts = [`${"a".repeat(50)}\nb a b a`, `${"b".repeat(30)}${"a".repeat(20)}\na`, `${"é".repeat(30)}a\na`];
    const all = texts.flatMap((plain) =>
      [1, 4].map((heldLine) => [plain, { piece: 1, line: 2, heldLine, windows }] as const),
    );
    expectOnePass(pattern, "", all, largePart());
  },
);
