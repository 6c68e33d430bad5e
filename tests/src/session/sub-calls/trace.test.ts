import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { ToolResult } from "../../../../src/session/journal/records.ts";
import { traceOf } from "../../../../src/session/sub-calls/port.ts";
import { openScripted, using } from "../../../support/scripted-session.ts";

type Scene = Awaited<ReturnType<typeof openScripted>>;

const isResult = (record: { readonly record: string }): record is ToolResult => record.record === "rlm_tool_result";
const resultsOf = async ({ journal }: Scene) => (await journal()).filter(isResult);

test("a result says when its request left: calls of a batch that wait for a place leave one after the other", async () => {
  const answeredAt: number[] = [];
  const scene = await openScripted(
    async () => {
      const from = Date.now();
      while (Date.now() === from) await setImmediate();
      answeredAt.push(Date.now());
      return "ok";
    },
    { concurrency: 1 },
  );
  await scene.session.exec("await llm_query_batch(['a', 'b', 'c'], [])");
  const results = await resultsOf(scene);
  const calls = (await scene.journal()).filter(({ record }) => record === "rlm_tool_call");
  expect(new Set(calls.map(({ at }) => at)).size).toBe(1);
  const sent = results.map(({ sent_at = 0 }) => sent_at);
  expect(sent[0]).toBeGreaterThanOrEqual(calls[0]?.at ?? Number.NaN);
  expect(sent[1]).toBeGreaterThanOrEqual(answeredAt[0] ?? Number.NaN);
  expect(sent[2]).toBeGreaterThanOrEqual(answeredAt[1] ?? Number.NaN);
  for (const { at, sent_at = Number.NaN } of results) expect(sent_at).toBeLessThanOrEqual(at);
});

test("a plain call keeps no turns, a sub-agent keeps each of its turns with the tools that it asked for", async () => {
  const scene = await openScripted((request) =>
    request.tools.length > 0 && request.messages.length < 3 ? using("list_dir", { path: "." }) : "done",
  );
  await scene.session.exec("await llm_query('plain', []); await llm_query('agent', ['list_dir'])");
  const [plain, agent] = await resultsOf(scene);
  expect(plain).not.toHaveProperty("turns");
  expect(agent?.turns).toMatchObject([
    { input: 10, output: 5, cost_usd: 0.001, tools: ["list_dir"] },
    { input: 10, output: 5, cost_usd: 0.001, tools: [] },
  ]);
  expect(agent?.turns?.[0]?.at).toBe(agent?.sent_at);
});

test("the turns of a record are bounded, and so are the names of tools, which a model gives", () => {
  const turn = { at: 1, ms: 2, input: 3, output: 4, cost_usd: 0, tools: Array<string>(30).fill(`${"t".repeat(63)}😀`) };
  const { turns = [] } = traceOf({ sent_at: 1, turns: Array(60).fill(turn), ignored: [], mended: [] }, ["grep"]);
  expect(turns).toHaveLength(50);
  expect(turns[0]?.tools).toEqual(Array(20).fill(`${"t".repeat(63)}\uFFFD`));
});

test("a call for which nothing was sent has no time of sending", async () => {
  const scene = await openScripted(() => "ok", { budget: { max_tokens: 20_000 } });
  await scene.session.exec("await llm_query('x', { tools: [], max_tokens: 30_000 }).catch(() => {})");
  const [refused] = await resultsOf(scene);
  expect(refused).toMatchObject({ success: false });
  expect(refused).not.toHaveProperty("sent_at");
});

test("a turn of an ask says when its request left", async () => {
  const scene = await openScripted((request) =>
    request.messages.length < 2 ? using("rlm_exec", { code: "P.length" }) : "seven",
  );
  await scene.session.load({ text: "1234567", name: "x" });
  expect(await scene.session.ask("How long is it?")).toMatchObject({ success: true, answer: "seven" });
  const roots = (await resultsOf(scene)).filter(({ name }) => name === "root");
  expect(roots).toHaveLength(2);
  for (const { at, sent_at = Number.NaN } of roots) expect(sent_at).toBeLessThanOrEqual(at);
});
