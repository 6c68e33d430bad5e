import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import type { Json } from "../../../runtime/index.ts";
import type { ToolResult } from "../../../src/session/index.ts";
import { readRecord } from "../../../src/session/index.ts";
import type { RunRow, Store } from "../../../src/store/index.ts";
import { type BatchServerOptions, startBatchServer } from "../../support/batch-server/index.ts";
import { withVariables } from "../../support/delivery.ts";
import { type Life, type RunSceneOptions, runScene } from "../../support/jobs/run.ts";
import { folderWith } from "../../support/tree.ts";

const ASK = 'await llm_query("p" + job, { tools: [], max_tokens: 1000 })';
const NOTHING = { nanodollars: 0, tokens: 0, sub_calls: 0 };
const inputs = (count: number): Json[] => Array.from({ length: count }, (_, n) => n);
const upper = ({ prompt }: { readonly prompt: string }) => ({ text: prompt.toUpperCase() });
const gate = () => Promise.withResolvers<void>();

/** A run whose calls go by batches. */
async function scene(source: string, options: BatchServerOptions = {}, more: RunSceneOptions = {}) {
  withVariables();
  const folder = folderWith();
  const batches = await startBatchServer({ answer: upper, ...options });
  const server = { baseUrl: batches.baseUrl("openai-completions"), apiKeyEnv: "OPENAI_API_KEY", price: "1/1" };
  const { works, ...run } = await runScene(source, {
    own: server,
    folder,
    ...more,
    spec: { delivery: "batch", ...more.spec },
  });
  const states = async (of: RunRow) => (await run.jobs(of)).map(({ state, why }) => (why ? `${state} ${why}` : state));
  return {
    ...{ ...run, batches, states, folder },
    works: (life: Life) => works({ collects: true, own: server, ...life }),
    /** The money of a run, and what the journals of its jobs say. */
    money: async (of: RunRow) => {
      const { spent, held, doubtful } = (await run.store.jobs.run(of.id)) ?? of;
      return { spent, held, doubtful, journals: await spentIn(run.store, await run.jobs(of)) };
    },
  };
}

async function spentIn(store: Store, jobs: readonly { readonly session: string }[]) {
  const journals = await Promise.all(jobs.map(({ session }) => store.journal(session)));
  const results = journals
    .flat()
    .map(({ record }) => readRecord(record))
    .filter((record): record is ToolResult => record.record === "rlm_tool_result");
  const sum = (of: (result: ToolResult) => number) => results.reduce((total, result) => total + of(result), 0);
  return {
    nanodollars: Math.round(sum(({ usage }) => usage.cost_usd) * 1e9),
    tokens: sum(({ usage }) => usage.input + usage.output),
    sub_calls: results.length,
  };
}

/** Changes the rows of a store by hand. */
function edit(folder: string, statements: string): void {
  using database = new DatabaseSync(join(folder, "belay.db"));
  database.exec(statements);
}

/** The worker is stopped once this holds. */
const stopWhen =
  (holds: () => unknown): NonNullable<Life["on"]> =>
  (progress, stop) => {
    if (progress.kind === "left") void vi.waitFor(holds).then(stop, () => {});
  };

test("a row that is refused for its rate each time fails its job", async () => {
  const { submit, works, states, batches } = await scene(ASK, { answer: () => ({ status: 429 }) });
  const { run } = await submit(inputs(1));
  await works({ run });
  expect(await states(run)).toEqual(["failed"]);
  expect(batches.batches).toHaveLength(3);
});

test("jobs are parked until their answers are there, and each is woken once", async () => {
  const answers = gate();
  const { submit, works, states, results, batches, money } = await scene(ASK, {
    fate: () => ({ wait: answers.promise }),
  });
  const { run } = await submit(inputs(5));
  const begun: number[] = [];
  const working = works({
    ...{ run, concurrency: 2 },
    on: (told) => void (told.kind === "begun" && begun.push(told.key.n)),
  });
  await vi.waitFor(() => expect(batches.batches).toHaveLength(1));
  expect(await states(run)).toEqual(Array.from({ length: 5 }, () => "parked delivery"));
  // What is out is held, also while nobody tries its job.
  expect(await money(run)).toMatchObject({ spent: NOTHING, held: { sub_calls: 5 }, doubtful: NOTHING });
  answers.resolve();
  await working;
  expect(await results(run)).toEqual(["P0", "P1", "P2", "P3", "P4"]);
  expect(begun.toSorted()).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
  const { spent, held, doubtful, journals } = await money(run);
  expect([spent, held, doubtful]).toEqual([journals, NOTHING, NOTHING]);
});

