import { expect, test } from "vitest";
import { type Expected, type ScoreName, scoreOf } from "../../../src/eval/scores.ts";

const KNOWN: readonly [ScoreName, answer: string, Expected, score: number | null][] = [
  ["contains", "The number is 1234567.", "1234567", 1],
  ["contains", "51234567", "1234567", 0],
  ["contains", "It is **bakoli**", "Bakoli", 1],
  ["contains", "答案是東京。", "東京", 1],
  ["contains", "a+b (c)", "a+b (c)", 1],
  ["exact", " Paris. ", "paris", 1],
  ["exact", "It is Paris", "paris", 0],
  ["count", "42", 42, 1],
  ["count", "There are **1,042** of them.", 1042, 1],
  ["count", "40", 42, 0.75 ** 2],
  ["count", "43.5", 42, 0.75 ** 1.5],
  ["count", "between 40 and 42", 42, null],
  ["count", "I cannot tell", 42, null],
  ["recall", "12 and 34", ["12", "34", "56"], 2 / 3],
  ["recall", "1234", ["12", "34"], 0],
  ["f1", "a, b", ["a", "b"], 1],
  ["f1", '["a", "c"]', ["a", "b"], 0.5],
  ["f1", "- a\n- b\n- c\n- d", ["a", "b"], 2 / 3],
  ["f1", "u2-u1", ["u1-u2"], 1],
  ["f1", "a, a, a", ["a"], 1],
  ["f1", "", ["a"], 0],
  ["f1", "", [], 1],
  ["f1", "The names are a, b", ["a", "b"], null],
  ["oolong", "Answer: 5", 5, 1],
  ["oolong", "There are 12 of ham and 9 of spam. **Answer: [7]**", 5, 0.75 ** 2],
  ["oolong", "Answer: many", 5, null],
  ["oolong", "Label: spam", "spam", 1],
  ["oolong", "Label: Spam", "spam", 0],
  ["oolong", "I counted them all, so it must be spam", "spam", 1],
  ["oolong", "Answer: ham is more common than spam", "more common than", 1],
  ["oolong", "Answer: ham is less common than spam", "more common than", 0],
  ["oolong", "User: 42", "42", 1],
  ["oolong", "User: 43", "42", 0],
  ["oolong", "Date: 05/01/2023", "2023-05-01", 1],
  ["oolong", "Date: May 1, 2023", "2023-05-01", 1],
  ["oolong", "Date: May 2, 2023", "2023-05-01", 0],
  ["oolong", "Date: never", "2023-05-01", 0],
  ["oolong", "Answer: October 2022", "October 2022", 1],
  ["oolong-real", "So it is \\boxed{84}.", 84, 1],
  ["oolong-real", "\\boxed{\\text{83}}", 84, 0.75],
  ["oolong-real", "84", 84, 1],
  ["oolong-real", "There are 84", 84, null],
  ["oolong-real", "\\boxed{grog}", "Grog", 1],
  ["oolong-real", "\\boxed{Fly, Haste}", ["Fly", "Light"], 0.5],
  ["oolong-real", "\\boxed{Fly}", ["Fly", "Light"], null],
  ["choice", "B", "B", 1],
  ["choice", "(B) the second", "B", 1],
  ["choice", "The correct answer is (B).", "B", 1],
  ["choice", "**The correct answer is B**", "A", 0],
  ["choice", "Bergen", "B", null],
  ["choice", "I cannot tell", "A", null],
];

test("an answer as long as it may be is scored, whatever blanks are in it", () => {
  const answer = `a${" .".repeat(100_000)}b`;
  expect([scoreOf("exact", answer, "x"), scoreOf("contains", answer, "x"), scoreOf("f1", answer, ["x"])]).toEqual([
    ...[0, 0, null],
  ]);
});

test.each(KNOWN)("%s of %j, where %j is right, is %d", (name, answer, expected, score) => {
  const found = scoreOf(name, answer, expected);
  if (score === null || found === null) expect(found).toBe(score);
  else expect(found).toBeCloseTo(score, 12);
});
