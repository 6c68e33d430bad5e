import { expect, test } from "vitest";
import { builtins, cellReference } from "../../../builtins/index.ts";
import { systemPrompt } from "../../../src/ask/prompt.ts";

/**
 * At four characters each, as everywhere. The tokenizer o200k_base counts 833 and 1,026 tokens for the two texts, and this 833
 * and 1,014. The bound leaves room for that difference of 1.2 %.
 */
const MOST_TOKENS = 1_085;
const tokensOf = (text: string) => Math.ceil(text.length / 4);

test("the words that every turn of an ask sends take at most 1,100 tokens", () => {
  expect(tokensOf(systemPrompt(cellReference(builtins, "absent"), false))).toBeLessThan(MOST_TOKENS);
  expect(tokensOf(systemPrompt(cellReference(builtins, "explained"), true))).toBeLessThan(MOST_TOKENS);
});

test("a model reads of calls with a context only if it may make some", () => {
  const deep = systemPrompt(cellReference(builtins, "explained"), true);
  for (const word of [
    "rlm_query(question, options?: ChildOptions)",
    "ChildOptions { context?",
    "max_sub_calls",
    "cites",
  ]) {
    expect(deep).toContain(word);
  }
  expect(systemPrompt(cellReference(builtins, "absent"), false)).not.toMatch(/rlm_query|ChildOptions|context:|cites/);
});
