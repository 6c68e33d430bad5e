import { expect, test } from "vitest";
import { pace } from "../../../src/session/turns.ts";

test("work that begins together begins in order, in turns of the event loop with other work in between", async () => {
  const begun: number[] = [];
  const all = Array.from({ length: 100 }, async (_, n) => {
    await pace();
    begun.push(n);
  });
  await Promise.resolve();
  const seen = [begun.length];
  while (begun.length < 100) {
    await new Promise((resolve) => setImmediate(resolve));
    seen.push(begun.length);
  }
  await Promise.all(all);
  expect(begun).toEqual(Array.from({ length: 100 }, (_, n) => n));
  expect(Math.max(...seen.map((count, at) => count - (seen[at - 1] ?? 0)))).toBeLessThanOrEqual(16);
});
