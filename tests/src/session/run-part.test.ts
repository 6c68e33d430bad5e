import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { RlmError } from "../../../runtime/index.ts";
import { failure } from "../../../src/models/index.ts";
import type { RunPart } from "../../../src/session/sub-calls/run-part.ts";
import { nanodollars, spentOn } from "../../../src/session/sub-calls/run-part.ts";
import { openSuspension, type Suspension } from "../../../src/session/suspension.ts";
import type { Settled, Step, Store } from "../../../src/store/index.ts";
import { shareStore } from "../../../src/store/index.ts";
import { resultOf } from "../../support/journals.ts";
import { openScripted, USAGE } from "../../support/scripted-session.ts";

/** A run that notes what it is asked, and a store that notes what is settled. */
async function scene(refuse: (call: string) => boolean = () => false) {
  const log: string[] = [];
  const settled: Settled[] = [];
  const kept = await shareStore(null);
  const limits = { nanodollars: null, tokens: null, sub_calls: null };
  const id = `run ${++runs}`;
  await kept.jobs.open({ id, name: id, queue: "default", share: 1, spec: null, hash: "", limits });
  await kept.jobs.add(id, [{ id: "job", session: `${id} job`, input: "null", context: null }]);
  const store: Store = {
    ...kept,
    async commit(session, step) {
      const more = await kept.commit(session, step);
      settled.push(...(step.settle ?? []));
      return more;
    },
  };
  const tail = (id: string) => id.slice(id.lastIndexOf(".") + 1);
  const run: RunPart = {
    limitsCost: false,
    async reserve({ id, counts }, { model, max_tokens }) {
      log.push(`reserve ${tail(id)} ${model} ${max_tokens} counts ${counts}`);
      if (refuse(tail(id))) return failure("budget_exceeded", "the run's money is spent");
      return {
        settle: ({ cost_usd }) => log.push(`give ${tail(id)} ${cost_usd}`),
        limited: async (ms) => {
          log.push(`limited ${tail(id)} ${ms}`);
        },
      };
    },
    async count({ id }) {
      log.push(`count ${tail(id)}`);
      return null;
    },
    settles: (call, spent) => ({ run: id, n: 0, call, spent }),
    answered: async () => {},
  };
  const suspension: Suspension = { ...openSuspension(), recorded: (call) => log.push(`recorded ${tail(call)}`) };
  return { lent: { run, store, suspension }, store, log, settled };
}

let runs = 0;

const sum = (all: readonly Settled[]) =>
  all.reduce(
    (total, { spent }) => ({
      nanodollars: total.nanodollars + spent.nanodollars,
      tokens: total.tokens + spent.tokens,
      sub_calls: total.sub_calls + spent.sub_calls,
    }),
    { nanodollars: 0, tokens: 0, sub_calls: 0 },
  );

const MODEL = { model: "test/scripted" };

test("a request is held in the run, and its record settles it in the same commit", async () => {
  const { lent, log, settled } = await scene();
  const { session } = await openScripted(() => "yes", MODEL, undefined, lent);
  await session.exec('await llm_query("a", { tools: [], max_tokens: 7 })');
  expect(log).toEqual(["reserve 1 test/scripted 7 counts 1", "give 1 0.001", "recorded 1"]);
  expect(settled.map(({ spent }) => spent)).toEqual([{ nanodollars: 1_000_000, tokens: 15, sub_calls: 1 }]);
});

test("the run is not asked for what the session refuses, and a refusal of the run leaves the session's budget whole", async () => {
  const { lent, log } = await scene((call) => call === "1");
  const options = { ...MODEL, budget: { max_tokens: 1000 } };
  const { session, seen } = await openScripted(() => "yes", options, undefined, lent);
  const cell = (tokens: number) => `
    let name = null;
    try { await llm_query("a", { tools: [], max_tokens: ${tokens} }) } catch (error) { name = error.name }
    [name, budget().tokens]`;
  expect(await session.exec(cell(5000))).toMatchObject({ result_json: ["BudgetExceededError", 1000] });
  expect(log).toEqual(["recorded 1"]);
  expect(await session.exec(cell(10))).toMatchObject({ result_json: ["BudgetExceededError", 1000] });
  expect(seen.prompts).toEqual([]);
});

test("a call with a context of its own is one sub-call, and what its child takes is settled by the child", async () => {
  const { lent, log, settled } = await scene();
  const reply = '```js\nconst said = await llm_query("b", { tools: [] });\nanswer(said)\n```';
  const script = ({ messages }: { messages: readonly unknown[] }, ..._: unknown[]) =>
    JSON.stringify(messages).includes('"b"') && messages.length === 1 ? "yes" : reply;
  const { session, store: held } = await openScripted(script, MODEL, undefined, lent);
  await session.load({ text: "some text", name: "t" });
  expect(await session.exec('await rlm_query("What?", { context: P })')).toMatchObject({ success: true });
  expect(log[0]).toBe("count 1");
  expect(log).toContain("reserve 1 test/scripted 4096 counts 1");
  const row = await held.find(session.id);
  const { tokens, sub_calls } = { tokens: 0, sub_calls: 0, ...Object(row?.facts) };
  expect(sum(settled)).toEqual({ nanodollars: 2_000_000, tokens, sub_calls });
  expect([tokens, sub_calls]).toEqual([30, 2]);
});

