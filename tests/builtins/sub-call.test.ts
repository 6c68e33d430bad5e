import { expect, test } from "vitest";
import { factsOf } from "../../builtins/facts.ts";
import { llm_query_batch } from "../../builtins/llm_query_batch.ts";
import type { Services } from "../../builtins/services.ts";
import { callsOf, checkOf, readSubCall } from "../../builtins/sub-call.ts";
import { type CallScope, type Json, RlmError } from "../../runtime/index.ts";
import { scopeWith, servicesOver } from "../support/builtin-services.ts";

/** Pairs of a start and an end, as a cell writes them. */
const pairs = (text: string) => text.split(" ").map((pair) => pair.split("-").map(Number));
const contextOf = (context: Json) => readSubCall("llm_query", ["Which?", { context }]).context;

test.each<[string, Json, unknown]>([
  ["a text", "some lines", { text: "some lines" }],
  ["a pair", [3, 9], { ranges: [[3, 9]] }],
  ["a document", { id: "a.txt", start: 3, end: 9, size: 6 }, { ranges: [[3, 9]] }],
  ["a list with one pair", [[3, 9]], { ranges: [[3, 9]] }],
  ["hits and pairs", [{ text: "x", start: 20, end: 30 }, [3, 9]], { ranges: pairs("3-9 20-30") }],
  ["places that overlap, touch and hold one another", pairs("0-4 2-6 6-8 20-40 25-30"), { ranges: pairs("0-8 20-40") }],
  ["an empty document among others", [{ start: 5, end: 5 }, [7, 9]], { ranges: [[7, 9]] }],
  ["a match in the history", [3, 9, "history"], { ranges: [[3, 9]], of: "history" }],
  [
    "matches and documents of the history",
    [[3, 9, "history"], { id: "history/0001-user", start: 8, end: 12, of: "history" }],
    { ranges: [[3, 12]], of: "history" },
  ],
])("the context of a call can be %s", (_what, given, read) => {
  expect(contextOf(given)).toEqual(read);
});

test.each<[Json, string]>([
  ["  ", "TypeError: llm_query: context is empty"],
  ["x".repeat(2 ** 20 + 1), "RangeError: llm_query: context has 1.0 MB as a text (limit 1 MB)"],
  [[], "TypeError: llm_query: context names no text of P"],
  [[[4, 4]], "TypeError: llm_query: context names no text of P"],
  [null, "TypeError: llm_query: context must be [start, end], or have start and end"],
  [7, "TypeError: llm_query: context must be [start, end], or have start and end"],
  [{ matches: [] }, "TypeError: llm_query: context must be [start, end], or have start and end"],
  [[1, 2, 3], "TypeError: llm_query: context[0] must be [start, end], or have start and end"],
  [[...pairs("1-2"), [3, 4, "history"]], "TypeError: llm_query: context has places of P and of the history"],
  [{ start: 4, end: 4, of: "history" }, "TypeError: llm_query: context names no text of the history"],
  [[1, 2, "P"], "TypeError: llm_query: context[0] must be [start, end], or have start and end"],
  [[[1, 2], "a.txt"], "TypeError: llm_query: context[1] must be [start, end], or have start and end"],
  [[9, 3], "RangeError: llm_query: context is [9, 3]: start and end must be integers, from 0, start before end"],
  [
    [...pairs("0-1"), [-1, 3]],
    "RangeError: llm_query: context[1] is [-1, 3]: start and end must be integers, from 0, start before end",
  ],
  [
    { start: 0.5, end: 3 },
    "RangeError: llm_query: context is [0.5, 3]: start and end must be integers, from 0, start before end",
  ],
  [
    Array.from({ length: 10_001 }, (_, i) => [i, i + 1]),
    "RangeError: llm_query: context has 10001 places (limit 10,000)",
  ],
])("what does not name places of P is refused as a context (case %#)", (given, message) => {
  expect(failure(() => contextOf(given))).toBe(message);
});

