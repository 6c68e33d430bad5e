import fc from "fast-check";
import { expect, test } from "vitest";
import { parse } from "../../../../src/context/find/engine.ts";
import { count, find } from "../../../../src/context/find/find.ts";
import { fixedText, readHir } from "../../../../src/context/find/hir.ts";
import { compileFind } from "../../../../src/context/find/pattern.ts";
import { textFromString } from "../../../../src/context/text/text.ts";
import { seededRandom } from "../../../../src/platform/seeded-random.ts";
import { onePass } from "../../../support/patterns.ts";
import { refusalOf } from "../../../support/refusal.ts";

test("a text of many windows of the usual size gives the matches of one pass", () => {
  const lines = Array.from({ length: 9000 }, (_, n) =>
    n % 7 === 0
      ? `class  C${n}\r\n{ "é漢😀 ${n}" } ${n}TaS\u212a ${n} é漢`
      : n % 1000 === 999
        ? "x".repeat(40_000)
        : `\tconst a${n} = foo(${n});\n`,
  );
  const text = textFromString(lines.join("\n"));
  const classes = ["class\\s+\\w+", "\\bclass\\s+\\w+\\s+\\{", "C\\d*[02468]77[\\s\\S]*?foo"];
  // Literals that are rare: what lies between them is skipped.
  const rare = [
    "C8(?:75|4)\\d",
    "\\bC8\\d{3}\\r\\n\\{",
    ".*foo\\(8[0-9]99\\).*",
    "const\\s+a1?888",
    "(?i)CLASS\\s+c87[0-4]\\d|foo\\(8[0-9]99",
    "(?i).*(?:7tasK|8995 É漢).*",
    "[^x]?\\tconst a8888 ",
  ];
  for (const pattern of [...classes, ...rare, "(?m)\\s+$", '"[^"]*"', "x{30}", "😀 \\d+"]) {
    const expected = onePass(pattern, "", text);
    expect(expected.length, pattern).toBeGreaterThan(0);
    expect(find(text, compileFind(pattern, ""), 1e6), pattern).toEqual({ matches: expected, capped: false });
  }
});

test.each([
  ...[
    "a",
    "aa",
    "aba",
    "a|bb",
    "é",
    "éa漢",
    "b\\n?",
    "😀",
    "ab.",
    "a[ab]b",
    "b[0-9]{2}a",
    "a[0-9a]{3}b[ab]a",
    "\\ba[0-9]b",
  ],
  ...[
    "é[ab]{2}é",
    "a(?:b[0-9])b",
    "(?i)a[0-9]s",
    "漢[ab]|b[ab]{2}漢",
    "a[ab]{16}b",
    "a[ab]{17}b",
    "a[0-9]{0,2}b",
    "[ab]{3}",
  ],
])("a frequent %s is found in blocks as by one pass", (pattern) => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 0, max: 3000 }), (seed, more) => {
      const random = seededRandom(seed);
      const letters = Array.from("ab1éS漢\n😀aab0");
      const letter = () => letters[Math.floor(random() * letters.length)];
      const text = textFromString(
        Array.from({ length: 9000 + more }, letter)
          .join("")
          .repeat(4),
      );
      const expected = onePass(pattern, "", text);
      expect(find(text, compileFind(pattern, ""), 1e6).matches.join()).toBe(expected.join());
      expect(count(text, compileFind(pattern, ""))).toBe(expected.length);
    }),
    { numRuns: 1 },
  );
});

test.each(["", "a", "é漢", "\ud800", "#-&~ x", "a\n", "\0", "😀"])(
  "the fixed text %j is what the engine takes it for",
  (source) => {
    const parsed = readHir(parse(source));
    expect(fixedText(source) ?? parsed).toEqual(parsed);
  },
);

test("an assertion at the end of a window waits for the next character", () => {
  const pattern = compileFind("a+?\\b", "");
  for (let letters = 1; letters < 40; letters++) {
    const text = textFromString(`${"a".repeat(letters)}${"b".repeat(300)} a`);
    const { matches } = find(text, pattern, 10, undefined, { windows: { smallest: 1, largest: 4, effort: 1e6 } });
    expect(matches, `${letters} letters`).toEqual([[letters + 301, letters + 302]]);
  }
});

test("offsets are the indices of a JavaScript string", () => {
  const plain = "漢 😀😀 foo é foo";
  const { matches } = findPlain(plain, "foo|😀");
  expect(matches.map(([start, end]) => plain.slice(start, end))).toEqual(["😀", "😀", "foo", "foo"]);
  expect(matches[0]).toEqual([2, 4]);
});

test.each([
  [0, "", true],
  [2, "0-1 1-2", true],
  [3, "0-1 1-2 2-3", false],
  [4, "0-1 1-2 2-3", false],
])("a limit of %i of three matches", (limit, matches, capped) => {
  const found = find(textFromString("aaa"), compileFind("a", ""), limit);
  expect([places(found), found.capped]).toEqual([matches, capped]);
});

