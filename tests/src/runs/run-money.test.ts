import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { RlmError } from "../../../runtime/index.ts";
import { sleep } from "../../../src/platform/signals.ts";
import { openMoney, openRates } from "../../../src/runs/run-money.ts";
import { openSuspension, type SuspensionReason } from "../../../src/session/index.ts";
import type { Amount, Held, Rate } from "../../../src/store/index.ts";

type MoneyParts = Parameters<typeof openMoney>[0];

const USAGE = { input: 10, output: 5, cache_read: 0, cache_write: 0, cost_usd: 0.001 };
const ESTIMATE = { input_tokens: 10, max_tokens: 90, cost_usd: 0.01, model: "p/m" };

/** A run's rows that answer as they are told, and a job that notes what suspends it. */
function scene(more: Partial<MoneyParts> = {}) {
  const log: string[] = [];
  const answers: (Held | Error)[] = [];
  const waits: number[] = [];
  const slots: number[] = [];
  const suspended = new AbortController();
  const reasons: SuspensionReason[] = [];
  const ended = new AbortController();
  const amount = ({ nanodollars, tokens, sub_calls }: Amount) => `${nanodollars}/${tokens}/${sub_calls}`;
  const jobs = {
    async reserve(hold: { call: string; attempt: number; amount: Amount }) {
      log.push(`reserve ${hold.call} ${hold.attempt} ${amount(hold.amount)}`);
      const answer = answers.shift() ?? "held";
      if (answer instanceof Error) throw answer;
      return answer;
    },
    async give(hold: { call: string; attempt: number }, spent: Amount) {
      log.push(`give ${hold.call} ${hold.attempt} ${amount(spent)}`);
    },
    async slot(rate: Rate, cost: number) {
      log.push(`slot ${rate.key.replace(/ [0-9a-f]{8} /, " KEY ")} ${rate.perMinute} ${cost}`);
      return slots.shift() ?? 0;
    },
    async hush(rate: Rate, ms: number) {
      log.push(`hush ${rate.key.split(" ").at(-1)} ${ms}`);
    },
  };
  const suspension = openSuspension();
  suspension.begin((reason) => {
    reasons.push(reason);
    suspended.abort();
    ended.abort();
  });
  const account = { baseUrl: undefined, apiKeyEnv: "K", env: { K: "secret" } };
  const money = openMoney({
    jobs,
    key: { run: "R", n: 3 },
    fence: 1,
    onBudget: "park",
    limitsCost: false,
    rates: openRates({ jobs, rates: [{ provider: "p", perMinute: 60, of: "requests" }], account }),
    suspension,
    troubles: { answered: () => log.push("answered"), isOwn: () => false, mark: () => 1 },
    suspended: suspended.signal,
    random: () => 1,
    async sleep(ms, signal) {
      waits.push(ms);
      if (ms > 1e6) await sleep({ now: Date.now, monotonic: Date.now, after: () => () => {} }, ms, signal);
    },
    ...more,
  });
  const call = (id: string) => ({ id, counts: 1 as const, ended: ended.signal });
  const reserve = (id: string, signal = new AbortController().signal) => money.reserve(call(id), ESTIMATE, signal);
  return { money, log, answers, waits, slots, reasons, suspended, suspension, reserve, call };
}

async function held(promise: ReturnType<ReturnType<typeof scene>["reserve"]>) {
  const answer = await promise;
  if (!("settle" in answer)) throw new Error(`not held: ${answer.code}`);
  return answer;
}

const BUSY = { code: "rate_limited", message: "429", suggestion: "", retriable: true } as const;

test("a request holds its most in the run, then takes its place in the rate, and gives back what it did not take", async () => {
  const { log, reserve, money } = scene();
  (await held(reserve("c1"))).settle(USAGE);
  (await held(reserve("c1"))).settle(USAGE);
  expect(log).toEqual([
    "reserve c1 0 10000000/100/1",
    "slot p  KEY requests 60 1",
    "give c1 0 1000000/15/1",
    // The second request of a call is not another sub-call.
    "reserve c1 1 10000000/100/0",
    "slot p  KEY requests 60 1",
    "give c1 1 1000000/15/0",
  ]);
  expect(money.settles("c1", { nanodollars: 1, tokens: 2, sub_calls: 1 })).toEqual({
    ...{ run: "R", n: 3, call: "c1" },
    spent: { nanodollars: 1, tokens: 2, sub_calls: 1 },
  });
});

