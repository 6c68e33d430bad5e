import { expect, test } from "vitest";
import { openTroubles } from "../../../src/runs/failures.ts";
import type { WorkProgress } from "../../../src/runs/index.ts";
import { checkModel } from "../../../src/runs/spec.ts";
import { runScene } from "../../support/jobs/run.ts";

const REFUSED = { status: 401, body: '{"error":{"message":"wrong key"}}' };
const TWO_CALLS = `const a = await llm_query("a" + job, { tools: ["read_file"] });
const b = await llm_query("b" + job, { tools: [] }); a + b`;

const pauses = (told: readonly WorkProgress[]) => told.flatMap((one) => (one.kind === "paused" ? [one.text] : []));

test("three equal failures in a row count, and an answer to a later call makes those before the jobs' own", () => {
  const troubles = openTroubles();
  const job = (n: number) => ({ run: "R", n });
  const isOwn = (n: number) => troubles.isOwn(job(n), "auth_failed");
  const before = troubles.mark();
  expect([0, 1].map((n) => troubles.wentBack(job(n), "auth_failed", "p/m"))).toEqual([false, false]);
  troubles.answered("R", "p/m", before);
  expect(isOwn(0)).toBe(false);
  troubles.answered("R", "p/m", troubles.mark());
  expect([isOwn(0), isOwn(2)]).toEqual([true, false]);
  expect(troubles.isOwn(job(0), "no_credit")).toBe(false);
  expect([2, 3, 4].map((n) => troubles.wentBack(job(n), "auth_failed", "p/m"))).toEqual([false, false, true]);
  expect([5, 6, 7].map((n) => troubles.wentBack(job(n), n === 6 ? "other" : "auth_failed", "p/m"))).not.toContain(true);
  expect(troubles.wentBack(job(8), "no_credit", "p/m")).toBe(true);
});

test("a key that stops working pauses the run, no job has failed, and resuming asks for no recorded answer again", async () => {
  let isWrong = true;
  const firsts = () => server.requests.filter(({ prompt }) => prompt.startsWith("a"));
  const { submit, works, jobs, results, server, runs, store } = await runScene(TWO_CALLS, {
    async script({ prompt }) {
      if (prompt.startsWith("a") || !isWrong) return { text: prompt };
      await expect.poll(() => firsts().every(({ ended }) => ended !== null) && firsts().length).toBe(6);
      return REFUSED;
    },
  });
  const { run } = await submit([0, 1, 2, 3, 4, 5]);
  const isPaused = async () => (await store.jobs.run(run.id))?.state;
  const told = await works({ run, concurrency: 6 });
  expect(await isPaused()).toBe("paused");
  expect((await store.jobs.run(run.id))?.held.sub_calls).toBe(0);
  expect(pauses(told)).toEqual([
    `run ${run.name} is paused: auth_failed: local/m: 401 wrong key. Check the provider's API key and what it may use.`,
  ]);
  const rows = await jobs(run);
  expect(rows.every(({ state, attempts }) => state === "waiting" && attempts === 0)).toBe(true);
  isWrong = false;
  await runs.change(run, { to: "resume" }, null);
  await works({ run });
  expect(await results(run)).toEqual([0, 1, 2, 3, 4, 5].map((n) => `a${n}b${n}`));
  expect(firsts()).toHaveLength(6);
  const nothing = { nanodollars: 0, tokens: 0, sub_calls: 0 };
  expect(await store.jobs.run(run.id)).toMatchObject({ held: nothing, doubtful: nothing, spent: { sub_calls: 12 } });
});

