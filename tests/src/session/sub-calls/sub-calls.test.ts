import { setImmediate, setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { AgentTool, ModelAnswer } from "../../../../src/models/index.ts";
import { meeting, openScripted, promptOf, USAGE } from "../../../support/scripted-session.ts";

const failure = (code: "rate_limited" | "provider_error", retryAfterMs?: number): ModelAnswer => ({
  ok: false,
  usage: { ...USAGE, input: 0, output: 0, cost_usd: 0 },
  charged: false,
  error: { code, message: code, suggestion: "Wait.", retriable: true },
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

test.each(["{ tools: [], max_concurrent: 7 }", "7"])(
  "a batch with %s keeps its order whatever call is answered first, and never runs more than max_concurrent at once",
  async (options) => {
    const met = meeting(7);
    const { session, seen } = await openScripted(async (request) => {
      const prompt = promptOf(request);
      await met();
      for (let turns = 7 - (Number(prompt.slice(1)) % 8); turns > 0; turns--) await setImmediate();
      return prompt;
    });
    const prompts = Array.from({ length: 40 }, (_, index) => `p${index}`);
    const answer = await session.exec(`(await llm_query_batch(${JSON.stringify(prompts)}, ${options})).results`);
    expect(answer.result_json).toEqual(prompts);
    expect(seen.peak).toBe(7);
    expect(answer.budget.remaining_sub_calls).toBe(10);
  },
);

test("single calls share the session's concurrency", async () => {
  const met = meeting(3);
  const { session, seen } = await openScripted(
    async () => {
      await met();
      return "ok";
    },
    { concurrency: 3 },
  );
  await session.exec("await Promise.all(Array.from({ length: 12 }, () => llm_query('x', [])))");
  expect(seen.peak).toBe(3);
});

test("sub-calls are exact: never one over, whatever mixes in parallel", async () => {
  const { session, seen } = await openScripted(() => "ok", { budget: { max_sub_calls: 17 } });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 6 }), async (sizes) => {
      await session.load({ text: "x", name: "x" });
      seen.prompts.length = 0;
      const calls = sizes.map((size) =>
        size % 2 ? `llm_query("a", [])` : `llm_query_batch(Array(${size}).fill("b"), { tools: [], partial: true })`,
      );
      const answer = await session.exec(`(await Promise.allSettled([${calls.join(", ")}])).length`);
      const asked = sizes.reduce((sum, size) => sum + (size % 2 ? 1 : size), 0);
      expect(answer.success).toBe(true);
      expect(seen.prompts.length).toBe(Math.min(17, asked));
      expect(answer.budget.remaining_sub_calls).toBe(17 - seen.prompts.length);
    }),
    { numRuns: 10 },
  );
});

test("retries count as one sub-call and stand in the record", async () => {
  let tries = 0;
  const { session, journal } = await openScripted(() => (++tries < 3 ? failure("rate_limited", 1) : "at last"));
  const answer = await session.exec("await llm_query('x', [])");
  expect(answer.result_json).toBe("at last");
  expect(answer.budget.remaining_sub_calls).toBe(49);
  const result = (await journal()).find(({ record }) => record === "rlm_tool_result");
  expect(result).toMatchObject({
    attempts: [{ code: "rate_limited" }, { code: "rate_limited" }],
    model: "test/scripted",
    usage: USAGE,
  });
});

test("errors have their class, code and retriable, and the traceback names the call", async () => {
  const { session } = await openScripted(() => failure("provider_error"));
  const caught = await session.exec(
    "try { await llm_query('x', []) } catch (e) { result = [e.name, e.code, e.retriable, e instanceof SubAgentError] }",
  );
  expect(caught.result_json).toEqual(["SubAgentError", "provider_error", true, true]);
  expect(await session.exec("const a = 1;\nawait llm_query('x', [])")).toMatchObject({
    success: false,
    error_code: "provider_error",
    line: 2,
  });
});