test("money that others hold is waited for, 250 ms first and up to 4 s", async () => {
  const { answers, waits, reserve } = scene();
  answers.push("wait", "wait", "wait", "wait", "wait", "wait");
  await held(reserve("c1"));
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 4000]);
});

test("a call that is cancelled while it waits for money holds nothing", async () => {
  const { answers, reserve, log } = scene({ sleep: async () => {} });
  answers.push("wait");
  expect(await reserve("c1", AbortSignal.abort())).toMatchObject({ code: "cancelled" });
  expect(log).toHaveLength(1);
});

test("a run without money suspends the job, and its calls have no answer", async () => {
  const { answers, reserve, reasons, log } = scene();
  answers.push("tokens");
  expect(await reserve("c1")).toMatchObject({ code: "cancelled" });
  expect(reasons).toEqual([{ why: "budget", limit: "tokens" }]);
  expect(await reserve("c2")).toMatchObject({ code: "cancelled" });
  expect(log).toHaveLength(1);
});

test("answers that are on their way are recorded before the job is suspended", async () => {
  const { answers, reserve, reasons, suspension } = scene();
  const first = await held(reserve("c1"));
  const second = await held(reserve("c2"));
  answers.push("tokens");
  const third = reserve("c3");
  await setImmediate();
  first.settle(USAGE);
  suspension.recorded("c1");
  expect(reasons).toEqual([]);
  second.settle(USAGE);
  expect(reasons).toEqual([]);
  suspension.recorded("c2");
  expect(reasons).toEqual([{ why: "budget", limit: "tokens" }]);
  expect(await third).toMatchObject({ code: "cancelled" });
});

test("a call whose next request has to wait too does not keep the job from being suspended", async () => {
  const { answers, reserve, reasons } = scene();
  (await held(reserve("c1"))).settle(USAGE);
  answers.push("tokens");
  const other = reserve("c2");
  await setImmediate();
  expect(reasons).toEqual([]);
  await Promise.all([other, reserve("c1")]);
  expect(reasons).toHaveLength(1);
});

test("a call that is made again after a wrong key or a dead server does not count as a sub-call before", async () => {
  const { money, call, reserve, log, reasons } = scene();
  const error = { code: "auth_failed", message: "wrong key", suggestion: "", retriable: false } as const;
  (await held(reserve("c1"))).settle(USAGE);
  await money.answered(call("c1"), error);
  expect(log.filter((line) => line.startsWith("give"))).toEqual(["give c1 0 1000000/15/1", "give c1 0 1000000/15/0"]);
  expect(reasons).toEqual([{ why: "trouble", error, model: "p/m" }]);
});

test("a job whose provider stays too busy waits for a minute, whether or not others were answered", async () => {
  const { money, call, reserve, reasons } = scene({ troubles: { answered() {}, isOwn: () => true, mark: () => 1 } });
  (await held(reserve("c1"))).settle({ ...USAGE, cost_usd: 0, input: 0, output: 0 });
  await money.answered(call("c1"), BUSY);
  expect(reasons).toEqual([{ why: "provider", afterMs: 60_000, error: BUSY }]);
});

test("with fail the cell gets the error, and the job goes on", async () => {
  const { answers, reserve, reasons } = scene({ onBudget: "fail" });
  answers.push("tokens");
  expect(await reserve("c1")).toMatchObject({ code: "budget_exceeded", message: expect.stringContaining("run") });
  await held(reserve("c1"));
  expect(reasons).toEqual([]);
});

test("a store that fails suspends the job for another try, and no request is sent", async () => {
  const { answers, reserve, reasons } = scene();
  answers.push(new Error("gone"));
  expect(await reserve("c1")).toMatchObject({ code: "cancelled" });
  expect(reasons).toEqual([{ why: "store_failed", afterMs: null }]);
});

