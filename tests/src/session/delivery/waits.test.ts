import { expect, test } from "vitest";
import { deliveryScene } from "../../../support/delivery.ts";

const upper = ({ prompt }: { readonly prompt: string }) => ({ text: prompt.toUpperCase() });
const gate = () => Promise.withResolvers<void>();

test("a cell by batch waits and ends, and its records name the batch", async () => {
  const { open, server, results, rows } = await deliveryScene({ answer: upper });
  const session = await open();
  const done = await session.exec('await Promise.all(["a", "b"].map((p) => llm_query(p, { tools: [] })))');
  expect(done).toMatchObject({ success: true, result_json: ["A", "B"], warnings: [] });
  expect(server.batches.map(({ rows }) => rows.length)).toEqual([2]);
  const made = rows("SELECT made_at, over_at FROM provider_batches")[0];
  for (const result of await results(session.id)) {
    expect(result).toMatchObject({ delivery: { by: "batch", batch: "batch_0" }, sent_at: made?.made_at, attempts: [] });
    expect(result.delivery?.waited_ms).toBeGreaterThanOrEqual(0);
    expect(result.delivery?.waited_ms).toBeLessThanOrEqual(result.at - (result.sent_at ?? 0));
  }
  expect(rows("SELECT count(*) AS n FROM batch_requests")).toEqual([{ n: 0 }]);
});

test("with wait 0 a cell is given back with what it waits for, and resume goes on without asking again", async () => {
  const answers = gate();
  const { open, server, events } = await deliveryScene({ answer: upper, fate: () => ({ wait: answers.promise }) });
  const first = await open();
  const waits = [{ provider: "local", batch: "batch_0", calls: 1, done: 0, earlier: [] }];
  const cell =
    'const a = await llm_query("a", { tools: [] }); [a, await llm_query("b" + a, { tools: [], delivery: "now" })]';
  const left = await first.exec(cell, { wait_ms: 0 });
  expect(left).toMatchObject({
    ...{ success: false, error_code: "waits_for_provider", resumable: true, waits },
    error_message: "1 call waits for local batch_0",
  });
  expect(events.findLast(({ kind }) => kind === "waits")).toMatchObject({ waits });
  // Nothing else can begin before.
  await expect(first.exec("1")).rejects.toMatchObject({ code: "exec_unfinished" });
  await first.close();
  const second = await open();
  expect(await second.resume({ wait_ms: 0 })).toMatchObject({ envelope: { error_code: "waits_for_provider", waits } });
  answers.resolve();
  const done = await second.resume();
  expect(done).toMatchObject({ how: "finished", envelope: { success: true, result_json: ["A", "BA"] } });
  expect(server.paid()).toEqual(
    new Map([
      ["a", 1],
      ["bA", 1],
    ]),
  );
});

test("a process that did not take the answer tells that no lower price by batch is known", async () => {
  const asked = gate();
  const hangs = gate();
  const answer = async (row: { readonly prompt: string }) => {
    if (row.prompt === "now") asked.resolve();
    if (row.prompt === "now") await hangs.promise;
    return upper(row);
  };
  const { open } = await deliveryScene({ answer });
  const first = await open({ price: "3/15" });
  const stop = new AbortController();
  const cell =
    'const a = await llm_query("a", { tools: [] }); a + (await llm_query("now", { tools: [], delivery: "now" }))';
  const left = first.exec(cell, { suspend: stop.signal });
  await asked.promise;
  stop.abort();
  expect(await left).toMatchObject({ success: false, resumable: true });
  await first.close();
  hangs.resolve();
  const second = await open({ price: "3/15" });
  const { envelope } = (await second.resume()) ?? {};
  expect(envelope).toMatchObject({ result_json: "ANOW", warnings: ["batch_price_unknown: local/m"] });
});

test("the option of a call wins over the session, in both directions", async () => {
  const { open, server } = await deliveryScene({ answer: upper });
  const cell =
    'await Promise.all(["now", "batch", undefined].map((d) => llm_query(String(d), d ? { tools: [], delivery: d } : { tools: [] })))';
  for (const delivery of ["now", "batch"] as const) {
    const session = await open({ session: delivery, delivery });
    expect(await session.exec(cell)).toMatchObject({ result_json: ["NOW", "BATCH", "UNDEFINED"] });
  }
  const ways = server.ran.map(({ prompt, batch }) => `${prompt} ${batch ? "batch" : "now"}`);
  expect(ways.toSorted()).toEqual([
    "batch batch",
    "batch batch",
    "now now",
    "now now",
    "undefined batch",
    "undefined now",
  ]);
});

