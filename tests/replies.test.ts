import { expect, test } from "vitest";
import { type Case, readCases } from "../campaigns/replies/case.ts";
import { judge } from "../campaigns/replies/judge.ts";
import { play } from "../campaigns/replies/play.ts";

/** One in so many cases is played here, all of them by `npm run campaign -- replies`. */
const ONE_IN = 16;

/** True if it takes long, or times count: runs of `belay batch` have tests of their own. */
const isForHand = ({ door, expect: { within } }: Case) => door === "batch" || within !== undefined;

test("what comes of a model's reply is what has to", async () => {
  const cases = readCases().filter((one, at) => at % ONE_IN === 0 && !isForHand(one));
  expect(cases.length).toBeGreaterThan(50);
  const played = await play(cases);
  expect(played).toHaveLength(cases.length);
  expect(played.flatMap(({ case: { id }, wrong }) => wrong.map((line) => `${id}: ${line}`))).toEqual([]);
});

test("a case is wrong if another thing was seen than it expects", () => {
  const seen = { value: "a", fails: null, says: "", warnings: ["replies_mended: 1 (x)"], asked: [] };
  expect(judge({ value: "a", warns: ["mended"], requests: 0, not: "b" }, seen)).toEqual([]);
  expect(judge({ value: "b" }, seen)).toEqual(['value "b": "a"']);
  expect(judge({ fails: "empty_answer", quiet: true, requests: 1 }, seen)).toEqual([
    'fails empty_answer: "a"',
    "quiet: replies_mended: 1 (x)",
    "requests 1: 0",
  ]);
  expect(judge({ any: [{ value: "b" }, { value: "a" }] }, seen)).toEqual([]);
});
