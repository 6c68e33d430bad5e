import fc from "fast-check";
import { expect, test } from "vitest";
import { type Cover, type StubBounds, stubBoundsBy } from "../../../../src/pi/externalize/stub-bounds.ts";

const PEOPLE = { window: 1, before: 1, after: 1, objects: 1 };
const FACTS = { v: 1, epoch: 1, cause: "threshold", manifest: 500, ...PEOPLE } as const;
const KEYS = ["toolResult:a", "toolResult:b", "user:1"] as const;
const key = fc.constantFrom(...KEYS);

const cover: fc.Arbitrary<Cover> = fc
  .record({
    ...{ min: fc.nat(3), preview: fc.nat(50), end: fc.integer({ min: -1, max: 8 }) },
    keep: fc.array(fc.tuple(key, fc.nat(1)), { maxLength: 1 }),
    results: fc.array(fc.tuple(key, fc.uniqueArray(fc.nat(1))), { maxLength: 2 }),
  })
  .map(({ min, preview, end, keep, results }) => ({
    ...{ epoch: { ...FACTS, min, preview }, end, folded: -1, results: new Map(results) },
    keeps: (one, n) => keep.some(([key, first]) => key === one && n >= first),
  }));

/** Every mark that entries make, one after the other. */
const allMarks = (covers: readonly Cover[], one: string, n: number, at: number) =>
  covers.flatMap(({ end, keeps, results, epoch: { min, preview } }): StubBounds[] => [
    ...(at <= end && !keeps(one, n) ? [{ min, preview: null }] : []),
    ...(results.get(one)?.includes(n) ? [{ min: 0, preview }] : []),
  ]);

const stubOf = (marks: readonly StubBounds[], tokens: number) => marks.find(({ min }) => tokens >= min);

test("the marks that are left make the stubs that all of them make", () => {
  const place = fc.record({ one: key, n: fc.nat(1), at: fc.nat(9), tokens: fc.nat(4) });
  fc.assert(
    fc.property(fc.array(cover, { maxLength: 8 }), fc.array(place, { maxLength: 20 }), (covers, places) => {
      const marks = stubBoundsBy(covers);
      for (const { one, n, at, tokens } of places) {
        expect(stubOf(marks(one, n, at), tokens)).toEqual(stubOf(allMarks(covers, one, n, at), tokens));
      }
    }),
    { numRuns: 100 },
  );
});

test("among thousands of epochs few are looked at for a message", () => {
  let looked = 0;
  const keeps = () => {
    looked++;
    return false;
  };
  const covers = Array.from({ length: 5000 }, (_, n): Cover => {
    const epoch = { ...FACTS, min: 200, preview: 400 };
    return { epoch, end: n, folded: -1, keeps, results: new Map() };
  });
  const marks = stubBoundsBy(covers);
  for (let at = 0; at < 5000; at++) expect(marks("user:1", 0, at)).toEqual([{ min: 200, preview: null }]);
  expect(looked).toBe(5000);
});
