import { expect, test } from "vitest";
import { count, find } from "../../../../src/context/find/find.ts";
import { compileFind } from "../../../../src/context/find/pattern.ts";
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
    ["a|bc", "(ab)+", "(?:a+)+", "(?:a?){3}", "\\bab", "(?m)^a", "a\\bb", "ab\\B", "[a&&b]", "(?:a{2}){3}"],
  ],
  ["is lazy", ["a+?", "ab+?c", "a{2,}?"]],
  ["may begin in the middle of a run, and fail", ["a\\w+:", "a{1,9}b", "\\w{1,9}@"]],
  ["may go back", ["=\\w+\\d", "=\\s+.+;", "a?b", "=\\w+\\b"]],
  ["begins with a run, and overlaps with itself", ["a+aa", "[ab]+a{2}", "[a-z]+abca", "\\w+_\\w+", "[a-z]+[a-f]{2,}_"]],
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
  const runs = ["\\w+_", "[a-z]+_[0-9]", "[0-9]+0\\b", "[0-9]{2,}[1-9]"];
  for (const pattern of [".", "\\s+", "\\w+", "=\\s+\\w+", "x_[0-9];\\n", "\\d{3,}", "[^;]", "[=\\t]", ...runs]) {
    const native = compileFind(pattern, "");
    expect(native.native, pattern).toBeDefined();
    const expected = find(text, { ...native, native: undefined }, 1e6);
    expect(find(text, native, 1e6), pattern).toEqual(expected);
    expect(count(text, native), pattern).toBe(expected.matches.length);
    expect(find(text, native, 77), pattern).toEqual({ matches: expected.matches.slice(0, 77), capped: true });
  }
});

test.each([
  "[ab]+a",
  "[ab]{2,}a",
  "[ab]+ac",
  "[a-c]{2,}a\\b",
  "[a-c]+[ac]\\b",
  "[a-c]+-\\b",
  "b+[ac]",
  "\\w+-[a-c]{2,}",
  "[ab]+c{2}",
  "[a-c-]+-",
  "a+[ab]",
])("matches of %s are those of the engine, though one run has several ends", (pattern) => {
  const native = compileFind(pattern, "");
  expect(native.native?.run).toBeDefined();
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 48271) % 2147483647;
    return seed % below;
  };
  for (let n = 0; n < 100; n++) {
    const length = 200 + random(200);
    const text = textFromString(Array.from({ length }, () => "aaaabbbbccc-- ·é\n"[random(17)]).join(""));
    const expected = find(text, { ...native, native: undefined }, 1e6);
    expect(find(text, native, 1e6)).toEqual(expected);
  }
});