test.each<[Json, string]>([
  [{ context: [0, 1], tools: [] }, "TypeError: llm_query: context and tools do not go together"],
  [{ context: [0, 1], system: "x" }, "TypeError: llm_query: context and system do not go together"],
  [{ context: [0, 1], max_tokens: 9 }, "TypeError: llm_query: context and max_tokens do not go together"],
  [{ max_turns: 5 }, "TypeError: llm_query: max_turns is for calls with context"],
  [{ max_sub_calls: 0 }, "TypeError: llm_query: max_sub_calls is for calls with context"],
  [{ context: [0, 1], schema: {}, or_text: true }, "TypeError: llm_query: context and or_text do not go together"],
  [{ or_text: true }, "TypeError: llm_query: or_text is for calls with schema"],
  [{ cites: true }, "TypeError: llm_query: cites is for calls with context"],
  [{ context: [0, 1], max_turns: 101 }, "TypeError: llm_query: max_turns must be a whole number from 1 to 100"],
  [
    { context: [0, 1], max_sub_calls: 1001 },
    "TypeError: llm_query: max_sub_calls must be a whole number from 0 to 1000",
  ],
  [{ context: [0, 1], cites: 1 }, "TypeError: llm_query: cites must be true or false"],
  [{ context: [0, 1], temperature: 0 }, "TypeError: llm_query: context and temperature do not go together"],
  [{ context: [0, 1], stop: "x" }, "TypeError: llm_query: context and stop do not go together"],
  [{ temperature: 9 }, "TypeError: llm_query: temperature must be a number from 0 to 2"],
  [{ temperature: "0" }, "TypeError: llm_query: temperature must be a number from 0 to 2"],
  // NaN and Infinity of a cell.
  [{ temperature: null }, "TypeError: llm_query: temperature must be a number from 0 to 2"],
  [{ top_p: 2 }, "TypeError: llm_query: top_p must be a number from 0 to 1"],
  ...[0.5, 2 ** 53, 1e300, "7"].map((seed): [Json, string] => [
    { seed },
    "TypeError: llm_query: seed must be a whole number from -(2^53 - 1) to 2^53 - 1",
  ]),
  ...["", [], [""], ["a", "b", "c", "d", "e"], ["a", 1], "x".repeat(1001), 7].map((stop): [Json, string] => [
    { stop },
    "TypeError: llm_query: stop must be a text, or a list of 1 to 4, each of 1 to 1000 characters",
  ]),
])("the options %j are refused", (options, message) => {
  expect(failure(() => readSubCall("llm_query", ["Which?", options]))).toBe(message);
});

test("rlm_query takes all of P unless it names a context", () => {
  expect(readSubCall("rlm_query", ["Which?"]).context).toEqual({ whole: true });
  const seen = readSubCall("rlm_query", ["Which?", { max_turns: 3 }]);
  expect(seen).toMatchObject({ max_turns: 3, context: { whole: true } });
  expect(readSubCall("rlm_query", ["Which?", { context: [1, 2] }]).context).toEqual({ ranges: [[1, 2]] });
  expect(failure(() => readSubCall("rlm_query", ["Which?", { tools: [] }]))).toContain("context and tools");
});

test("a call with context counts itself and the calls that it allots", () => {
  const asked = (options: Json) => callsOf(readSubCall("llm_query", ["Which?", options]), 50);
  expect([asked({}), asked({ context: "a b" }), asked({ context: "a b", max_sub_calls: 0 })]).toEqual([1, 11, 1]);
  expect(check({ context: "a b", max_sub_calls: 3 }, { remaining_sub_calls: 4 })).toBe(4);
  expect(failure(() => check({ context: "a b", max_sub_calls: 10 }, { remaining_sub_calls: 10 }))).toBe(
    "BudgetExceededError: the budget does not allow this: the call and those that its model may make are 11 sub-calls, 10 are left",
  );
});