test("an account without credit pauses the run at its first refusal, whatever it answered before, and no job fails", async () => {
  const BROKE = { status: 402, body: '{"error":{"message":"Insufficient Balance"}}' };
  let paid = 2;
  const { submit, works, jobs, results, server, runs, store } = await runScene(
    'await llm_query("x" + job, { tools: [] })',
    { script: ({ prompt, index }) => (index < paid ? { text: prompt } : BROKE) },
  );
  const { run } = await submit([0, 1, 2, 3]);
  await works({ run, concurrency: 1 });
  expect(await store.jobs.run(run.id)).toMatchObject({
    state: "paused",
    why: "no_credit: local/m: 402 Insufficient Balance. Check the plan and the credit at the provider.",
  });
  expect((await jobs(run)).map(({ state }) => state).toSorted()).toEqual(["done", "done", "waiting", "waiting"]);
  expect(server.requests).toHaveLength(3);
  paid = 9;
  await runs.change(run, { to: "resume" }, null);
  await works({ run });
  expect(await results(run)).toEqual(["x0", "x1", "x2", "x3"]);
});

test("a server that is dead pauses a run of one job too", async () => {
  const { submit, works, jobs, store, server } = await runScene('await llm_query("x", { tools: [] })', {
    script: () => ({ status: 404, body: '{"error":{"message":"no model m"}}' }),
  });
  const { run } = await submit([1]);
  await works({ run });
  expect((await store.jobs.run(run.id))?.why).toMatch(
    /^provider_error: local\/m: 404 no model m\. The server was asked for m: check the model's name/,
  );
  expect(await jobs(run)).toMatchObject([{ state: "waiting", why: "provider_error" }]);
  expect(server.requests).toHaveLength(3);
});

test("a model that answers no job pauses the run also if another one answers in each of them", async () => {
  const script = `const a = await llm_query("a" + job, { tools: [] });
a + (await llm_query("b" + job, { model: "local/other", tools: [] }))`;
  const { submit, works, jobs, store } = await runScene(script, {
    script: ({ prompt }) => (prompt.startsWith("a") ? { text: prompt } : REFUSED),
  });
  const { run } = await submit(Array.from({ length: 20 }, (_, n) => n));
  await works({ run, concurrency: 2 });
  expect(await store.jobs.run(run.id)).toMatchObject({
    state: "paused",
    why: expect.stringContaining("local/other: 401"),
  });
  const failed = (await jobs(run)).filter(({ state }) => state === "failed");
  expect(failed.length).toBeLessThan(3);
});

test("a failure of one job alone fails this one, and the others are done", async () => {
  const { submit, works, jobs } = await runScene('await llm_query("x" + job, { tools: [] })', {
    script: ({ prompt }) => (prompt === "x0" ? REFUSED : { text: "yes" }),
  });
  const { run } = await submit([0, 1, 2, 3]);
  await works({ run, concurrency: 1 });
  expect((await jobs(run)).map(({ state }) => state)).toEqual(["failed", "done", "done", "done"]);
});

test("a worker without the key of a run pauses it, unless its script makes no calls", async () => {
  const own = { apiKeyEnv: "BELAY_TEST_NO_SUCH_KEY" };
  const asking = await runScene('await llm_query("x", { tools: [] })', { own });
  const { run } = await asking.submit([1, 2]);
  const told = await asking.works({ run });
  expect(pauses(told)[0]).toContain("no_model_configured: the environment variable BELAY_TEST_NO_SUCH_KEY is not set");
  expect((await asking.jobs(run)).map(({ state }) => state)).toEqual(["waiting", "waiting"]);
  const silent = await runScene('/* no llm_query */ "llm_query" + job', { own, spec: { model: null } });
  const other = await silent.submit([1]);
  await silent.works({ run: other.run });
  expect(await silent.results(other.run)).toEqual(["llm_query1"]);
});

test.each([
  ["await llm_query(P)", false],
  ["const ask = rlm_query; await ask(P)", false],
  ["// llm_query\nP.length", true],
  ["`llm_query`", true],
  ['await llm_query(P, { model: "p/m" })', true],
  ["'not closed + llm_query(P)", true],
])("a run without a model: %s", (source, isTaken) => {
  const check = () => checkModel({ script: { name: "s.js", source }, model: null }, null);
  if (isTaken) check();
  else expect(check).toThrow("s.js asks a model, and the run names none");
});