test("a limit that is enough for 2 of 5 ships 2, and the others at once when money is free", async () => {
  const { submit, works, states, batches, money } = await scene(ASK, {}, { limits: { tokens: 2200 } });
  const { run } = await submit(inputs(5));
  await works({ run });
  const shipped = batches.batches.map(({ rows }) => rows.length);
  expect(shipped[0]).toBe(2);
  // One answer alone may free money for one job: how many go later at once is a matter of time.
  expect(Math.max(...shipped)).toBe(2);
  expect(shipped.reduce((sum, rows) => sum + rows, 0)).toBe(5);
  expect(await states(run)).toEqual(Array.from({ length: 5 }, () => "done"));
  const { spent, held, doubtful, journals } = await money(run);
  expect([spent, held, doubtful]).toEqual([journals, NOTHING, NOTHING]);
});

test("a job that waits for held money goes on as soon as that is free, also if the jobs were offered meanwhile", async () => {
  const answers = gate();
  const fate = () => ({ wait: answers.promise });
  const { runs, submit, works, states } = await scene(ASK, { fate }, { limits: { tokens: 2200 } });
  const { run } = await submit(inputs(3));
  await works({
    run,
    on(told, _stop, dispatcher) {
      if (told.kind === "left" && told.why === "held") void runs.offer(run, dispatcher).then(answers.resolve);
    },
  });
  expect(await states(run)).toEqual(["done", "done", "done"]);
});

test("a run whose limit is spent while jobs wait for held money pauses at once", async () => {
  const usage = { prompt: 500, completion: 500 };
  const { submit, works, states, store } = await scene(
    ASK,
    { answer: ({ prompt }) => ({ text: prompt, usage }) },
    { limits: { tokens: 2200 } },
  );
  const { run } = await submit(inputs(3));
  await works({ run });
  expect(await store.jobs.run(run.id)).toMatchObject({ state: "paused", why: "budget: tokens" });
  expect((await states(run)).toSorted()).toEqual(["done", "done", "parked budget"]);
});

test("a job says once that its own calls wait for tokens that others of it hold", async () => {
  const three = "(await llm_query_batch(['a', 'b', 'c'], { tools: [], max_tokens: 1000 })).results";
  const { submit, works, results } = await scene(three, {}, { spec: { budget: { max_tokens: 2200 } } });
  const { run } = await submit(inputs(1));
  const said: string[] = [];
  await works({ run, on: (told) => void (told.kind === "said" && said.push(told.text)) });
  expect(await results(run)).toEqual([["A", "B", "C"]]);
  const cure = "raise `budget.max_tokens: 3050`";
  expect(said.map((text) => text.replace(/^job \S+: /, ""))).toEqual([
    `1 call waits for tokens held by 2 others: ${cure}`,
  ]);
});

test("a worker that is stopped leaves its jobs parked, and a later one goes on: nothing is doubtful", async () => {
  const two = 'const a = await llm_query("a" + job, { tools: [] }); await llm_query("b" + a, { tools: [] })';
  const answers = gate();
  const { submit, works, states, results, batches, money } = await scene(two, {
    fate: ({ index }) => (index === 1 ? { wait: answers.promise } : {}),
  });
  const { run } = await submit(inputs(3));
  await works({ run, on: stopWhen(() => expect(batches.batches).toHaveLength(2)) });
  expect(await states(run)).toEqual(Array.from({ length: 3 }, () => "parked delivery"));
  answers.resolve();
  await works({ run });
  expect(await results(run)).toEqual(["BA0", "BA1", "BA2"]);
  expect([...batches.paid().values()]).toEqual(Array.from({ length: 6 }, () => 1));
  const { spent, held, doubtful, journals } = await money(run);
  expect([spent, held, doubtful]).toEqual([journals, NOTHING, NOTHING]);
});

test("cancelled jobs give their requests up, the others get their answers, and a retry asks again", async () => {
  const answers = gate();
  const { submit, works, states, batches, money, store } = await scene(ASK, {
    fate: () => ({ wait: answers.promise }),
  });
  const { run } = await submit(inputs(3));
  const working = works({ run });
  await vi.waitFor(() => expect(batches.batches).toHaveLength(1));
  await store.jobs.change(run.id, { to: "cancel", ids: ["job-0"] });
  // Nobody is told any more what the request took.
  const givenUp = { held: { sub_calls: 2 }, doubtful: { sub_calls: 1 } };
  await vi.waitFor(async () => expect(await money(run)).toMatchObject(givenUp));
  answers.resolve();
  await working;
  expect(await states(run)).toEqual(["cancelled", "done", "done"]);
  expect(batches.steps.filter(({ kind }) => kind === "cancel")).toEqual([]);
  await store.jobs.change(run.id, { to: "retry", ids: null, states: ["cancelled"], fresh: false });
  await works({ run });
  expect(await states(run)).toEqual(["done", "done", "done"]);
  expect([...batches.paid()].toSorted()).toEqual([
    ["p0", 2],
    ["p1", 1],
    ["p2", 1],
  ]);
});

