import { expect, test } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { mendedJson, repairRoom, validJson } from "../../../../src/models/replies/mended-json.ts";
import { seededRandom } from "../../../support/seeded-random.ts";

const mend = (text: string) => mendedJson(text, repairRoom());

test.each<[string, string, Json, string]>([
  ["a last comma", '{"a":1,}', { a: 1 }, "punctuation"],
  ["a lacking comma", '{\n "a": "x"\n "b": 2\n}', { a: "x", b: 2 }, "punctuation"],
  ["a lacking quote", '{"a":"x","b":"y}', { a: "x", b: "y" }, "punctuation"],
  ["bare names", "{a: 1, b_2: 'x'}", { a: 1, b_2: "x" }, "punctuation"],
  ["bare words", "{mood: very happy}", { mood: "very happy" }, "punctuation"],
  [
    "Python",
    "{'a': True, 'b': None, 'c': \"it's\", 'd': 'it\\'s'}",
    { a: true, b: null, c: "it's", d: "it's" },
    "punctuation",
  ],
  ["comments", '{"a":1, // one\n/* two */ "u":"http://x.y/z"}', { a: 1, u: "http://x.y/z" }, "punctuation"],
  ["comments in strings", '{"a":"x /* y */ // z",}', { a: "x /* y */ // z" }, "punctuation"],
  ["typographic quotes", "{“a”: ‘x’}", { a: "x" }, "punctuation"],
  ["quotes in a text", '{"a":"he said "yes" to me"}', { a: 'he said "yes" to me' }, "punctuation"],
  ["full-width marks", '{"a"：1，"b"："他说：好，"}', { a: 1, b: "他说：好，" }, "characters in strings"],
  ["raw line breaks", '{"a":"x\ny\tz"}', { a: "x\ny\tz" }, "characters in strings"],
  ["unknown escapes", '{"a":"\\d+\\.\\d"}', { a: "\\d+\\.\\d" }, "characters in strings"],
  ["an escaped apostrophe", '{"a":"it\\\'s\\n"}', { a: "it's\n" }, "characters in strings"],
])("%s: the text is mended", (_, text, value, kind) => {
  expect(validJson(text)).toBeUndefined();
  expect(mend(text)).toEqual({ value, mended: [kind] });
});

test.each([
  ...['{"a":[1,2', '{"a":[1,2,...]}', '{"a":', '{"a":1]', "[{}", '{"a":}', '{"a"}', "{'a', 'b'}"],
  ...['{"a":"x" + "y"}', '{"a":+5}', '{"a":NaN}', '{"a":-Infinity}', '{"a":undefined}', '{"a":.5}', '{"a":5.}'],
  ...['{"a":007}', '{"a":0x1F}', '{"a":1,234}', '{"a":5%}', '{"a":2024-01-02}', '{"a":12:30}', '{"a":1;"b":2}'],
  ...['{"a":"C:\\new\\x"}', '{"a": """x"""}', "{a:'it's'}", '{"a":b:c}', '{"a" "b"}', "{\"a\":Decimal('1')}"],
  ...['{"a": "b" or "c"}', '{"a": "b" | "c"}', '{"a": <b>}', '{"a": /b/}', '{"a": new Date()}'],
  ...['{"a":"he said "b", "c": "d" to me"}', '{"a":["no: "x", "y""]}', '{"a"":1}', "I say { so }", "True, I think"],
])("%s has no plain meaning", (text) => {
  expect(mend(text)).toBeUndefined();
});

test("a reply has so much room for repairs", () => {
  const long = `{'a':'${"x".repeat(20_000)}'}`;
  const room = repairRoom();
  expect(mendedJson(long, room)).toBeDefined();
  expect(mendedJson(long, room)).toBeUndefined();
});

const random = seededRandom(7);
const below = (most: number) => Math.floor(random() * most);
const TEXTS = [
  "happy",
  'he said "yes" to me',
  "a, b",
  "it's late",
  "x: y",
  "",
  "007",
  "line\ntwo",
  "{a}",
  'no: "x", "y"',
  "好，",
];

/** A value of all types. */
function anyValue(depth: number): Json {
  const kind = below(depth > 2 ? 3 : 5);
  if (kind === 0) return [1, -2.5, true, null][below(4)] ?? null;
  if (kind < 3) return TEXTS[below(TEXTS.length)] ?? "";
  if (kind === 3) return Array.from({ length: below(3) }, () => anyValue(depth + 1));
  return anyObject(depth);
}

function anyObject(depth: number): Json {
  return Object.fromEntries(Array.from({ length: 1 + below(3) }, (_, at) => [`field ${at}`, anyValue(depth + 1)]));
}

test("a text that lacks a mark, has one too many or is cut is mended to its value, or not at all", () => {
  let mended = 0;
  for (let time = 0; time < 3000; time++) {
    const value = anyObject(0);
    const text = JSON.stringify(value, null, below(2));
    const marks = [...text.matchAll(/[",:{}[\]]/g)].map(({ index }) => index);
    const at = marks[below(marks.length)] ?? 0;
    // Without the backslash before it, a quote in a string is one more.
    const isInner = text[at - 1] === "\\";
    const texts = [
      text.slice(0, at),
      text.slice(0, at) + text.slice(at + 1),
      `${text.slice(0, at)}${text.slice(at - 0)}`,
    ];
    for (const one of isInner ? [] : texts) {
      const read = validJson(one) ? undefined : mend(one);
      if (read && read.flaw === undefined) {
        expect(read.value, one).toEqual(value);
        mended += 1;
      }
    }
  }
  expect(mended).toBeGreaterThan(500);
});