test("a store that is damaged suspends the job, and says so", async () => {
  const { answers, reserve, reasons } = scene();
  const error = new RlmError("store_corrupt", "run R is damaged", { suggestion: "Look." });
  answers.push(error);
  expect(await reserve("c1")).toMatchObject({ code: "cancelled" });
  expect(reasons).toEqual([{ why: "damaged", error }]);
});

test("a place in the rate is waited for; a wait of more than two minutes is spent out of memory, and holds nothing", async () => {
  const { slots, waits, reserve, reasons, log } = scene();
  slots.push(1500, 120_001);
  await held(reserve("c1"));
  expect(waits).toEqual([1500]);
  const second = reserve("c2");
  await setImmediate();
  // The first call is out: its answer is kept before the job is suspended.
  expect(reasons).toEqual([]);
  expect(log.at(-1)).toMatch(/^slot/);
  void second;
});

test("a job with nothing on its way is suspended at once if the rate wants a long wait", async () => {
  const { slots, reserve, reasons, log } = scene();
  slots.push(600_000);
  expect(await reserve("c1")).toMatchObject({ code: "cancelled" });
  expect(reasons).toEqual([{ why: "provider", afterMs: 600_000 }]);
  expect(log.at(-1)).toBe("give c1 0 0/0/0");
});

test("a provider that says to wait makes all who share its rate wait; for more than two minutes the job is suspended", async () => {
  const { reserve, reasons, log } = scene();
  const short = await held(reserve("c1"));
  await short.limited?.(30_000, BUSY);
  short.settle({ ...USAGE, cost_usd: 0, input: 0, output: 0 });
  const other = scene();
  expect(log).toContain("hush requests 30000");
  expect(reasons).toEqual([]);
  const long = await held(other.reserve("c2"));
  await long.limited?.(3_600_000, BUSY);
  expect(other.reasons).toEqual([{ why: "provider", afterMs: 3_600_000, error: BUSY }]);
  long.settle(USAGE);
  expect(other.log.filter((line) => line.startsWith("give"))).toEqual(["give c2 0 0/0/0"]);
});

test("what was on its way when the job was suspended stays held: it may have been charged", async () => {
  const { reserve, suspended, log } = scene();
  const request = await held(reserve("c1"));
  suspended.abort();
  request.settle(USAGE);
  expect(log.filter((line) => line.startsWith("give"))).toEqual([]);
});

test("a call with a context of its own holds one sub-call, and does not keep the job from being suspended", async () => {
  const { money, call, answers, reserve, reasons, log } = scene();
  expect(await money.count(call("parent"), new AbortController().signal)).toBeNull();
  expect(log).toEqual(["reserve parent 0 0/0/1"]);
  answers.push("tokens");
  await reserve("child.1");
  expect(reasons).toHaveLength(1);
});

test("the key of a rate tells accounts apart, and no key can be read from it", async () => {
  const keys: string[] = [];
  const jobs = {
    slot: async ({ key }: Rate) => {
      keys.push(key);
      return 0;
    },
    hush: async () => {},
  };
  const rates = [
    { provider: "p", perMinute: 60, of: "requests" as const },
    { provider: "p", perMinute: 100_000, of: "tokens" as const },
    { provider: "q", perMinute: 1, of: "requests" as const },
  ];
  for (const [baseUrl, K] of [
    [undefined, "one"],
    [undefined, "two"],
    ["http://h/v1", "one"],
  ] as const) {
    await openRates({ jobs, rates, account: { baseUrl, apiKeyEnv: "K", env: { K } } }).turn("p/m", 500);
  }
  expect(new Set(keys).size).toBe(6);
  expect(keys.join()).not.toMatch(/one|two|q /);
  expect(
    await openRates({ jobs, rates, account: { baseUrl: undefined, apiKeyEnv: undefined, env: {} } }).turn("x/m", 1),
  ).toBe(0);
  expect(keys).toHaveLength(6);
});
