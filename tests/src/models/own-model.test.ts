import { Agent, getGlobalDispatcher, setGlobalDispatcher } from "undici";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  type Complete,
  type CompletionRequest,
  openSession,
  RlmError,
  type SessionOptions,
} from "../../../src/index.ts";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";

async function opened(complete: Complete, options: SessionOptions = {}) {
  const session = await openSession({ ...options, complete });
  onTestFinished(() => session.close());
  await session.load({ name: "a.txt", text: "the code is 4711\n" });
  return session;
}

const ASK = "result = await llm_query('hi', { tools: [] })";
const FAIL =
  "try { await llm_query('hi', { tools: [], timeout_ms: 1000 }); result = null } catch (error) { result = [error.code, error.message] }";

test("a function of the program answers sub-calls, and what it says of tokens and dollars is spent", async () => {
  const seen: CompletionRequest[] = [];
  const complete: Complete = async (request) => {
    seen.push(request);
    return { text: "an answer", usage: { input: 7, output: 2, cost_usd: 0.5 } };
  };
  const session = await opened(complete, {
    model: "mine/small",
    price: "1/2",
    budget: { max_tokens: 1_000_000, max_cost_usd: 2 },
  });
  expect(await session.exec(ASK)).toMatchObject({ success: true, result_json: "an answer" });
  expect(seen).toMatchObject([{ model: "mine/small", tools: [], messages: [{ role: "user", text: "hi" }] }]);
  expect(session.budget()).toMatchObject({ remaining_tokens: 999_991, remaining_cost_usd: 1.5 });
  expect(seen[0]).not.toHaveProperty("schema");
  await session.exec(
    "await llm_query('hi', { tools: [], model: 'other/one', schema: { type: 'string' }, or_text: true })",
  );
  expect(seen[1]).toMatchObject({ model: "other/one", schema: { type: "string" } });
});

test("a recorded answer is not asked for again, and an ask is driven by the function too", async () => {
  let turns = 0;
  const complete: Complete = async ({ tools, messages }) => {
    if (tools.length === 0) return "four";
    turns += 1;
    expect(messages[0]).toMatchObject({ role: "user" });
    const code =
      turns === 1 ? "const said = await llm_query('count', { tools: [] }); print(said)" : "answer('4711: ' + said)";
    return { text: "", toolUses: [{ id: `t${turns}`, name: tools[0]?.name ?? "", arguments: { code } }] };
  };
  const store = folderWith();
  const session = await opened(complete, { store, session: "s" });
  expect(await session.ask("what is the code?")).toMatchObject({ success: true, answer: "4711: four", turns: 2 });
});

test("what it throws, and what is not an answer, is a failure that the cell can catch", async () => {
  let answer: () => Promise<unknown> = async () => "";
  const complete = (() => answer()) as Complete;
  const session = await opened(complete);
  const failing = async (next: typeof answer) => {
    answer = next;
    return (await session.exec(FAIL)).result_json;
  };
  const refusal = new RlmError("auth_failed", "the gateway wants a login", { suggestion: "Log in." });
  expect(await failing(() => Promise.reject(refusal))).toEqual([
    "auth_failed",
    expect.stringContaining("wants a login"),
  ]);
  const wrong = { text: "x", usage: { input: -1, output: 0 } };
  expect(await failing(async () => wrong)).toEqual(["provider_error", expect.stringContaining("usage.input")]);
  expect(await failing(() => new Promise(() => {}))).toEqual(["timeout", expect.stringContaining("within 1000 ms")]);
  expect(await failing(async () => 5)).toEqual(["provider_error", expect.stringContaining("not an answer")]);
});

test("what it fetches has no limit but the call's own, and one that it sets is final for the call", async () => {
  const before = getGlobalDispatcher();
  setGlobalDispatcher(new Agent());
  const dispatched = vi.spyOn(Agent.prototype, "dispatch");
  onTestFinished(() => {
    setGlobalDispatcher(before);
    dispatched.mockRestore();
  });
  await using server = await startModelServer(() => ({ body: "late", delayMs: 50 }));
  const limits = [{}, { signal: AbortSignal.abort(new DOMException("my own limit", "TimeoutError")) }];
  const session = await opened(async () => {
    const answer = await fetch(server.url, { ...limits.shift(), method: "POST", body: "{}" });
    return answer.text();
  });
  expect(await session.exec(ASK)).toMatchObject({ success: true, result_json: "late" });
  expect(dispatched.mock.calls.map(([options]) => options)).toMatchObject([{ headersTimeout: 0, bodyTimeout: 0 }]);
  expect((await session.exec(FAIL)).result_json).toEqual(["timeout", "own/model: my own limit"]);
  expect(server.requests).toHaveLength(1);
});

test("it is refused beside a server", async () => {
  const both = { complete: async () => "x", model: "a/b", baseUrl: "http://127.0.0.1:1/v1" };
  await expect(openSession(both)).rejects.toMatchObject({ code: "invalid_argument" });
});