test("items and options of llm_query_batch name a delivery", async () => {
  const { open, server } = await deliveryScene({ answer: upper });
  const session = await open({ delivery: "now" });
  const cell = 'await llm_query_batch(["a", { prompt: "b", delivery: "now" }], { tools: [], delivery: "batch" })';
  const done = await session.exec(cell);
  expect(done).toMatchObject({ success: true, result_json: { results: ["A", "B"] } });
  expect(server.ran.map(({ prompt, batch }) => `${prompt} ${batch ? "batch" : "now"}`)).toEqual(["b now", "a batch"]);
});

test("answers of calls that are sent now are kept before the cell is parked, and not asked for again", async () => {
  const [live, answers] = [gate(), gate()];
  const { open, server, results } = await deliveryScene({
    async answer({ prompt }) {
      if (prompt === "n") await live.promise;
      return upper({ prompt });
    },
    fate: () => ({ wait: answers.promise }),
  });
  const session = await open();
  const cell = `const both = await Promise.all([llm_query("n", { tools: [], delivery: "now" }), llm_query("b", { tools: [] })]);
    both.push(await llm_query("c", { tools: [], delivery: "now" })); both`;
  const running = session.exec(cell, { wait_ms: 0 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  // The live call is still out: nothing is given back yet.
  expect(await results(session.id)).toEqual([]);
  live.resolve();
  expect(await running).toMatchObject({ error_code: "waits_for_provider" });
  expect((await results(session.id)).map(({ model }) => model)).toEqual(["local/m"]);
  answers.resolve();
  expect(await session.resume()).toMatchObject({ envelope: { result_json: ["N", "B", "C"] } });
  expect([...server.paid()]).toEqual([
    ["n", 1],
    ["b", 1],
    ["c", 1],
  ]);
});

test("100 calls of a batch are one batch, whatever the concurrency", async () => {
  const { open, server } = await deliveryScene({ answer: upper });
  const session = await open({ concurrency: 2, budget: { max_sub_calls: 1000, max_tokens: 1e8 } });
  const done = await session.exec(
    '(await llm_query_batch(Array.from({ length: 100 }, (_, n) => "p" + n), { tools: [], max_concurrent: 3 })).results.length',
  );
  expect(done).toMatchObject({ success: true, result_json: 100 });
  expect(server.batches.map(({ rows }) => rows.length)).toEqual([100]);
});

test("calls that wait for tokens which a batch holds are named, with the limit that sends all at once", async () => {
  const answers = gate();
  const { open, server, events } = await deliveryScene({ answer: upper, fate: () => ({ wait: answers.promise }) });
  const cell = 'await llm_query_batch(["a", "b", "c"], { tools: [], max_tokens: 1000 })';
  const first = await open({ budget: { max_tokens: 2200 } });
  const held_back = { calls: 1, by: 2, of: "tokens", raise_to: 3050 };
  const { estimate } = await first.dryRun(cell);
  expect(estimate).toMatchObject({ sub_calls: 3, held_back });
  expect(await first.exec(cell, { wait_ms: 0 })).toMatchObject({
    error_code: "waits_for_provider",
    error_message: "2 calls wait for local batch_0; 1 call waits for tokens held by 2 others",
    suggestion: expect.stringMatching(/^Raise `budget.max_tokens: 3050` to have all of them go at once\. Finish it/),
    held_back,
  });
  expect(events).toContainEqual({ kind: "held_back", held_back });
  await first.close();
  // With that limit the third goes too, while the others are still out.
  const second = await open({ budget: { max_tokens: held_back.raise_to } });
  const left = await second.resume({ wait_ms: 0 });
  expect(left?.envelope).toMatchObject({ error_message: "3 calls wait for local batch_0, local batch_1" });
  answers.resolve();
  expect(await second.resume()).toMatchObject({ envelope: { success: true } });
  expect([...server.paid().values()]).toEqual([1, 1, 1]);
  const fresh = await open({ session: "t", budget: { max_tokens: held_back.raise_to } });
  expect((await fresh.dryRun(cell)).estimate).not.toHaveProperty("held_back");
});

test("a sub-agent takes a wave for each turn, and repair of an answer one more", async () => {
  const { open, server, results } = await deliveryScene({
    answer({ body }) {
      const text = JSON.stringify(body);
      if (text.includes("find it"))
        return text.includes('"role":"tool"')
          ? { text: "found" }
          : { tools: [{ id: "call_1", name: "list_docs", arguments: {} }] };
      return { text: text.includes("not json") ? '{"n":1}' : "not json" };
    },
  });
  const session = await open();
  const cell = `await Promise.all([llm_query("find it"), llm_query("a number", { tools: [], schema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] } })])`;
  const done = await session.exec(cell);
  expect(done).toMatchObject({ result_json: ["found", { n: 1 }] });
  expect(await results(session.id)).toMatchObject([
    { turns: [{}, {}], delivery: { batch: "batch_1" }, attempts: [] },
    { delivery: { batch: "batch_1" }, attempts: [] },
  ]);
  expect(server.batches.map(({ rows }) => rows.length)).toEqual([2, 2]);
});