test("a batch that nobody waits for any more is cancelled at its provider", async () => {
  const { submit, works, states, batches, store } = await scene(ASK, { fate: () => ({ wait: 60_000 }) });
  const { run } = await submit(inputs(2));
  await works({ run, on: stopWhen(() => expect(batches.batches).toHaveLength(1)) });
  await expect(store.jobs.remove(run.id)).rejects.toMatchObject({
    code: "session_busy",
    message: expect.stringContaining("batch_0"),
  });
  await store.jobs.change(run.id, { to: "cancel", ids: null });
  expect(await states(run)).toEqual(["cancelled", "cancelled"]);
  const { run: other } = await submit(inputs(3));
  await works({ run: other, on: stopWhen(() => expect(batches.steps.at(-1)?.kind).toBe("look")) });
  expect(batches.steps.filter(({ kind }) => kind === "cancel")).toHaveLength(1);
});

test.each([
  [401, "auth_failed"],
  [402, "no_credit"],
])("a batch refused with %i pauses the run by %s, nothing is lost, and it goes on", async (status, code) => {
  let isWrong = true;
  const fault = () => (isWrong ? { status } : undefined);
  const { submit, works, results, batches, store } = await scene(ASK, { fault });
  const { run } = await submit(inputs(2));
  const told = await works({ run, on: (progress, stop) => progress.kind === "paused" && stop() });
  const words = `POST /v1/files failed \\(${status}\\): scripted ${status}\\. Check `;
  const why = expect.stringMatching(new RegExp(`^${code}: batches of .*: ${words}`));
  expect(told).toContainEqual({ kind: "paused", text: why });
  expect(await store.jobs.run(run.id)).toMatchObject({ state: "paused", why });
  isWrong = false;
  await store.jobs.change(run.id, { to: "resume" });
  // The account is asked again a minute later, which is shorter in tests.
  await works({ run });
  expect(await results(run)).toEqual(["P0", "P1"]);
  expect(batches.batches).toHaveLength(1);
});

test("a batch whose row is damaged is named, and does not end the work on what is sent at once", async () => {
  const { submit, works, batches, folder } = await scene(ASK, { fate: () => ({ wait: 60_000 }) });
  const { run } = await submit(inputs(1));
  await works({ run, on: stopWhen(() => expect(batches.batches).toHaveLength(1)) });
  edit(folder, "UPDATE provider_batches SET batch = 'another'");
  const live = await scene(ASK, {}, { folder, spec: { delivery: "now" } });
  const { run: other } = await live.submit(inputs(2));
  const told = await live.works({ run: other });
  expect(await live.results(other)).toEqual(["P0", "P1"]);
  const text = expect.stringMatching(/^store_corrupt: the row of batch \w+ is damaged\. .*doctor/);
  expect(told.filter(({ kind }) => kind === "said")).toEqual([{ kind: "said", text }]);
});

test("a request that was changed by hand is not sent: the run is paused, and says which", async () => {
  const { submit, works, states, batches, folder, store } = await scene(ASK);
  const { run } = await submit(inputs(2));
  edit(folder, "CREATE TRIGGER swap AFTER INSERT ON batch_requests BEGIN UPDATE batch_requests SET body = '{}'; END");
  const stopped = works({
    run,
    on(progress, stop) {
      if (progress.kind === "paused") stop();
    },
  });
  const why = expect.stringMatching(/^store_corrupt: request 0 of call \S+ of session \S+ is damaged\. .*doctor/);
  expect(await stopped).toContainEqual({ kind: "paused", text: why });
  expect(await store.jobs.run(run.id)).toMatchObject({ state: "paused", why });
  expect(await states(run)).toEqual(["parked delivery", "parked delivery"]);
  expect(batches.steps).toEqual([]);
});

test("an answer that was changed by hand fails its own job, and is not asked for again", async () => {
  const answers = gate();
  const { submit, works, states, batches, folder } = await scene(ASK, { fate: () => ({ wait: answers.promise }) });
  const { run } = await submit(inputs(2));
  // What is kept of the answers is changed before a job reads it.
  const changes = `CREATE TRIGGER swap AFTER UPDATE OF answer ON batch_requests WHEN new.n = 0
    BEGIN UPDATE batch_requests SET status = 500 WHERE n = 0; END`;
  edit(folder, changes);
  answers.resolve();
  await works({ run });
  expect((await states(run)).toSorted()).toEqual(["done", "failed"]);
  expect(batches.ran).toHaveLength(2);
});
