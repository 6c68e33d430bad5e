import { expect, test } from "vitest";
import { openSessionWith } from "../../../../src/session/index.ts";
import { deliveryScene, KEY_OF_TESTS, withVariables } from "../../../support/delivery.ts";

const CODE = 'await llm_query("a", { tools: [] }).catch((e) => [e.code, e.message])';
const HOST = [
  "policy_violation",
  "delivery by provider batch needs a session that is kept, and a host that comes back for the answers",
];

test("a session that cannot come back sends nothing by batch", async () => {
  const { open, server, store } = await deliveryScene();
  for (const origin of ["pi", "mcp"] as const) {
    const session = await open({ session: origin }, { origin });
    expect(await session.exec(CODE)).toMatchObject({ result_json: HOST });
  }
  const options = { delivery: "batch", model: "local/m", baseUrl: server.baseUrl("openai-completions") } as const;
  const inMemory = await openSessionWith({ ...options, apiKeyEnv: KEY_OF_TESTS });
  expect(await inMemory.exec(CODE)).toMatchObject({ result_json: HOST });
  await inMemory.close();
  expect(await store.batches.groups()).toEqual([]);
  expect(server.steps).toEqual([]);
});

test.each([
  [
    "a provider without batches",
    "openrouter/openai/gpt-4o",
    ["policy_violation", "openrouter/openai/gpt-4o: Belay has no batches of this provider"],
  ],
  ["a model that nobody knows", "nobody/none", ["no_model_configured", "unknown provider in nobody/none"]],
])("a call of %s is refused by name, and nothing is sent", async (_what, model, failure) => {
  const { store } = await deliveryScene();
  withVariables({ OPENROUTER_API_KEY: "k" });
  const session = await openSessionWith({ session: "s", delivery: "batch", model }, { store });
  const done = await session.exec(CODE);
  await session.close();
  expect(done).toMatchObject({ result_json: failure });
  expect(await store.batches.groups()).toEqual([]);
});

test("a tool with side effects is refused by batch, and not at once", async () => {
  const { open, server } = await deliveryScene();
  const parameters = { type: "object", properties: {} };
  const pay = { name: "pay", description: "pays", parameters, sideEffects: true, run: async () => ({ text: "paid" }) };
  const session = await open({ subAgents: { tools: [pay], allowed_tool_overrides: ["pay"], require_approval: false } });
  const code = (more: string) => `await llm_query("a", { tools: ["pay"]${more} }).catch((e) => [e.code, e.message])`;
  const why = "a tool with side effects cannot be used in a call by provider batch: it would run again in each wave";
  expect(await session.exec(code(""))).toMatchObject({ result_json: ["policy_violation", why] });
  expect(await session.exec(code(', delivery: "now"'))).toMatchObject({ result_json: "ok" });
  expect(server.batches).toEqual([]);
});

test.each(['"later"', "null", "1"])("the delivery %s is refused where the call is made", async (delivery) => {
  const { open, server } = await deliveryScene();
  const session = await open();
  expect(await session.exec(`await llm_query("a", { delivery: ${delivery} })`)).toMatchObject({
    success: false,
    error_message: 'TypeError: llm_query: delivery must be "now" or "batch"',
  });
  expect(server.steps).toEqual([]);
});

test("a wait that is no time is refused", async () => {
  const { open } = await deliveryScene();
  const session = await open();
  for (const wait_ms of [-1, Number.NaN]) {
    await expect(session.exec("1", { wait_ms })).rejects.toMatchObject({ code: "invalid_argument" });
  }
});
