import { expect, test } from "vitest";
import type { ModelMessage } from "../../../src/models/port.ts";
import { believed, costOf, estimateRequest, estimateTokens, NO_USAGE, ratesFor } from "../../../src/models/usage.ts";

const EMPTY = { system: null, messages: [], tools: [], maxTokens: 1000 };

test("a token for every four characters, rounded up, and four for each message", () => {
  expect(estimateTokens(0)).toBe(0);
  expect(estimateTokens(1)).toBe(1);
  expect(estimateTokens(8)).toBe(2);
  const messages: ModelMessage[] = [{ role: "user", text: "x".repeat(41) }];
  expect(estimateRequest({ ...EMPTY, messages }, null).input_tokens).toBe(11 + 4);
  expect(estimateRequest({ ...EMPTY, system: "y".repeat(40), messages }, null).input_tokens).toBe(21 + 8);
});

test("tools, earlier answers and tool results count with what is sent of them", () => {
  const use = { id: "call_1", name: "read", arguments: { path: "a.txt" } };
  const messages: ModelMessage[] = [
    { role: "assistant", answer: { text: "z".repeat(10), toolUses: [use], stop: "tools", raw: null } },
    { role: "tool", use, text: "r".repeat(20), isError: false },
  ];
  const tools = [{ name: "read", description: "reads", parameters: { type: "object" } }];
  const chars = 10 + "read".length + '{"path":"a.txt"}'.length + 20 + JSON.stringify(tools[0]).length;
  expect(estimateRequest({ ...EMPTY, messages, tools }, null).input_tokens).toBe(Math.ceil(chars / 4) + 8);
});

test("the cost is that of the input and of all output that may come", () => {
  const price = { input: 3, output: 15 };
  const messages: ModelMessage[] = [{ role: "user", text: "x".repeat(3984) }];
  const estimate = estimateRequest({ ...EMPTY, messages }, price);
  expect(estimate).toEqual({ input_tokens: 1000, max_tokens: 1000, cost_usd: 0.018 });
  expect(estimateRequest({ ...EMPTY, messages }, null).cost_usd).toBe(0);
  expect(costOf(price, 1e6, 1e6)).toBe(18);
});

test("a request reserves the dearest rates that its prompt may reach, since text may have twice the estimated tokens", () => {
  const tiers = [
    { above: 200_000, input: 4, output: 18 },
    { above: 1_000_000, input: 8, output: 12 },
  ];
  const price = { input: 2, output: 12, tiers };
  expect(ratesFor(price, 100_000)).toEqual({ input: 2, output: 12 });
  expect(ratesFor(price, 100_001)).toEqual({ input: 4, output: 18 });
  expect(ratesFor(price, 900_000)).toEqual({ input: 8, output: 18 });
  expect(costOf(price, 150_000, 1000)).toBeCloseTo((150_000 * 4 + 1000 * 18) / 1e6);
});

test("a usage that no request can have taken is not believed", () => {
  for (const input of [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e18]) {
    expect(believed({ ...NO_USAGE, input })).toBeNull();
  }
  expect(believed({ ...NO_USAGE, cost_usd: 1e300 })).toBeNull();
  expect(believed({ ...NO_USAGE, input: 10.5, output: 3 })).toEqual({ ...NO_USAGE, input: 11, output: 3 });
});