test("the cell's budget is refused before anything is sent, with BudgetExceededError", async () => {
  const { session, seen } = await openScripted(() => "ok", { budget: { max_sub_calls: 5, max_tokens: 20_000 } });
  const whole = await session.exec(
    "try { await llm_query_batch(Array(6).fill('x'), []) } catch (e) { result = [e.name, e.code, e.retriable] }",
  );
  expect(whole.result_json).toEqual(["BudgetExceededError", "budget_exceeded", false]);
  const tokens = await session.exec("await llm_query('x', { tools: [], max_tokens: 30_000 })");
  expect(tokens).toMatchObject({ success: false, error_code: "budget_exceeded" });
  expect(seen.prompts).toEqual([]);
});

test("dollars run out by the price list", async () => {
  const { session } = await openScripted(() => "ok", { budget: { max_cost_usd: 0.0095 } });
  const answer = await session.exec(
    "(await Promise.allSettled([1, 2, 3].map(() => llm_query('x', { tools: [], max_tokens: 2000 })))).map((each) => each.reason?.code ?? each.value)",
  );
  // Each request holds $0.004; what it took is $0.001.
  expect(answer.result_json).toEqual(["ok", "ok", "ok"]);
  expect(answer.budget.remaining_cost_usd).toBeCloseTo(0.0065);
});

test("when the session's time is over, calls in flight end with BudgetExceededError and the cell may finish", async () => {
  const { session } = await openScripted(
    async (_request, signal) => {
      await setTimeout(20_000, undefined, { signal }).catch(() => {});
      return "late";
    },
    { budget: { max_time_ms: 300 } },
  );
  const answer = await session.exec(
    "try { await llm_query('slow', []) } catch (e) { result = [e.name, e.code] }\nawait llm_query('more', []).catch((e) => { result_meta = e.code })",
  );
  expect(answer).toMatchObject({
    success: true,
    result_json: ["BudgetExceededError", "budget_exceeded"],
    result_meta: "budget_exceeded",
  });
  expect(await session.exec("1")).toMatchObject({ success: false, error_code: "budget_exceeded" });
});

test("an abort reaches the request and the cell within a second", async () => {
  let aborted = false;
  const { session, seen } = await openScripted(async (_request, signal) => {
    await setTimeout(20_000, undefined, { signal }).catch(() => {
      aborted = true;
    });
    return "late";
  });
  const abort = new AbortController();
  const running = session.exec("await llm_query('slow', [])", { signal: abort.signal });
  await vi.waitFor(() => expect(seen.prompts).toEqual(["slow"]));
  abort.abort();
  expect(await running).toMatchObject({ success: false, error_code: "cancelled" });
  await vi.waitFor(() => expect(aborted).toBe(true));
  expect(await session.exec("1 + 1")).toMatchObject({ success: true, result_json: 2 });
});

test("a call that is not awaited is charged what the provider says", async () => {
  const { session, journal } = await openScripted(async (_request, signal) => {
    await setTimeout(20_000, undefined, { signal }).catch(() => {});
    const error = { code: "cancelled", message: "aborted", suggestion: "", retriable: false } as const;
    return { ok: false, usage: USAGE, charged: true, error };
  });
  const answer = await session.exec(
    "llm_query('slow', []); await llm_query('quick', { tools: [], timeout_ms: 300 }).catch(() => 0); 1",
  );
  expect(answer).toMatchObject({ success: true, result_json: 1, warnings: ["unawaited_sub_calls: 1"] });
  const records = (await journal()).map(({ record }) => record);
  expect(records.filter((record) => record === "rlm_tool_result")).toHaveLength(2);
  expect(records.at(-1)).toBe("rlm_complete");
});

test("a model without a known price is not asked where dollars are limited", async () => {
  const { session, seen } = await openScripted(() => "ok", { budget: { max_cost_usd: 1 } }, null);
  expect(await session.exec("await llm_query('x', [])")).toMatchObject({
    error_code: "budget_exceeded",
    error_message: expect.stringContaining("price of test/scripted is not known"),
    budget: { remaining_sub_calls: 50 },
  });
  expect(seen.prompts).toEqual([]);
});

test("dollars stand in budget() where they are limited", async () => {
  const { session } = await openScripted(() => "ok", { budget: { max_cost_usd: 0.5 } });
  const answer = await session.exec(
    "await llm_query('x', []); [budget().cost_usd, session().budget.remaining_cost_usd, budget().sub_calls]",
  );
  expect(answer.result_json).toEqual([0.499, 0.499, 49]);
});

