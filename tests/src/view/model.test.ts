import fc from "fast-check";
import { expect, test } from "vitest";
import { clockOf, mostAtOnce, type Span } from "../../../src/view/page/model.ts";

const spans = fc
  .array(fc.tuple(fc.nat(10_000_000), fc.integer({ min: 1, max: 50_000 })), { minLength: 1, maxLength: 12 })
  .map((all) => all.map(([from, length]): Span => [from, from + length]));

test("the most at once is exact: it is that of some beginning, and an end comes before a beginning", () => {
  expect(mostAtOnce(Float64Array.of(0, 5, 5), Float64Array.of(5, 9, Number.POSITIVE_INFINITY))).toBe(2);
  fc.assert(
    fc.property(spans, (all) => {
      const most = Math.max(...all.map(([at]) => all.filter(([from, to]) => from <= at && at < to).length));
      expect(
        mostAtOnce(
          Float64Array.from(all, ([from]) => from),
          Float64Array.from(all, ([, to]) => to),
        ),
      ).toBe(most);
    }),
  );
});

test("time without a process is in no duration, and its cuts take less than a tenth of the width", () => {
  const clock = clockOf([
    [0, 1000],
    [1000, 2000],
    [2500, 3000],
    [100_000, 101_000],
  ]);
  expect(clock.running).toBe(3500);
  expect(clock.cuts).toMatchObject([{ at: 3000, ms: 97_000 }]);
  // A short pause is drawn, and still no running time.
  expect([clock.at(2250), clock.lived(2250), clock.lived(2500)]).toEqual([2250, 2000, 2000]);
  expect([clock.lived(50_000), clock.lived(100_000), clock.lived(100_500)]).toEqual([2500, 2500, 3000]);
  fc.assert(
    fc.property(spans, (all) => {
      const { cuts, width, running, at, lived, instant } = clockOf(all);
      expect(cuts.reduce((sum, cut) => sum + cut.width, 0)).toBeLessThanOrEqual(Math.max(width / 10, cuts.length));
      const instants = all.flat().toSorted((one, other) => one - other);
      const brute = new Set(all.flatMap(([from, to]) => (to - from > 300 ? [] : range(from, to))));
      if (all.every(([from, to]) => to - from <= 300)) expect(running).toBe(brute.size);
      const places = instants.map(at);
      expect(places).toEqual(places.toSorted((one, other) => one - other));
      for (const [from] of all) expect(instant(at(from))).toBeCloseTo(from, 3);
      expect(lived(Number.POSITIVE_INFINITY)).toBeCloseTo(running, 3);
    }),
  );
});

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);

test("nothing that ran has a width all the same", () => {
  expect(clockOf([])).toMatchObject({ width: 1, running: 0, cuts: [] });
  expect([clockOf([]).at(5), clockOf([]).lived(5)]).toEqual([0, 0]);
});
