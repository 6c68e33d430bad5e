import { expect, test } from "vitest";
import { compileFind, count, find } from "../../../../src/context/find/find.ts";
import { textFromString } from "../../../../src/context/text/text.ts";

test.each([
  ["function\\s+(\\w+)", "", /^\[f\]\{1,1\}.*\[n\]\{1,1\}\[[^\]]+\]\{1,\}\[0-?[^\]]+\]\{1,\}$/s],
  ["\\]-[\\^-b]{2}", "", /^\[\\\]\]\{1,1\}\[\\-\]\{1,1\}\[\\\^_`ab\]\{2,2\}$/],
  ["K{2,}", "i", /^\[Kk\]\{2,\}$/],
  ["é?", "", undefined],
  ["[é漢]a", "", /^\[\]\{1,1\}\[a\]\{1,1\}$/],
  [".{4}", "", /\{4,4\}$/],
])("%s with flags %j has this spelling for native RegExp", (pattern, flags, spelling) => {
  const source = compileFind(pattern, flags).native?.regex.source;
  expect(source).toEqual(spelling === undefined ? undefined : expect.stringMatching(spelling));
});

test.each([
  ["may be empty", ["", "a*", "a?", "a{0,2}", "(?:a+)?"]],
  [
    "is no sequence of characters",
    ["a|bc", "(ab)+", "(?:a+)+", "(?:a?){3}", "\\bab", "(?m)^a", "ab\\b", "[a&&b]", "(?:a{2}){3}"],
  ],
  ["is lazy", ["a+?", "ab+?c", "a{2,}?"]],
  ["may begin in the middle of a run, and fail", ["[a-z]+ing", "\\w+@", "a\\w+:", "a{1,9}b", "x{2,}y"]],
  ["may go back", ["=\\w+\\d", "=\\s+.+;", "a?b"]],
  ["is long", ["a{5}", "a{5,}", "abcdefghijklmnopq"]],
  ["consists of all characters", ["[\\s\\S]", '"[^"]*"', '"[^"]+"']],
])("a pattern that %s is left to the engine", (_, patterns) => {
  for (const pattern of patterns) expect(compileFind(pattern, "").native, pattern).toBeUndefined();
});

test("between characters that are not ASCII, and around them, matches are those of the engine", () => {
  const lines = Array.from(
    { length: 900 },
    (_, n) => `${n % 100 < 4 ? "né ️" : "n"}${n}  =\t x_${n % 7};${n % 300 === 0 ? "\n".repeat(300) : "\n"}`,
  );
  const text = textFromString(lines.join(""));
  for (const pattern of [".", "\\s+", "\\w+", "=\\s+\\w+", "x_[0-9];\\n", "\\d{3,}", "[^;]"]) {
    const native = compileFind(pattern, "");
    expect(native.native, pattern).toBeDefined();
    const expected = find(text, { ...native, native: undefined }, 1e6);
    expect(find(text, native, 1e6), pattern).toEqual(expected);
    expect(count(text, native), pattern).toBe(expected.matches.length);
    expect(find(text, native, 377), pattern).toEqual({ matches: expected.matches.slice(0, 377), capped: true });
  }
});
