import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { itemOf, SUITES, type SuiteName, tokensIn } from "../../../src/eval/suites.ts";
import { READERS } from "./answers.ts";

const names = Object.keys(SUITES).filter((name): name is SuiteName => name in SUITES);
const sorted = (answer: unknown) => (Array.isArray(answer) ? answer.toSorted() : answer);

const made = (suite: SuiteName, size: string, number = 1, seed = 1) => itemOf(suite, size, number, seed);

describe.each(names)("%s", (suite) => {
  test.each([
    ["8k", 1],
    ["8k", 2],
    ["128k", 1],
  ] as const)("an independent reader finds its answer: %s, number %i", (size, number) => {
    const { item, files } = made(suite, size, number);
    const texts = [...files.values()];
    expect(sorted(READERS[suite](item.question, texts))).toEqual(sorted(item.expected));
    expect([item.expected].flat().length).toBeGreaterThan(0);
    expect(texts.join("").length / ((tokensIn(size) ?? 0) * 4)).toSatisfy((share) => share > 0.85 && share < 1.15);
  });

  test("the same seed gives the same bytes, and another one other texts and answers", () => {
    const hash = (seed: number) =>
      createHash("sha256")
        .update(JSON.stringify([...made(suite, "8k", 1, seed).files]))
        .digest("hex");
    expect(hash(1)).toBe(hash(1));
    expect(hash(2)).not.toBe(hash(1));
    expect(hash(1).slice(0, 16)).toBe(BYTES[suite]);
  });

  test("a question is the same at each size", () => {
    const [small, large] = ["16k", "64k"].map((size) => made(suite, size).item);
    expect(large?.question).toBe(small?.question);
    if (!GROWING.includes(suite)) expect(large?.expected).toEqual(small?.expected);
  });
});

/** Suites whose answer names something of which there is more in a larger context. */
const GROWING: readonly SuiteName[] = ["pairs", "code"];

/** Kept runs compare their contexts with these: another text of a suite is another item. */
const BYTES: Readonly<Record<SuiteName, string>> = {
  needle: "6634a487c8462673",
  needles: "7eebda1f981ecb05",
  count: "961884ff69481ee7",
  pairs: "a447e0b3399701ef",
  chain: "b8ff4b5ed67cacf4",
  code: "7a2dd10dc66f823b",
};

test("sizes are from 8k to 10M", () => {
  expect(["8k", "128k", "1.5M", "10M"].map(tokensIn)).toEqual([8000, 128_000, 1_500_000, 10_000_000]);
  expect(["7k", "11M", "8", "8K", "k", "-8k", "8k "].map(tokensIn)).toEqual(Array(7).fill(undefined));
});