test("a provider's refusal because of its rate reaches the run before the request is given back", async () => {
  const { lent, log } = await scene();
  const error = { code: "rate_limited", message: "slow", suggestion: "", retriable: false } as const;
  const usage = { ...USAGE, cost_usd: 0 };
  const script = () => ({ ok: false as const, usage, charged: true, error, retryAfterMs: 9 });
  const { session } = await openScripted(script, MODEL, undefined, lent);
  await session.exec('await llm_query("a", { tools: [] })');
  expect(log.slice(1)).toEqual(["limited 1 9", "give 1 0", "recorded 1"]);
});

test("an exec of a job whose commit fails is not over, and goes on later", async () => {
  const { lent, store } = await scene();
  let fails = true;
  const isResult = ({ records }: Step) => records?.some(({ record }) => record === "rlm_tool_result");
  const failing: Store = {
    ...store,
    async commit(session, step) {
      if (fails && isResult(step))
        throw new RlmError("store_failed", "the disk is full", { suggestion: "Free space." });
      return store.commit(session, step);
    },
  };
  const { session, seen } = await openScripted(() => "yes", MODEL, undefined, { ...lent, store: failing });
  const first = await session.exec('await llm_query("a", { tools: [] })');
  expect(first).toMatchObject({ success: false, error_code: "store_failed", resumable: true });
  fails = false;
  expect(await session.resume()).toMatchObject({ how: "finished", envelope: { result_json: "yes" } });
  expect(seen.prompts).toEqual(["a", "a"]);
});

test("a session that runs the cell anew gets the answers of the one before, each call its own", async () => {
  const store = await shareStore(null);
  const parts = { store, answersOf: { run: "run", n: 7 } };
  let asked = 0;
  const script = () => `answer ${++asked}`;
  const cell = 'const same = () => llm_query("a", { tools: [] }); [await same(), await same(), await same()]';
  const { session: first } = await openScripted(script, MODEL, undefined, parts);
  const answers = (await first.exec(cell)).result_json;
  expect(answers).toEqual(["answer 1", "answer 2", "answer 3"]);
  const { session: second } = await openScripted(script, MODEL, undefined, parts);
  const { result_json } = await second.exec(`${cell}.concat(await same())`);
  expect(result_json).toEqual(["answer 1", "answer 2", "answer 3", "answer 4"]);
  expect(await second.exec("budget().sub_calls")).toMatchObject({ result_json: 49 });
  const { session: other } = await openScripted(script, MODEL, undefined, { store, answersOf: { run: "run", n: 8 } });
  expect((await other.exec('await llm_query("a", { tools: [] })')).result_json).toBe("answer 5");
});

test("dollars are counted in integers, and a sum that is a little too large is not rounded up", () => {
  expect(nanodollars(0.1 + 0.2)).toBe(300_000_000);
  expect(nanodollars(0.0000000001)).toBe(1);
  expect(nanodollars(0)).toBe(0);
});

test("a call's own time stands still while it waits for its run", async () => {
  const { lent } = await scene();
  const slow: RunPart = {
    ...lent.run,
    async reserve(...asked) {
      await setTimeout(300);
      return lent.run.reserve(...asked);
    },
  };
  const { session } = await openScripted(() => "yes", MODEL, undefined, { ...lent, run: slow });
  const cell = 'await llm_query("a", { tools: [], timeout_ms: 200 })';
  expect(await session.exec(cell)).toMatchObject({ success: true, result_json: "yes" });
});

test("a session whose lease the caller has is not given back by it", async () => {
  const store = await shareStore(null);
  const given: string[] = [];
  const watched: Store = {
    ...store,
    release: async (id) => {
      given.push(id);
      await store.release(id);
    },
  };
  const leased = await store.create({ id: "01JOB", name: null, origin: "library", settings: null, at: 0 });
  const { session } = await openScripted(() => "", {}, undefined, { store: watched, leased });
  expect(session.id).toBe("01JOB");
  await session.close();
  expect(given).toEqual([]);
  await store.release("01JOB");
});

test("a record with a child counts as one sub-call", () => {
  const child = { session: "s", sub_calls: 4, turns: 2, depth_reached: 1 };
  const record = { ...resultOf("e", "e.1"), usage: USAGE };
  expect(spentOn({ ...record, child })).toEqual({ nanodollars: 0, tokens: 0, sub_calls: 1 });
  expect(spentOn({ ...record, cached: true }).sub_calls).toBe(0);
  expect(spentOn({ ...record, name: "root" })).toEqual({ nanodollars: 1_000_000, tokens: 15, sub_calls: 0 });
});
