import { expect, test } from "vitest";
import { age, ageFrom, amount, size } from "../../../src/platform/figures.ts";

test("amounts, sizes and ages are short", () => {
  expect([0, 1, 1234].map((count) => amount(count, "call"))).toEqual(["0 calls", "1 call", "1,234 calls"]);
  const sizes = [0, 1023, 1536, 45.2 * 2 ** 20, 1.3 * 2 ** 30];
  expect(sizes.map(size)).toEqual(["0 B", "1023 B", "1.5 KB", "45.2 MB", "1.3 GB"]);
  const [second, minute, hour] = [1000, 60_000, 3_600_000];
  const ages = [-5 * hour, 999, second, 59 * second, minute, 59 * minute, hour, 47 * hour, 48 * hour, 1000 * hour];
  expect(ages.map(age)).toEqual(["now", "now", "1 s", "59 s", "1 min", "59 min", "1 h", "47 h", "2 d", "41 d"]);
});

test("an age is a number with a unit", () => {
  expect(["30d", "12h", "90min", "2w", "1 d", "0d"].map(ageFrom)).toEqual([
    2_592_000_000, 43_200_000, 5_400_000, 1_209_600_000, 86_400_000, 0,
  ]);
  for (const text of ["", "30", "d", "-1d", "1.5d", "1m", "1y", "9999999d", "1d2h"])
    expect(ageFrom(text), text).toBeUndefined();
});
