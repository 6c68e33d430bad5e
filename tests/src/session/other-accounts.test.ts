import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openSession } from "../../../src/index.ts";
import { startBatchServer } from "../../support/batch-server/index.ts";
import { folderWith } from "../../support/tree.ts";

test("a session heeds what hinders its own batches, and not those of others", { timeout: 20_000 }, async () => {
  const server = await startBatchServer({ fate: ({ key }) => (key === "a" ? { wait: new Promise(() => {}) } : {}) });
  onTestFinished(server.close);
  const keys = { BELAY_SHIPPING_PACE: "0.02", KEY_A: "a", KEY_B: "b" };
  for (const [name, value] of Object.entries(keys)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const store = join(folderWith({}), "state");
  const open = (session: string, apiKeyEnv: string) =>
    openSession({
      store,
      session,
      apiKeyEnv,
      model: "p/m",
      baseUrl: server.baseUrl("openai-completions"),
      delivery: "batch",
    });
  const ask = 'await llm_query("Which?", { tools: [] })';

  await using first = await open("a", "KEY_A");
  expect(await first.exec(ask, { wait_ms: 0 })).toMatchObject({
    error_code: "waits_for_provider",
    waits: [{ calls: 1 }],
  });
  await first.close();
  await using second = await open("b", "KEY_B");
  expect(await second.exec(ask)).toMatchObject({ success: true, result_json: "ok" });
  await using again = await open("a", "KEY_B");
  expect((await again.resume())?.envelope).toMatchObject({
    error_code: "auth_failed",
    resumable: true,
    traceback: expect.stringMatching(/^\w+: calls of p\/m go by provider batches of another key or server/),
  });
});
