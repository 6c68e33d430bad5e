import { expect, test } from "vitest";
import { type Model, type ModelAnswer, NO_USAGE, type RequestBudget } from "../../../../src/models/index.ts";
import { openRequests } from "../../../../src/models/sub-call/requests.ts";
import { openLimiter, openTreePlaces, withPlaces } from "../../../../src/session/sub-calls/concurrency.ts";

const live = new AbortController().signal;
const ESTIMATE = { input_tokens: 1, max_tokens: 1, cost_usd: 0 };
/** A budget that allows everything, or nothing. */
const budgetOf = (allows: boolean): RequestBudget => ({
  async reserve() {
    if (allows) return { settle() {} };
    return { code: "budget_exceeded", message: "no tokens are left", suggestion: "Finish.", retriable: false };
  },
});
const isFree = async (limiter: ReturnType<typeof openLimiter>) => {
  const abort = new AbortController();
  const taking = limiter.take(abort.signal);
  abort.abort();
  using place = await taking;
  return place !== undefined;
};

test("a request has its place until it is settled, the first one that which was taken before", async () => {
  const limiter = openLimiter(1);
  const budget = withPlaces(budgetOf(true), limiter, await limiter.take(live));
  for (const _ of [1, 2]) {
    const held = await budget.reserve(ESTIMATE, live);
    expect(await isFree(limiter)).toBe(false);
    if ("settle" in held) held.settle(NO_USAGE);
    expect(await isFree(limiter)).toBe(true);
  }
});

test("a request that the budget refuses, or that is aborted while it waits, holds no place", async () => {
  const limiter = openLimiter(1);
  expect(await withPlaces(budgetOf(false), limiter).reserve(ESTIMATE, live)).toMatchObject({ code: "budget_exceeded" });
  expect(await isFree(limiter)).toBe(true);
  using place = await limiter.take(live);
  expect(place).toBeDefined();
  const abort = new AbortController();
  const waiting = withPlaces(budgetOf(true), limiter).reserve(ESTIMATE, abort.signal);
  abort.abort();
  expect(await waiting).toMatchObject({ code: "cancelled" });
});

test("a call that waits to send a request again holds no place", async () => {
  const limiter = openLimiter(1);
  const failed: ModelAnswer = {
    ok: false,
    usage: NO_USAGE,
    charged: true,
    error: { code: "rate_limited", message: "later", suggestion: "Wait.", retriable: true },
  };
  const turn = { text: "yes", toolUses: [], stop: "end", raw: null } as const;
  const answers: ModelAnswer[] = [failed, { ok: true, usage: NO_USAGE, charged: true, turn }];
  const model: Model = { id: "a/b", price: null, window: null, complete: async () => answers.shift() ?? failed };
  const seen: boolean[] = [];
  const clock = { now: () => 0, monotonic: () => 0, after: () => () => {} };
  const parts = {
    budget: withPlaces(budgetOf(true), limiter),
    clock,
    random: () => 0.5,
    sleep: async () => void seen.push(await isFree(limiter)),
  };
  const requests = openRequests(model, { max_tokens: 10 }, parts, { deadline: 10_000, signal: live });
  expect(await requests.ask(null, [{ role: "user", text: "hi" }], [])).toMatchObject({ ok: true });
  expect(seen).toEqual([true]);
});

test("guests have places of their own at each depth", async () => {
  const places = openTreePlaces(1);
  for (let n = 0; n < 4; n++) expect(await places.guests(1).take(live)).toBeDefined();
  expect(await isFree(places.guests(1))).toBe(false);
  expect(await isFree(places.guests(2))).toBe(true);
  expect(await isFree(places.requests)).toBe(true);
});