/** The patterns of the RLM specification §10 that ask a model, in JavaScript. */
test("find and analyse, within the budget, in passes with memory", async () => {
  const { session } = await openScripted((request) => `seen ${promptOf(request).length}`, {
    budget: { max_sub_calls: 12 },
  });
  const text = Array.from(
    { length: 300 },
    (_, i) => `function f${i}() { /* ${i % 10 === 0 ? "TODO" : "done"} */ }\nclass C${i} {}`,
  ).join("\n");
  await session.load({ text, name: "code.js" });
  const analyse = await session.exec(`const { matches, capped } = find("TODO|FIXME|HACK", "i");
const samples = matches.slice(0, 10).map(([start, end]) => peek(Math.max(0, start - 30), end + 100));
const analysis = await llm_query("Categorize these by urgency:\\n\\n" + samples.join("\\n---\\n"), []);
result = { total_count: matches.length, analyzed: samples.length, analysis };
result_meta = { capped };`);
  expect(analyse).toMatchObject({
    success: true,
    result_json: { total_count: 30, analyzed: 10, analysis: expect.stringMatching(/^seen \d+$/) },
    result_meta: { capped: false },
  });
  const aware = await session.exec(`const found = find(/function\\s+\\w+/).matches;
if (session().budget.sub_calls >= found.length) {
  result = { strategy: "full", answers: await llm_query_batch(found.map(([start, end]) => peek(start, end + 500)), []) };
} else {
  const sample = found.slice(0, 5).map(([start, end]) => peek(start, end + 200));
  result = { strategy: "sampled", summary: await llm_query("Summarize:\\n" + sample.join("\\n---\\n"), []) };
}`);
  expect(aware).toMatchObject({ success: true, result_json: { strategy: "sampled" } });
  await session.exec(
    `memory.put("classes", find(/class\\s+(\\w+)/).matches.slice(0, 50).map(([start, end]) => ({ start, end })));`,
  );
  const second = await session.exec(`const analyses = [];
for (const { start } of memory.get("classes").slice(0, 10)) {
  analyses.push({ location: start, analysis: await llm_query("Analyze:\\n" + peek(start, start + 300), []) });
}
memory.put("analyses", analyses);
result = { pass: 2, analyzed: analyses.length, left: budget().sub_calls };`);
  expect(second).toMatchObject({ success: true, result_json: { pass: 2, analyzed: 10, left: 0 } });
});

test("a promise in a prompt is named", async () => {
  const { session } = await openScripted(() => "ok");
  const answer = await session.exec(["await llm_query(`x ", "{llm_query('y', [])}`, [])"].join("$"));
  expect(answer.warnings).toContain("unawaited_value_in_prompt");
});

test("tools beyond the default set need the policy, and denials spend nothing", async () => {
  const shell: AgentTool = {
    name: "shell",
    description: "runs a command",
    parameters: { type: "object", properties: {} },
    sideEffects: true,
    run: async () => ({ text: "done" }),
  };
  const asked: string[] = [];
  const { session, seen, journal } = await openScripted(() => "ok", {
    subAgents: {
      tools: [shell],
      allowed_tool_overrides: ["shell"],
      approve: async ({ tools, prompt }) => {
        asked.push(`${tools.join()}: ${prompt}`);
        return prompt === "yes";
      },
    },
  });
  const denied = await session.exec("await llm_query('no', ['shell'])");
  expect(denied).toMatchObject({ success: false, error_code: "policy_violation", warnings: ["tool_override_denied"] });
  // The record names the model that the call would have asked.
  const results = (await journal()).filter(({ record }) => record === "rlm_tool_result");
  expect(results).toMatchObject([{ refused: true, model: "test/scripted" }]);
  expect(denied.tool_override_events).toMatchObject([{ denied_tools: ["shell"], granted_tools: [] }]);
  expect(denied.budget.remaining_sub_calls).toBe(50);
  const granted = await session.exec("await llm_query('yes', ['shell'])");
  expect(granted).toMatchObject({ success: true, result_json: "ok" });
  expect(granted.tool_override_events).toMatchObject([{ granted_tools: ["shell"] }]);
  expect(await session.exec("await llm_query('x', ['rlm_exec'])")).toMatchObject({ error_code: "reentrancy_error" });
  expect(asked).toEqual(["shell: no", "shell: yes"]);
  expect(seen.prompts).toEqual(["yes"]);
});