test("a call that does not say how many calls its model may make is allotted what is left", () => {
  expect(check({ context: "a b" }, { remaining_sub_calls: 10 })).toBe(10);
  expect(check({ context: "a b" }, { remaining_sub_calls: 1 })).toBe(1);
  expect(failure(() => check({ context: "a b" }, { remaining_sub_calls: 0 }))).toContain("no sub-calls are left");
});

test("a call with context is refused where no level is left, also by a host that tells none", () => {
  const message = "SubAgentError: llm_query: a call with context would go deeper than the session allows";
  expect(failure(() => check({ context: "a b" }, { depth_left: 0 }))).toBe(message);
  expect(failure(() => check({ context: "a b" }, { depth_left: null }))).toBe(message);
  expect(check({}, { depth_left: 0 })).toBe(1);
});

test("the places of a call must lie in P and hold text of a document", () => {
  expect(check({ context: [0, 20], max_sub_calls: 0 })).toBe(1);
  expect(failure(() => check({ context: pairs("0-3 15-21") }))).toBe(
    "RangeError: llm_query: context has the place [15, 21], but P has 20 characters",
  );
  expect(failure(() => check({ context: [[8, 10]] }))).toBe(
    "RangeError: llm_query: context lies between the documents of P, where there is no text",
  );
});

test("places of the history must lie in it, and there must be one", () => {
  const given = { context: [0, 6, "history"], max_sub_calls: 0 };
  const inPi = { ...services, history: () => ({ ...servicesOver([document(0, 5)]).context(), ...NO_OBJECTS }) };
  expect(check({ ...given, context: [0, 5, "history"] }, {}, 0, inPi)).toBe(1);
  expect(failure(() => check(given, {}, 0, inPi))).toBe(
    "RangeError: llm_query: context has the place [0, 6], but the history has 5 characters",
  );
  expect(failure(() => check(given))).toContain("there is no conversation here");
});

const NO_OBJECTS = { objectOf: () => "", documentOf: () => undefined };

test("a batch counts what its prompts allot, and sends as many as fit", () => {
  const prompts = ["plain", { prompt: "deep", context: [0, 4], max_sub_calls: 3 }, "plain"];
  expect(plan([prompts], { remaining_sub_calls: 6 })).toBe(3);
  expect(plan([prompts, { partial: true }], { remaining_sub_calls: 4 })).toBe(1);
  expect(failure(() => plan([prompts], { remaining_sub_calls: 5 }))).toContain(
    "3 prompts take at least 6 sub-calls, 5 are left",
  );
  expect(failure(() => plan([prompts], { depth_left: 0 }))).toBe(
    "SubAgentError: llm_query_batch: prompts[1]: a call with context would go deeper than the session allows",
  );
});

test("calls of the same slice count before they are sent", () => {
  expect(failure(() => check({}, { remaining_sub_calls: 5 }, 5))).toContain("no sub-calls are left");
});

const FACTS = { remaining_tokens: 9000, remaining_sub_calls: 50, remaining_time_ms: 9000, depth_left: 2 };

function check(options: Json, facts: { [name: string]: Json } = {}, newCalls = 0, given: Services = services): number {
  return checkOf("llm_query")(given, ["Which?", options], scopeOf(facts, newCalls), "llm_query");
}

function plan(args: readonly Json[], facts: { [name: string]: Json }): Json | undefined {
  return llm_query_batch.host?.["llm_query_batch.plan"]?.(services, args, scopeOf(facts, 0));
}

/** P has two documents, 0..8 and 12..20. */
const services = servicesOver([document(0, 8), document(12, 20)]);

function document(start: number, end: number) {
  return { id: `${start}`, path: "-", size: end - start, start, end };
}

function scopeOf(facts: { [name: string]: Json }, newCalls: number): CallScope {
  const scope = scopeWith({ facts: { ...FACTS, ...facts }, newCalls: () => newCalls });
  expect(factsOf(scope).remaining_tokens).toBe(FACTS.remaining_tokens);
  return scope;
}

function failure(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof RlmError) return `${error.guestName}: ${error.message}`;
    throw error;
  }
  return "no failure";
}
