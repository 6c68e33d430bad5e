import fc from "fast-check";
import { expect, test } from "vitest";
import { openText, textFromParts, textFromString } from "../../../../src/context/text/text.ts";

const piece = fc.constantFrom(
  "a",
  "word ",
  "\r\n",
  "\n",
  "\0",
  "\u2028",
  "é",
  "漢字",
  "😀",
  "👩‍👩‍👧",
  "\ufeff",
  "\u{10ffff}",
);
const mixed = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(""));
/** Several blocks long; the shift makes blocks begin inside characters. */
const long = fc.tuple(fc.integer({ min: 0, max: 5 }), mixed).map(([shift, seed]) => {
  const unit = `${seed}😀漢é`;
  return "x".repeat(shift) + unit.repeat(Math.ceil(7000 / unit.length));
});
const anyText = fc.oneof(mixed, long, fc.string({ unit: "grapheme" }));
const offset = fc.oneof(fc.integer({ min: 0, max: 80 }), fc.integer({ min: 0, max: 9000 }));

test("slice equals String.prototype.slice, inside surrogate pairs and past the end too", () => {
  fc.assert(
    fc.property(anyText, fc.array(fc.tuple(offset, offset), { minLength: 20, maxLength: 20 }), (plain, ranges) => {
      const text = textFromString(plain);
      expect(text.length).toBe(plain.length);
      for (const [start, end] of ranges) expect(text.slice(start, end)).toBe(plain.slice(start, end));
      expect(text.slice(0, Number.POSITIVE_INFINITY)).toBe(plain);
    }),
    { numRuns: 300 },
  );
});

test("unitAt and byteAt agree with the encoding of the string, in any order of questions", () => {
  fc.assert(
    fc.property(anyText, fc.array(offset, { minLength: 20, maxLength: 20 }), (plain, offsets) => {
      const text = textFromString(plain);
      for (const wanted of offsets) {
        const inside = Math.min(wanted, plain.length);
        const unit = isSecondUnit(plain, inside) ? inside - 1 : inside;
        const byte = Buffer.byteLength(plain.slice(0, unit));
        expect(text.byteAt(inside)).toBe(byte);
        expect(text.unitAt(byte)).toBe(unit);
      }
    }),
    { numRuns: 300 },
  );
});

test("the data of a text opens elsewhere without a copy", () => {
  const plain = "漢字😀\n".repeat(2000);
  const { data } = textFromString(plain);
  const copy = structuredClone(data);
  expect(copy.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
  expect(copy.anchors.buffer).toBeInstanceOf(SharedArrayBuffer);
  expect(openText(copy).slice(9001, 9008)).toBe(plain.slice(9001, 9008));
});

const noPause = async () => {};

test("parts follow one another", async () => {
  const parts = ["one\n", "", "zwei 漢字", "😀"].map((part) => Buffer.from(part));
  const text = await textFromParts(parts, noPause);
  expect(text.slice(0, text.length)).toBe("one\nzwei 漢字😀");
  expect(text.length).toBe(13);
});

test("no parts are the empty text", async () => {
  const text = await textFromParts([], noPause);
  expect([text.length, text.slice(0, 5), text.unitAt(0), text.byteAt(0)]).toEqual([0, "", 0, 0]);
});

test("lone surrogates become U+FFFD", () => {
  const text = textFromString("a\ud83db\ude00c");
  expect(text.slice(0, text.length)).toBe("a\ufffdb\ufffdc");
});

test("offsets outside the text are clamped", () => {
  for (const plain of ["abc", "ab漢"]) {
    const text = textFromString(plain);
    expect(text.slice(1, 99)).toBe(plain.slice(1));
    expect(text.slice(99, 100)).toBe("");
    expect(text.slice(2, 1)).toBe("");
    expect(text.byteAt(99)).toBe(Buffer.byteLength(plain));
    expect(text.unitAt(99)).toBe(3);
  }
});

function isSecondUnit(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
