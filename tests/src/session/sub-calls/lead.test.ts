import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { SubCallRequest } from "../../../../builtins/index.ts";
import { LIMITS } from "../../../../runtime/index.ts";
import type { ModelRequest, Models } from "../../../../src/models/index.ts";
import { openLeads } from "../../../../src/session/sub-calls/concurrency.ts";
import { heldClock } from "../../../support/held-clock.ts";
import { openScripted, promptOf } from "../../../support/scripted-session.ts";

const BEGINNING = "The fox. ".repeat(1000);
const never = new AbortController().signal;

function open(caches = true) {
  const { clock, pass } = heldClock((ms) => ms === LIMITS.leadMs);
  const model = { id: "m/m", price: null, window: null, caches, complete: () => Promise.reject() };
  const models: Models = { fallback: "m/m", resolve: () => model, price: () => null };
  return { leadOf: openLeads(models, clock), pass };
}

/** The calls of a fan that were sent, by their numbers, as far as they can be by now. */
async function sentOf(leadOf: ReturnType<typeof open>["leadOf"], requests: readonly SubCallRequest[]) {
  const sent: number[] = [];
  const calls = requests.map((request) => leadOf(request));
  calls.map(async (call, at) => {
    await call?.turn(never);
    sent.push(at);
  });
  await setImmediate();
  return { sent, calls };
}

const alike = (...ends: readonly string[]) => ends.map((end) => ({ prompt: BEGINNING + end }));

test("of calls that begin alike one goes ahead, and the others when its answer begins", async () => {
  const { sent, calls } = await sentOf(open().leadOf, alike("1", "2", "3"));
  expect(sent).toEqual([0]);
  expect(calls.map((call) => call?.shared())).toEqual(Array(3).fill(BEGINNING.length));
  calls[0]?.begun();
  await setImmediate();
  expect(sent).toEqual([0, 1, 2]);
});

test("the others go if the first one has no answer, or none for 15 seconds", async () => {
  const failing = await sentOf(open().leadOf, alike("1", "2"));
  failing.calls[0]?.[Symbol.dispose]();
  await setImmediate();
  expect(failing.sent).toEqual([0, 1]);
  const { leadOf, pass } = open();
  const hung = await sentOf(leadOf, alike("1", "2"));
  expect(hung.sent).toEqual([0]);
  pass();
  await setImmediate();
  expect(hung.sent).toEqual([0, 1]);
});

test("a call that is cancelled waits no longer, and holds no other", async () => {
  const { leadOf } = open();
  const [, other] = (await sentOf(leadOf, alike("1", "2"))).calls;
  const stop = new AbortController();
  const turn = other?.turn(stop.signal);
  stop.abort();
  await turn;
});

test.each<[string, SubCallRequest[], boolean?]>([
  ["of which the second begins otherwise", [{ prompt: BEGINNING }, { prompt: `x${BEGINNING}` }]],
  ["of two models", [{ prompt: BEGINNING }, { prompt: BEGINNING, model: "m/n" }]],
  ["with other tools", [{ prompt: BEGINNING }, { prompt: BEGINNING, tools: [] }]],
  ["that are short", [{ prompt: "short" }, { prompt: "short" }]],
  ["of a model without a cache", alike("1", "2"), false],
])("calls %s go at once", async (_, requests, caches) => {
  const { sent, calls } = await sentOf(open(caches).leadOf, requests);
  expect(sent).toEqual([0, 1]);
  expect(calls.map((call) => call?.shared())).toEqual([undefined, undefined]);
});

test("the shared part ends before the first character that differs, and cuts none in two", () => {
  const shared = (one: SubCallRequest, other: SubCallRequest) => {
    const { leadOf } = open();
    const [first, second] = [leadOf(one), leadOf(other)];
    return [first?.shared(), second?.shared()];
  };
  expect(shared({ prompt: `${BEGINNING}😀` }, { prompt: `${BEGINNING}😁` })).toEqual([
    BEGINNING.length,
    BEGINNING.length,
  ]);
  expect(shared({ prompt: "a", system: BEGINNING }, { prompt: "b", system: BEGINNING })).toEqual([0, 0]);
  const systems = shared({ prompt: "a", system: `${BEGINNING}1` }, { prompt: "a", system: `${BEGINNING}2` });
  expect(systems).toEqual([undefined, undefined]);
});

test("a call that comes when one has gone ahead, and shares less with it, goes at once", async () => {
  const { leadOf } = open();
  const { calls } = await sentOf(leadOf, alike("ab", "ac"));
  expect(leadOf({ prompt: `${BEGINNING}b` })).toBeUndefined();
  expect(calls[0]?.shared()).toBe(BEGINNING.length + 1);
  expect(leadOf({ prompt: `${BEGINNING}ad` })?.shared()).toBe(BEGINNING.length + 1);
});

test("calls of a batch are sent when the answer of the first begins, and are told how much they share", async () => {
  const asked: ModelRequest[] = [];
  const begin = Promise.withResolvers<void>();
  const { session, seen } = await openScripted(
    async (request) => {
      asked.push(request);
      if (asked.length > 1) return "other";
      if (promptOf(request).endsWith("0")) await begin.promise;
      request.begun?.();
      return "first";
    },
    { concurrency: 3 },
  );
  const fan = `llm_query_batch([0, 1, 2].map((n) => ${JSON.stringify(BEGINNING)} + n), { tools: [], max_tokens: 100 })`;
  const answer = session.exec(`const { results } = await ${fan}; results`);
  while (asked.length === 0) await setImmediate();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(seen.prompts).toHaveLength(1);
  begin.resolve();
  expect((await answer).result_json).toEqual(["first", "other", "other"]);
  expect(asked.map(({ shared }) => shared)).toEqual(Array(3).fill(BEGINNING.length));
});