test("a query cites what it used and leaves the guest as it was", async () => {
  const { session } = await openScripted((request) =>
    promptOf(request).includes("Notes from") ? "Foxes are red [a.txt:1]." : "Foxes are red.",
  );
  await session.load({ text: `${"filler line\n".repeat(200)}The fox is red.\n`, name: "a.txt" });
  await session.exec("var kept = 1; memory.put('k', 1); helpers.add('h', 'const H = 1;'); let choose = 'mine';");
  const look =
    "({ names: Object.getOwnPropertyNames(globalThis).sort(), kept, choose, H, memory: memory.list(), helpers: helpers.list() })";
  const before = await session.exec(look);
  const answer = await session.query("What colour is the fox?", { maxSections: 3 });
  expect(answer).toMatchObject({ success: true, search_strategy_used: "bm25", answer: expect.stringContaining("red") });
  if (answer.success) for (const section of answer.sections) expect(section).toMatch(/^a\.txt:\d+$/);
  const after = await session.exec(look);
  expect(after.result_json).toEqual(before.result_json);
  expect(after.budget.remaining_sub_calls).toBeLessThan(50);
});

test("the same query reads the same sections, by each strategy", async () => {
  const { session, seen } = await openScripted(() => "note");
  const text = Array.from(
    { length: 3000 },
    (_, i) => `line ${i} ${i % 7 === 0 ? "TODO fix" : "calm"} word${i % 13}`,
  ).join("\n");
  await session.load({ text, name: "big.txt" });
  for (const searchStrategy of ["regex", "bm25", "auto"] as const) {
    seen.prompts.length = 0;
    const first = await session.query('find "TODO" items', { searchStrategy, maxSections: 4 });
    const sent = [...seen.prompts];
    seen.prompts.length = 0;
    await session.load({ text, name: "big.txt" });
    const second = await session.query('find "TODO" items', { searchStrategy, maxSections: 4 });
    expect(seen.prompts).toEqual(sent);
    expect(first.success && second.success && first.sections).toEqual(second.success ? second.sections : []);
  }
});

test("a dry run counts by call site, sends nothing and changes nothing", async () => {
  const { session, seen } = await openScripted(() => "never");
  await session.exec("var n = 1");
  const { estimate, envelope } = await session.dryRun(
    "n = 2;\nfor (const p of ['a', 'b', 'c']) await llm_query(p, []);\nconst { size } = await llm_query('d', { tools: [], max_tokens: 100, schema: { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] } });\nNumber.isInteger(size)",
  );
  expect(envelope).toMatchObject({ success: true, result_json: true });
  expect(estimate).toMatchObject({ sub_calls: 4, max_output_tokens: 3 * 4096 + 100, partial: false });
  expect(estimate.sites.map(({ site, sub_calls }) => [site, sub_calls])).toEqual([
    ["<cell 2>:2", 3],
    ["<cell 2>:3", 1],
  ]);
  expect(estimate.cost_usd).toBeGreaterThan(0);
  expect(seen.prompts).toEqual([]);
  const after = await session.exec("n");
  expect(after.result_json).toBe(1);
  expect(after.budget.remaining_sub_calls).toBe(50);
  const partial = await session.dryRun("await llm_query('a', []);\nthrow new Error('stop')");
  expect(partial.estimate).toMatchObject({ sub_calls: 1, partial: true });
});

test("a warning about a batch quotes the first call that failed, whatever call is answered first", async () => {
  const late = Promise.withResolvers<void>();
  const { session } = await openScripted(async (request) => {
    if (promptOf(request) === "first") await late.promise;
    else late.resolve();
    return { ...failure("provider_error"), error: { ...DENIAL, message: `no ${promptOf(request)}` } };
  });
  const { warnings } = await session.exec(
    'await llm_query_batch(["first", "second"], { tools: [], partial: true }); 1',
  );
  expect(warnings).toEqual([
    expect.stringMatching(/^sub_calls_failed: 2 of 2 sub-calls of llm_query_batch failed: .*no first/),
  ]);
});

const DENIAL = { code: "auth_failed", message: "", suggestion: "Set the key.", retriable: false } as const;
