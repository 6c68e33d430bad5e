import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openText, type Text, textFromParts, textFromString } from "../../../../src/context/text/text.ts";
import { PAGE_BYTES } from "../../../../src/platform/checked-file.ts";
import { anyParts, TEXT_KINDS, type TextKind, unitsToTry } from "../../../support/both-kinds.ts";

/** Strings of characters of all sizes, some of which cross the blocks of a text in memory. */
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
const ofOnePart = fc.oneof(mixed, long, fc.string({ unit: "grapheme" })).map((text) => [text]);
const offsets = fc.array(fc.nat(), { minLength: 20, maxLength: 20 });

/** Tries a statement about texts of a kind, at some of their UTF-16 units. */
function always(textOf: TextKind["textOf"], holds: (text: Text, P: string, units: readonly number[]) => void): void {
  const tried = (parts: readonly string[], others: readonly number[]) => {
    using text = textOf(parts);
    holds(text, parts.join(""), unitsToTry(parts, others));
  };
  fc.assert(fc.property(anyParts, offsets, tried), { numRuns: 8 });
  fc.assert(fc.property(ofOnePart, offsets, tried), { numRuns: 8 });
}

/** A dozen of these, from all over. */
const someOf = (all: readonly number[]) => all.filter((_, at) => at % Math.ceil(all.length / 12) === 0);

describe.each(TEXT_KINDS)("a text $kind", ({ textOf }) => {
  test("has the bytes and units of its string", () => {
    always(textOf, (text, P) => {
      expect(text.length).toBe(P.length);
      expect(text.bytes).toBe(Buffer.byteLength(P));
      expect(text.slice(0, Number.POSITIVE_INFINITY) === P).toBe(true);
      expect(text.read(0, Number.POSITIVE_INFINITY).equals(Buffer.from(P))).toBe(true);
    });
  });

  test("slices as String.prototype.slice does, inside surrogate pairs too", () => {
    always(textOf, (text, P, units) => {
      for (const start of units)
        for (const end of someOf(units))
          if (text.slice(start, end) !== P.slice(start, end)) expect([start, end]).toBe("equal slices");
    });
  });

  test("reads the bytes of a range, into room that is given or not", () => {
    always(textOf, (text, P, units) => {
      const bytes = Buffer.from(P);
      const room = Buffer.alloc(bytes.length + 4 * PAGE_BYTES);
      const places = units.map((unit) => Buffer.byteLength(P.slice(0, unit)));
      for (const from of someOf(places))
        for (const to of places) {
          const expected = bytes.subarray(from, to);
          const both = [text.read(from, to), text.read(from, to, room)];
          if (!both.every((read) => read.equals(expected))) expect([from, to]).toBe("equal bytes");
        }
    });
  });

  test("finds the byte of a unit and the unit of a byte, in any order of questions", () => {
    always(textOf, (text, P, units) => {
      for (const wanted of units) {
        const unit = isSecondUnit(P, wanted) ? wanted - 1 : wanted;
        const byte = Buffer.byteLength(P.slice(0, unit));
        expect(text.byteAt(wanted)).toBe(byte);
        expect(text.unitAt(byte)).toBe(unit);
      }
    });
  });

  test("finds the line of a byte", () => {
    always(textOf, (text, P, units) => {
      text.lines.prepare();
      for (const unit of units) {
        const before = Buffer.from(P.slice(0, unit));
        expect(text.lines.at(before.length)).toEqual({
          newlines: before.toString().split("\n").length - 1,
          start: before.lastIndexOf("\n") + 1,
        });
      }
    });
  });

  test("clamps what lies outside", () => {
    for (const plain of ["abc", "ab漢"]) {
      const text = textOf([plain]);
      const bytes = Buffer.byteLength(plain);
      expect(text.slice(1, 99)).toBe(plain.slice(1));
      expect(text.slice(99, 100)).toBe("");
      expect(text.slice(2, 1)).toBe("");
      expect([text.byteAt(99), text.unitAt(99), text.byteAt(-1), text.unitAt(-1)]).toEqual([bytes, 3, 0, 0]);
      expect(text.read(-5, 99).toString()).toBe(plain);
      expect([text.read(2, 1).length, text.read(99, 100).length]).toEqual([0, 0]);
    }
  });

  test("may be empty, with or without parts", () => {
    for (const parts of [[], [""], ["", ""]]) {
      const text = textOf(parts);
      expect([text.length, text.bytes, text.slice(0, 5), text.unitAt(0), text.byteAt(0)]).toEqual([0, 0, "", 0, 0]);
      expect([text.read(0, 9).length, text.lines.at(0)]).toEqual([0, { newlines: 0, start: 0 }]);
    }
  });
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

test("lone surrogates become U+FFFD", () => {
  const text = textFromString("a\ud83db\ude00c");
  expect(text.slice(0, text.length)).toBe("a\ufffdb\ufffdc");
});

function isSecondUnit(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}
