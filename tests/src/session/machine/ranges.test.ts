import fc from "fast-check";
import { expect, test } from "vitest";
import { MOST_RANGES, openRanges, packRanges, rangesIn } from "../../../../src/session/machine/ranges.ts";

const bounds = fc.tuple(fc.nat(5000), fc.nat(5000)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);

/** A set of characters as ranges. */
function rangesOf(isIn: readonly boolean[]) {
  const out: [number, number][] = [];
  for (const [at, is] of isIn.entries()) {
    if (is && !isIn[at - 1]) out.push([at, at + 1]);
    else if (is) for (const last of out.slice(-1)) last[1] = at + 1;
  }
  return out;
}

test("a set has the characters of its ranges within the text and no other, also after it was kept", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6000 }),
      fc.array(bounds, { maxLength: 12 }),
      fc.nat(12),
      (length, all, cut) => {
        let ranges = openRanges(length);
        const isIn = Array.from({ length }, () => false);
        for (const [at, [start, end]] of all.entries()) {
          if (at === cut) {
            const { packed, joined } = ranges.tell();
            ranges = openRanges(length, packed, joined);
          }
          ranges.add(start, end);
          isIn.fill(true, start, end);
        }
        const { packed, ...told } = ranges.tell();
        expect(told).toEqual({ ranges: rangesOf(isIn), joined: 0 });
        expect(rangesIn(packed, length)).toEqual(told.ranges);
      },
    ),
    { numRuns: 60 },
  );
});

test("exactly as many of the smallest gaps are joined as are too many, of equal ones the first", () => {
  const ranges = openRanges(10_000_000);
  // The gaps before the last five have 3, 3, 3, 2 and 3 characters, those before them 10.
  const starts: number[] = [];
  let at = 0;
  for (let n = 0; n < MOST_RANGES + 3; n++) {
    at += n === MOST_RANGES + 1 ? 2 : n > MOST_RANGES - 3 ? 3 : 10;
    starts.push(at);
    ranges.add(at, at + 1);
    at++;
  }
  const told = ranges.tell();
  expect([told.ranges.length, told.joined]).toEqual([MOST_RANGES, 2 + 3 + 3]);
  const [before = 0, , second = 0, third = 0, fourth = 0, last = 0] = starts.slice(MOST_RANGES - 3);
  expect(told.ranges.slice(-3)).toEqual([
    [before, second + 1],
    [third, fourth + 1],
    [last, last + 1],
  ]);
});

test("text that is no set of ranges gives ranges within the text or none", () => {
  const endless = `${"/".repeat(4000)}AAAA`;
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.constant(endless),
        fc.array(fc.nat()).map((n) => packRanges([[n[0] ?? 0, n[1] ?? 0]])),
      ),
      (text) => {
        const ranges = openRanges(1000, text);
        ranges.add(5, 6);
        return ranges.tell().ranges.every(([start, end]) => start >= 0 && start < end && end <= 1000);
      },
    ),
  );
});