test("a limit of 0 without matches is not capped", () => {
  expect(find(textFromString("aaa"), compileFind("b", ""), 0)).toEqual({ matches: [], capped: false });
});

test("an empty match never touches the end of the match before it", () => {
  expect(places(findPlain("aab", "a*"))).toBe("0-2 3-3");
  expect(places(findPlain("", "a*"))).toBe("0-0");
  expect(places(findPlain("a\nb", "^", "m"))).toBe("0-0 2-2");
});

test("flags i, m and s are Rust's; g, u and d change nothing", () => {
  expect(places(findPlain("Foo\nfoo", "^FOO$", "im"))).toBe("0-3 4-7");
  expect(places(findPlain("a\nb", "a.b", "s"))).toBe("0-3");
  expect(places(findPlain("aa", "a", "gud"))).toBe("0-1 1-2");
});

test.each([
  ["[^]b", "a\nb", [1, 3]],
  ["f\\(\\) {", "f() {", [0, 5]],
  ["{a{2}", "{aa", [0, 3]],
  ["[[\\]]+", "a[]b", [1, 3]],
  ["\\uD83D\\uDE00", "x😀", [1, 3]],
  ["\\cA\\0[\\b]", "\x01\0\b", [0, 3]],
  ["\\/\\u0041", "/A", [0, 2]],
  ["(?<year>\\d{4})", "in 2024", [3, 7]],
  ["[[:alpha:]] {", "x {", [0, 3]],
])("JavaScript's %s is understood", (pattern, plain, match) => {
  expect(findPlain(plain, pattern).matches).toEqual([match]);
});

test.each([
  ["foo(?=bar)", "", "find: (?= at index 3 is not supported (linear-time matching)"],
  ["(?!a)b", "", "find: (?! at index 0 is not supported (linear-time matching)"],
  ["(?<=a)b", "", "find: (?<= at index 0 is not supported (linear-time matching)"],
  ["x(?<!a)b", "", "find: (?<! at index 1 is not supported (linear-time matching)"],
  ["(a)\\1", "", "find: \\1 at index 3 is not supported (linear-time matching)"],
  ["(?<q>.)\\k<q>", "", "find: \\k<q> at index 7 is not supported (linear-time matching)"],
  ["(?>a)", "", "find: (?> at index 0 is not supported (linear-time matching)"],
  ["[(?=]\\\\(?=", "", "find: (?= at index 7 is not supported (linear-time matching)"],
  ["😀(", "i", "find: unclosed group at index 2"],
  ["a\nb(", "i", "find: unclosed group at line 2, column 1"],
  ["\\Z", "", "find: unrecognized escape sequence at index 0"],
  ["a", "y", 'find: flag "y" is not supported'],
  ["a", "gv", 'find: flag "v" is not supported'],
  ["(?:\\w{100}){200}", "", "find: the compiled pattern is larger than 10 MB, or nested more than 250 deep"],
])("%j with flags %j is refused: %s", (pattern, flags, message) => {
  const error = refusalOf(() => compileFind(pattern, flags));
  expect(error).toMatchObject({ code: "js_error", guestName: "SyntaxError", message });
  expect(error.suggestion).not.toBe("");
});

test("a pattern of more than 16,384 characters is refused", () => {
  expect(compileFind("a".repeat(16_384), "").maxBytes).toBe(16_384);
  expect(refusalOf(() => compileFind("a".repeat(16_385), "")).message).toMatch("16385 characters");
});

test("a pattern that is too deep only in windows is refused as such", () => {
  const depth = 83;
  const pattern = compileFind(`${"(?:a".repeat(depth)}\\b\\s+${")*".repeat(depth)}`, "");
  const error = refusalOf(() =>
    find(textFromString("a a".repeat(99)), pattern, 10, undefined, { windows: { smallest: 1, largest: 1, effort: 0 } }),
  );
  expect(error).toMatchObject({ guestName: "SyntaxError", message: expect.stringContaining("more than 250 deep") });
});

test("a pattern that reads the rest of the text for every match is given up", () => {
  const text = textFromString("a".repeat(5000));
  const pattern = compileFind("a(?:[\\s\\S]*z)?", "");
  const error = refusalOf(() =>
    find(text, pattern, 10_000, undefined, { windows: { smallest: 100, largest: 400, effort: 0 } }),
  );
  expect(error).toMatchObject({ code: "js_error", guestName: "RangeError" });
});

test("more patterns than are remembered, and then the first again", () => {
  const text = textFromString("a1 b22");
  for (let round = 0; round < 2; round++) {
    for (let n = 1; n < 25; n++)
      expect(find(text, compileFind(`[a-z0-9]{1,${n}}`, ""), 9).matches.length).toBe(n === 1 ? 5 : n === 2 ? 3 : 2);
  }
});

const places = ({ matches }: Pick<ReturnType<typeof find>, "matches">) => matches.map((at) => at.join("-")).join(" ");

function findPlain(plain: string, pattern: string, flags = "") {
  return find(textFromString(plain), compileFind(pattern, flags), 100);
}
