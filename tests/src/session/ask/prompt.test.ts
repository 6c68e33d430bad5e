import { expect, test } from "vitest";
import { builtins, cellReference } from "../../../../builtins/index.ts";
import { NOTHING_SKIPPED } from "../../../../src/context/index.ts";
import { footerOf, observationOf } from "../../../../src/session/ask/observe.ts";
import { firstMessage, systemPrompt } from "../../../../src/session/ask/prompt.ts";
import type { ExecEnvelope } from "../../../../src/session/index.ts";

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
  const words = ["rlm_query(question, options?: ChildOptions)", "ChildOptions { context?", "max_sub_calls", "cites"];
  for (const word of words) expect(deep).toContain(word);
  expect(systemPrompt(cellReference(builtins, "absent"), false)).not.toMatch(/rlm_query|ChildOptions|context:|cites/);
});

test("the first message has the question and what is known of P, and nothing of P itself", () => {
  const sources = ["a", "b", "c", "d", "e", "f"];
  const stats = { length_chars: 1234, document_count: 7, sources, skipped: NOTHING_SKIPPED };
  expect(firstMessage("Which?", stats, null, null)).toBe(
    "Which?\n\nP has 1234 characters in 7 documents, from a, b, c, d, e, … 1 more.",
  );
  expect(firstMessage("Which?", { ...stats, large: true }, null, null)).toMatch(
    /… 1 more\.\n\nP is too large to be a string in cells: P\.length, P\[i\], P\.slice\(start, end\), P\.indexOf/,
  );
  const skipped = { ...NOTHING_SKIPPED, reasons: { "deleted since they were loaded": 2 } };
  expect(firstMessage("Which?", { ...stats, skipped }, null, null)).toMatch(
    / Of these, 2 are texts of files that are deleted by now: stats\(\)\.skipped names them\.$/,
  );
  const schema = { type: "integer" };
  expect(firstMessage("Which?", stats, schema, "P is a part.")).toMatch(
    /\n\nP is a part\.\n\nAnswer as JSON that fits: {"type":"integer"}$/,
  );
});

const ran = (more: object): ExecEnvelope =>
  Object({ success: true, stdout: "", stderr: "", result_json: null, warnings: [], ...more });

test.each<[object, string]>([
  [{}, "(no output: print something, or end with an expression)"],
  [{ stdout: "one\n", stderr: "odd\n", result_json: [1] }, "one\n[stderr]\nodd\n[result]\n[1]"],
  [
    {
      ...{ success: false, error_code: "js_error", error_message: "no" },
      ...{ traceback: "Error: no\n    at 1:1\n", suggestion: "Try." },
    },
    "[error js_error]\nError: no\n    at 1:1\nTry.",
  ],
])("of a cell %j the model sees %j", (envelope, observation) => {
  expect(observationOf(ran(envelope))).toBe(observation);
});

test("a long output is shown by its first 6,000 and its last 3,000 characters", () => {
  expect(observationOf(ran({ stdout: "x".repeat(10_000) }))).toBe("x".repeat(10_000));
  expect(observationOf(ran({ stdout: `${"a".repeat(9000)}${"z".repeat(2001)}` }))).toBe(
    `${"a".repeat(6000)}\n[… 2001 of 11001 characters are left out: print less, or slice …]\n${"a".repeat(999)}${"z".repeat(2001)}`,
  );
});

test("the footer tells turns and what is left, in dollars where they are limited", () => {
  const left = { remaining_sub_calls: 41, remaining_tokens: 380_112, remaining_time_ms: 5 };
  expect(footerOf(3, 20, left)).toBe("[turn 3 of 20 done; left: 41 sub-calls, 380112 tokens]");
  expect(footerOf(3, 20, { ...left, remaining_cost_usd: 0.5 })).toContain("380112 tokens, $0.50]");
});
