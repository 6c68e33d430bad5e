import { expect, test, vi } from "vitest";
import { RlmError } from "../../../../runtime/index.ts";
import type { Store } from "../../../../src/store/index.ts";
import { deliveryScene, withVariables } from "../../../support/delivery.ts";

const gate = () => Promise.withResolvers<void>();
const PLAIN = 'await llm_query("a", { tools: [] })';
const WAITS = { success: false, error_code: "waits_for_provider", resumable: true };

test("calls by batch do not fail after a restart, although the session wants calls to fail then", async () => {
  const { open, server } = await deliveryScene();
  const session = await open({ onRestart: "fail" });
  expect(await session.exec(PLAIN)).toMatchObject({ success: true, result_json: "ok" });
  expect(server.ran).toHaveLength(1);
});

test("what is out answers its call, although model and delivery have changed; what has not left follows them", async () => {
  const answers = gate();
  const { open, server, results, rows } = await deliveryScene({
    answer: ({ model, prompt }) => ({ text: `${prompt} of ${model}` }),
    fate: () => ({ wait: answers.promise }),
  });
  const first = await open();
  const cell = 'const a = await llm_query("a", { tools: [] }); [a, await llm_query("b", { tools: [] })]';
  expect(await first.exec(cell, { wait_ms: 0 })).toMatchObject({ error_code: "waits_for_provider" });
  await first.close();
  answers.resolve();
  const second = await open({ model: "local/other", delivery: "now" });
  expect(await second.resume()).toMatchObject({ envelope: { result_json: ["a of m", "b of other"] } });
  expect((await results(second.id)).map(({ model, delivery }) => [model, delivery?.batch])).toEqual([
    ["local/m", "batch_0"],
    ["local/other", undefined],
  ]);
  expect(server.ran.map(({ batch }) => batch)).toEqual(["batch_0", null]);
  expect(rows("SELECT * FROM batch_requests")).toEqual([]);
});

test.each([
  ["goes to the model of now", { model: "local/other" }, ["batch_0", "other"]],
  ["is sent at once if that is asked for now", { delivery: "now" }, [null, "m"]],
] as const)("a request that has not left %s", async (_what, changed, way) => {
  const { open, server, events, store } = await deliveryScene({ answer: ({ model }) => ({ text: model }) });
  // Another process has the lease of the account, and sends nothing.
  const idle = { ...store, batches: { ...store.batches, lease: async () => null } };
  const first = await open({}, { store: idle });
  const stop = new AbortController();
  const running = first.exec(PLAIN, { suspend: stop.signal });
  await vi.waitFor(() => expect(events.at(-1)).toMatchObject({ kind: "waits" }));
  stop.abort();
  const waits = [{ provider: "local", batch: null, calls: 1 }];
  expect(await running).toMatchObject({ ...WAITS, error_message: "1 call waits for local", waits });
  await first.close();
  const second = await open(changed);
  expect(await second.resume()).toMatchObject({ envelope: { success: true, result_json: way[1] } });
  expect(server.ran.map(({ batch, model }) => [batch, model])).toEqual([way]);
});

test.each([
  ["another key than what is out was sent with", "another", { error_code: "auth_failed" }],
  ["no key at all", undefined, { error_code: "no_model_configured" }],
])("with %s nothing is sent, and nothing is lost", async (_what, key, failure) => {
  const answers = gate();
  const { open, server, rows } = await deliveryScene({ fate: () => ({ wait: answers.promise }) });
  const first = await open();
  expect(await first.exec(PLAIN, { wait_ms: 0 })).toMatchObject(WAITS);
  await first.close();
  const steps = server.steps.length;
  if (key === undefined) delete process.env.OPENAI_API_KEY;
  else process.env.OPENAI_API_KEY = key;
  const second = await open();
  const waits = [{ batch: "batch_0" }];
  expect(await second.resume()).toMatchObject({ how: "finished", envelope: { resumable: true, waits, ...failure } });
  await second.close();
  expect(server.steps).toHaveLength(steps);
  expect(rows("SELECT state FROM batch_requests")).toEqual([{ state: "out" }]);
  process.env.OPENAI_API_KEY = "key-1";
  answers.resolve();
  const last = await open();
  expect(await last.resume()).toMatchObject({ envelope: { result_json: "ok" } });
  expect(server.ran).toHaveLength(1);
});

test("an account of another session that hinders does not end this session's wait", async () => {
  const answers = gate();
  const { open } = await deliveryScene({ fate: () => ({ wait: answers.promise }) });
  withVariables({ OTHER_KEY: "key-2" });
  const other = await open({ session: "other", apiKeyEnv: "OTHER_KEY" });
  expect(await other.exec(PLAIN, { wait_ms: 0 })).toMatchObject(WAITS);
  await other.close();
  delete process.env.OTHER_KEY;
  const session = await open();
  const running = session.exec(PLAIN);
  setTimeout(answers.resolve, 500);
  expect(await running).toMatchObject({ success: true, result_json: "ok" });
});

test("discard gives up what is under way, and its batch is cancelled", async () => {
  const { open, server, rows } = await deliveryScene({ fate: ({ index }) => (index === 0 ? { wait: 2000 } : {}) });
  const session = await open();
  expect(await session.exec(PLAIN, { wait_ms: 0 })).toMatchObject(WAITS);
  await session.discard();
  expect(rows("SELECT state FROM batch_requests")).toEqual([{ state: "unwanted" }]);
  expect(await session.exec('await llm_query("again", { tools: [] })')).toMatchObject({ result_json: "ok" });
  expect(server.steps.filter(({ kind }) => kind === "cancel")).toHaveLength(1);
});

test("a call that its cell does not await leaves nothing behind", async () => {
  const { open, server, rows } = await deliveryScene();
  const session = await open();
  const now = '{ tools: [], delivery: "now" }';
  const ended = await session.exec(`llm_query("a", { tools: [] }); await llm_query("b", ${now})`);
  expect(ended).toMatchObject({ success: true, result_json: "ok", warnings: ["unawaited_sub_calls: 1"] });
  const race = `await Promise.race([llm_query("c", { tools: [] }), llm_query("d", ${now})])`;
  expect(await session.exec(race)).toMatchObject({ result_json: "ok", warnings: ["unawaited_sub_calls: 1"] });
  // What nobody waits for does not leave.
  expect(rows("SELECT state FROM batch_requests")).toEqual([]);
  expect(server.ran.map(({ prompt }) => prompt)).toEqual(["b", "d"]);
});

test("a store that keeps no request suspends the cell, and resume goes on once it does", async () => {
  const { open, server, store } = await deliveryScene();
  let [fails, asked] = [true, 0];
  const keep: Store["batches"]["keep"] = async (request) => {
    asked++;
    if (fails) throw new RlmError("store_failed", "the disk is full", { suggestion: "" });
    return store.batches.keep(request);
  };
  const session = await open({}, { store: { ...store, batches: { ...store.batches, keep } } });
  const failure = { success: false, error_code: "store_failed", resumable: true, waits: [] };
  expect(await session.exec(PLAIN)).toMatchObject(failure);
  expect(asked).toBe(1);
  fails = false;
  expect(await session.resume()).toMatchObject({ envelope: { result_json: "ok" } });
  expect(server.ran).toHaveLength(1);
});
