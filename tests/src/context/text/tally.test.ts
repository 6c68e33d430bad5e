import fc from "fast-check";
import { expect, test } from "vitest";
import { countIn, openTally, PAGE_NUMBERS } from "../../../../src/context/text/tally.ts";
import { PAGE_BYTES } from "../../../../src/platform/checked-file.ts";
import { anyCharacter } from "../../../support/any-character.ts";
import { anyParts } from "../../../support/both-kinds.ts";

test("units and newlines are counted from any byte of memory to any other", () => {
  const unit = fc.oneof(fc.constantFrom("\n", "a", "\x7f", "\x80", "\x0b", "\x8a", "é", "漢", "😀"), anyCharacter);
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 40 }), fc.nat({ max: 8 }), (plain, shift) => {
      const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(plain)]).subarray(shift);
      expect(countIn(bytes)).toEqual({ units: plain.length, newlines: plain.split("\n").length - 1 });
    }),
    { numRuns: 100 },
  );
});

test("the units of a character are counted with its first byte", () => {
  const bytes = Buffer.from("😀漢é");
  const counts = Array.from(bytes, (_, at) => countIn(bytes.subarray(at, at + 1)).units);
  expect(counts).toEqual([2, 0, 0, 0, 1, 0, 0, 1, 0]);
});

test("a tally is that of the whole text, in whatever pieces it comes, and goes on from an earlier one", () => {
  fc.assert(
    fc.property(anyParts, fc.integer({ min: 1, max: 70_000 }), (parts, step) => {
      const bytes = Buffer.from(parts.join(""));
      const whole = openTally();
      whole.add(bytes);
      const first = openTally();
      const begun = parts.slice(0, 1).join("");
      first.add(Buffer.from(begun));
      const second = openTally(first.told());
      for (let at = Buffer.byteLength(begun); at < bytes.length; at += step)
        second.add(bytes.subarray(at, Math.min(at + step, bytes.length)));
      expect(second.told()).toEqual(whole.told());
      expect(second.units()).toBe(bytes.toString().length);
    }),
    { numRuns: 12 },
  );
});

test("a page has what stands before it, and is ASCII if all of its own bytes are", () => {
  const xs = (length: number) => "x".repeat(length);
  const tally = openTally();
  // The smile crosses into the third page. Both of its units count in the second one.
  tally.add(Buffer.from(`\n\n${xs(PAGE_BYTES - 2)}${xs(PAGE_BYTES - 2)}😀${xs(PAGE_BYTES - 3)}\né`));
  const { before, units, newlines, bytes } = tally.told();
  const pages = Array.from({ length: 4 }, (_, page) => [
    ...before.slice(PAGE_NUMBERS * page, PAGE_NUMBERS * (page + 1)),
  ]);
  expect(pages).toEqual([
    [0, 0, 1],
    [PAGE_BYTES, 2, 0],
    [2 * PAGE_BYTES, 2, 0],
    [3 * PAGE_BYTES - 2, 3, 0],
  ]);
  expect([units, newlines, bytes]).toEqual([3 * PAGE_BYTES - 1, 3, 3 * PAGE_BYTES + 2]);
});
