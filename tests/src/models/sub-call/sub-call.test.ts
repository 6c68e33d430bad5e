import { expect, test } from "vitest";
import { type Json, RlmError } from "../../../../runtime/index.ts";
import type { AgentTool } from "../../../../src/models/agent-tools/index.ts";
import type {
  Model,
  ModelAnswer,
  ModelRequest,
  ModelTurn,
  Post,
  RequestBudget,
  RequestEstimate,
  SubCallCode,
  SubCallError,
  Usage,
} from "../../../../src/models/port.ts";
import { runSubCall, type SubCall } from "../../../../src/models/sub-call/sub-call.ts";
import { taskThread } from "../../../../src/models/tasks/task-thread.ts";

type SubCallParts = Parameters<typeof runSubCall>[1];

const NONE: Usage = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };
const USAGE: Usage = { input: 10, output: 2, cache_read: 1, cache_write: 0, cost_usd: 0.5 };

/** What the clock of `partsOf` shows as ms since the epoch when it shows 0. */
const EPOCH = 1_700_000_000_000;

const CALL: SubCall = {
  ...{ prompt: "Q", system: null, tools: [], schema: null, or_text: false, max_tokens: 4096, timeout_ms: 120_000 },
  ...{ model: null, thinking: "off" },
};

/** What the model does with one request. */
type Step = ModelAnswer | ((request: ModelRequest, signal: AbortSignal) => ModelAnswer | Promise<ModelAnswer>);

function turn(part: Partial<ModelTurn>, usage: Usage | null = USAGE): ModelAnswer {
  const { text = "", toolUses = [], stop = toolUses.length > 0 ? "tools" : "end" } = part;
  return { ok: true, turn: { text, toolUses, stop, raw: null }, usage: usage ?? NONE, charged: usage !== null };
}

const says = (text: string, usage: Usage | null = USAGE) => turn({ text }, usage);

function uses(...list: [name: string, args: { [name: string]: Json }][]): ModelAnswer {
  return turn({ toolUses: list.map(([name, args], index) => ({ id: `use-${index}`, name, arguments: args })) });
}

function fails(code: SubCallCode, retriable: boolean, retryAfterMs?: number): Extract<ModelAnswer, { ok: false }> {
  const error: SubCallError = { code, message: `it was ${code}`, suggestion: "Wait.", retriable };
  return { ok: false, error, usage: NONE, charged: false, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** A model that follows a script; the last step repeats. It keeps the requests. */
function script(...steps: Step[]): Model & { requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    ...{ id: "test/model", price: { input: 1000, output: 2000 }, window: null, requests },
    async complete(request, signal) {
      requests.push({ ...request, messages: [...request.messages] });
      const step = steps[Math.min(requests.length, steps.length) - 1] ?? says("");
      return typeof step === "function" ? step(request, signal) : step;
    },
  };
}

interface Budget extends RequestBudget {
  readonly reserved: RequestEstimate[];
  readonly settled: Usage[];
}

/** Allows so many requests. */
function budgetOf(allowed = Number.POSITIVE_INFINITY): Budget {
  const reserved: RequestEstimate[] = [];
  const settled: Usage[] = [];
  return {
    reserved,
    settled,
    async reserve(estimate) {
      if (reserved.length >= allowed) {
        return { code: "budget_exceeded", message: "no tokens are left", suggestion: "Finish.", retriable: false };
      }
      reserved.push(estimate);
      return { settle: (usage) => settled.push(usage) };
    },
  };
}

/** Time that stands still but for `sleep`, which passes at once and is counted; the sleep of the whole call waits for its end. */
function partsOf(model: Model, more: Partial<SubCallParts> = {}): SubCallParts & { readonly waits: number[] } {
  let now = 1000;
  const waits: number[] = [];
  return {
    models: { fallback: model.id, resolve: () => model, price: () => model.price },
    budget: budgetOf(),
    tools: [],
    thread: taskThread(),
    conversation: "exec-1.1",
    maxTurns: 10,
    clock: { now: () => EPOCH + now, monotonic: () => now },
    random: () => 0.5,
    sleep(ms, signal) {
      if (ms === CALL.timeout_ms) {
        return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      }
      waits.push(ms);
      now += ms;
      return Promise.resolve();
    },
    waits,
    ...more,
  };
}

const run = (model: Model, call: Partial<SubCall> = {}, more: Partial<SubCallParts> = {}, signal = NEVER) =>
  runSubCall({ ...CALL, ...call }, partsOf(model, more), signal);
const NEVER = new AbortController().signal;

const TOOL: AgentTool = {
  name: "look",
  description: "Looks.",
  parameters: { type: "object", properties: { at: { type: "string" }, often: { type: "integer" } }, required: ["at"] },
  sideEffects: false,
  run: async ({ at }) => ({ text: `seen ${String(at)}` }),
};

const AGENT = { tools: ["look"] };

/** So many replies of the model. */
const replies = (length: number) => expect.objectContaining({ length });

test("a plain completion: one request, its text and what it cost", async () => {
  const model = script(says("A"));
  const budget = budgetOf();
  expect(await run(model, { system: "S", max_tokens: 100 }, { budget })).toEqual({
    ...{ ok: true, value: "A", usage: USAGE, requests: 1, turns: replies(1), attempts: [], ignored: [], mended: [] },
    ...{ sent_at: EPOCH + 1000, model: "test/model" },
  });
  const limits = { maxTokens: 100, thinking: "off", timeoutMs: 120_000 };
  const messages = [{ role: "user", text: "Q" }];
  const begun = expect.any(Function);
  expect(model.requests).toEqual([{ system: "S", messages, tools: [], begun, cache: "none", ...limits }]);
  expect(budget.reserved).toEqual([
    { input_tokens: 9, max_tokens: 100, model: model.id, cost_usd: (9 * 1000 + 100 * 2000) / 1e6 },
  ]);
  expect(budget.settled).toEqual([USAGE]);
});

test("a model that says what its requests may take holds that, whatever their texts", async () => {
  const model = { ...script(says("A")), reserves: { tokens: 5000, cost_usd: 0.5 } };
  const budget = budgetOf();
  await run(model, { max_tokens: 100 }, { budget });
  expect(budget.reserved).toEqual([{ input_tokens: 0, max_tokens: 5000, model: model.id, cost_usd: 0.5 }]);
});

test("a reply that its server has not counted is estimated, beside the input that it has", async () => {
  const model = script({ ...says("12345678"), usage: { ...NONE, input: 9, cost_usd: 0.009 } });
  const { usage } = await run(model, {}, { budget: budgetOf() });
  expect(usage).toEqual({ ...NONE, input: 9, output: 2, estimated: 2, cost_usd: 0.009 + (2 * 2000) / 1e6 });
});

test("an answer without usage is charged its estimate, a failure without usage nothing", async () => {
  const budget = budgetOf();
  const outcome = await run(script(fails("provider_error", true), says("12345678", null)), {}, { budget });
  const charged = { ...NONE, input: 5, output: 2, estimated: 7, cost_usd: (5 * 1000 + 2 * 2000) / 1e6 };
  expect(outcome).toMatchObject({ ok: true, usage: charged, requests: 2 });
  expect(budget.settled).toEqual([NONE, charged]);
});

test.each<[string, ModelAnswer, SubCallCode, RegExp]>([
  ["cut", turn({ text: "half", stop: "length" }), "truncated_answer", /cut at max_tokens \(4096\), after 4 characters/],
  ["cut while thinking", turn({ stop: "length" }), "truncated_answer", /before it began \(thinking counts\)/],
  ["empty", says(""), "empty_answer", /no text/],
  ["blank", says(" \n"), "empty_answer", /no text/],
  ["too long", says("x".repeat(200_001)), "truncated_answer", /200001 characters, the limit is 200000/],
  ["filtered", fails("content_filtered", false), "content_filtered", /it was content_filtered/],
  ["refused", fails("auth_failed", false), "auth_failed", /it was auth_failed/],
  ["a tool that was not offered", uses(["look", {}]), "empty_answer", /no text/],
])("no answer arrives as an empty or shortened string: %s", async (_, answer, code, message) => {
  const outcome = await run(script(answer));
  expect(outcome).toMatchObject({ ok: false, error: { code, message: expect.stringMatching(message) } });
});

test("transient failures are retried, counted and reserved anew; Retry-After is honoured", async () => {
  const model = script(fails("rate_limited", true, 2000), fails("provider_error", true), says("A"));
  const budget = budgetOf();
  const parts = partsOf(model, { budget });
  const outcome = await runSubCall(CALL, parts, NEVER);
  expect(outcome).toMatchObject({
    ok: true,
    requests: 3,
    turns: replies(1),
    usage: USAGE,
    attempts: [
      { code: "rate_limited", waited_ms: 2250 },
      { code: "provider_error", waited_ms: 500 },
    ],
  });
  expect(parts.waits).toEqual([2250, 500]);
  expect(outcome).toMatchObject({ sent_at: EPOCH + 1000, turns: [{ at: EPOCH + 3750, ms: 0, input: 11 }] });
  expect(budget.settled).toEqual([NONE, NONE, USAGE]);
  expect(model.requests.map(({ timeoutMs }) => timeoutMs)).toEqual([120_000, 117_750, 117_250]);
});

test("a sub-agent uses tools until it answers", async () => {
  const model = script(
    uses(["look", { at: "x" }], ["look", { at: "y", often: null }]),
    uses(["look", { at: "z" }]),
    says("A"),
  );
  const budget = budgetOf();
  const outcome = await run(model, { ...AGENT, system: "Be brief." }, { tools: [TOOL], budget });
  const took = { at: EPOCH + 1000, ms: 0, input: 11, output: 2, cost_usd: 0.5 };
  expect(outcome.turns).toEqual([
    { ...took, tools: ["look", "look"] },
    { ...took, tools: ["look"] },
    { ...took, tools: [] },
  ]);
  expect(outcome).toMatchObject({ value: "A", turns: replies(3), requests: 3, usage: { input: 30, cost_usd: 1.5 } });
  const [first, , third] = model.requests;
  expect(first?.system).toMatch(/^You are a sub-agent.*Tools: look\. They only read\..*10 turns.*\n\nBe brief\.$/s);
  expect(first?.tools).toEqual([{ name: "look", description: "Looks.", parameters: TOOL.parameters }]);
  const shown = third?.messages.map((message) => ("text" in message ? message.text : message.role));
  expect(shown).toEqual(["Q", "assistant", "seen x", "seen y", "assistant", "seen z"]);
  const use = { id: "use-1", name: "look" };
  expect(third?.messages[3]).toEqual({ role: "tool", use, text: "seen y", isError: false });
  const inputs = budget.reserved.map(({ input_tokens }) => input_tokens);
  expect(inputs).toEqual(inputs.toSorted((a, b) => a - b));
  expect(new Set(inputs).size).toBe(3);
});

test("what goes wrong with a tool is an answer that the model can react to", async () => {
  const broken: AgentTool = { ...TOOL, name: "broken", run: () => Promise.reject(new Error("disk on fire")) };
  const thrower: AgentTool = {
    ...TOOL,
    name: "thrower",
    run: () => {
      throw new Error("at once");
    },
  };
  const wide: AgentTool = { ...TOOL, name: "wide", run: async () => ({ text: "w".repeat(70_000) }) };
  const tools = [TOOL, broken, thrower, wide];
  const all = { at: "x" };
  const model = script(
    uses(["nothing", {}], ["look", { at: 1 }], ["look", {}], ["broken", all], ["thrower", all], ["wide", all]),
    says("A"),
  );
  expect(await run(model, { tools: tools.map(({ name }) => name) }, { tools })).toMatchObject({ ok: true, value: "A" });
  const answers = model.requests[1]?.messages.slice(2) ?? [];
  expect(answers).toMatchObject([
    { text: "There is no tool nothing. Tools: look, broken, thrower, wide", isError: true },
    { text: "look: wrong arguments: /at is integer, must be string", isError: true },
    { text: 'look: wrong arguments: the value lacks "at"', isError: true },
    { text: "broken failed: disk on fire", isError: true },
    { text: "thrower failed: at once", isError: true },
    { text: expect.stringMatching(/w\n\n\[Cut: 60000 of 70000 characters\]$/), isError: false },
  ]);
});

test("after the last turn without an answer the call fails; the model is told before it", async () => {
  const model = script(uses(["look", { at: "x" }]));
  const outcome = await run(model, AGENT, { tools: [TOOL] });
  const error = { code: "sub_agent_error", message: "no answer after 10 turns" };
  expect(outcome).toMatchObject({ ok: false, error, turns: replies(10), requests: 10 });
  const notes = model.requests.map(({ messages }) => JSON.stringify(messages).includes("your last turn"));
  expect(notes).toEqual([...Array.from({ length: 9 }, () => false), true]);
});

test("a budget that ends in the middle of a sub-agent ends it, with what it spent", async () => {
  const model = script(uses(["look", { at: "x" }]));
  const budget = budgetOf(3);
  const error = { code: "budget_exceeded", message: "no tokens are left" };
  const outcome = await run(model, AGENT, { tools: [TOOL], budget });
  expect(outcome).toMatchObject({ ok: false, error, turns: replies(3), requests: 3, usage: { input: 30 } });
  expect(budget.settled).toHaveLength(3);
});

const SCHEMA = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };

test("a schema: the value, after instructions with the schema", async () => {
  const model = script(says('```json\n{"n": 3}\n```'));
  expect(await run(model, { schema: SCHEMA })).toMatchObject({ ok: true, value: { n: 3 }, requests: 1 });
  const [message] = model.requests[0]?.messages ?? [];
  expect(message).toMatchObject({ text: expect.stringContaining(JSON.stringify(SCHEMA)) });
});

test("a schema: one repair that names the problems, then an error with them", async () => {
  const repaired = script(says('{"n": "three"}'), says('{"n": 3}'));
  expect(await run(repaired, { schema: SCHEMA })).toMatchObject({ value: { n: 3 }, requests: 2, turns: replies(2) });
  expect(repaired.requests[1]?.messages.slice(1)).toMatchObject([
    { role: "assistant", answer: { text: '{"n": "three"}' } },
    { role: "user", text: expect.stringContaining("- /n is string, must be integer") },
  ]);
  const stubborn = script(says("No."), says("{}"));
  expect(await run(stubborn, { schema: SCHEMA })).toMatchObject({
    ok: false,
    error: { code: "schema_mismatch", message: 'the answer does not fit the schema: the value lacks "n"; it is: {}' },
    misfit: "{}",
    requests: 2,
  });
  const long = `No, ${"never ".repeat(100)}`;
  expect(await run(script(says("No."), says(long)), { schema: SCHEMA })).toMatchObject({
    error: { message: `the answer does not fit the schema: the answer is not JSON; it is: ${long.slice(0, 200)}…` },
    misfit: long,
  });
  const wordy = script(says("No."), says("It is three."));
  expect(await run(wordy, { schema: SCHEMA, or_text: true })).toMatchObject({ value: "It is three.", requests: 2 });
});

test("a schema: a mended answer says so, and nothing that the model was shown counts against another value", async () => {
  expect(await run(script(says("{'n': 3,}")), { schema: SCHEMA })).toMatchObject({
    ...{ value: { n: 3 }, mended: ["punctuation"], requests: 1 },
  });
  const quoting = says('{"n": 3}\nNote that the row has:\n{"n": 4}');
  expect(await run(script(quoting, says('{"n": 3}')), { schema: SCHEMA, prompt: 'Count: {"n": 4}' })).toMatchObject({
    ...{ value: { n: 3 }, mended: [], requests: 2 },
  });
  expect(await run(script(quoting), { schema: SCHEMA, prompt: "Count.", system: '{"n":4}' })).toMatchObject({
    ...{ ok: false, error: { code: "schema_mismatch", message: expect.stringContaining("they differ") }, requests: 2 },
  });
  const agent = script(uses(["look", { at: "x" }]), quoting, says('{"n": 3}'));
  const reads: AgentTool = { ...TOOL, run: async () => ({ ok: true, text: '{"n": 4}' }) };
  expect(await run(agent, { ...AGENT, schema: SCHEMA }, { tools: [reads] })).toMatchObject({
    value: { n: 3 },
    requests: 3,
  });
});

test("a schema: a figure that JavaScript cannot hold is not asked for again", async () => {
  const digits = '{"n": 12345678901234567890}';
  expect(await run(script(says(digits)), { schema: SCHEMA })).toMatchObject({
    error: {
      ...{ code: "schema_mismatch", message: expect.stringContaining("12345678901234567890 has more digits") },
      ...{ retriable: false, suggestion: "Ask for such a figure as a text." },
    },
    requests: 1,
  });
  expect(await run(script(says(digits)), { schema: SCHEMA, or_text: true })).toMatchObject({
    value: digits,
    requests: 1,
  });
});

test("a schema and tools: the repair has a turn beyond the limit", async () => {
  const model = script(uses(["look", { at: "x" }]), says("no JSON"), says('{"n": 1}'));
  const more = { tools: [TOOL], maxTurns: 2 };
  expect(await run(model, { ...AGENT, schema: SCHEMA }, more)).toMatchObject({ value: { n: 1 }, turns: replies(3) });
});

/** The schema of each request, and whether it may drop its tools. */
const formsOf = ({ requests }: ReturnType<typeof script>) =>
  requests.map(({ schema, mayDropTools = false }) => [schema !== undefined, mayDropTools]);

test("the provider is asked for the schema; a repair may drop its tools, and one that kept to no schema is asked for text", async () => {
  const free = script(says("hm"), says('{"n":1}'));
  await run(free, { ...AGENT, schema: SCHEMA }, { tools: [TOOL] });
  expect(free.requests[0]?.schema).toEqual(SCHEMA);
  expect(formsOf(free)).toEqual([
    [true, false],
    [true, true],
  ]);
  const constrained = (answer: ModelAnswer): ModelAnswer => ({ ...answer, isConstrained: true });
  const ignoring = script(constrained(says("hm")), says('{"n":1}'));
  expect(await run(ignoring, { schema: SCHEMA })).toMatchObject({ value: { n: 1 }, requests: 2 });
  expect(formsOf(ignoring)).toEqual([
    [true, false],
    [false, false],
  ]);
  // Beside its tools a model may run on.
  const cut = (text: string): ModelAnswer => ({ ...turn({ text, stop: "length" }), isConstrained: false });
  const long = script(cut("so, well"), constrained(says('{"n":3}')));
  expect(await run(long, { ...AGENT, schema: SCHEMA }, { tools: [TOOL] })).toMatchObject({ value: { n: 3 } });
  expect(formsOf(long)).toEqual(formsOf(free));
  expect(long.requests[1]?.messages).toEqual(long.requests[0]?.messages);
  const endless = script(cut("so, well"));
  const failed = await run(endless, { ...AGENT, schema: SCHEMA }, { tools: [TOOL] });
  expect(failed).toMatchObject({ ok: false, error: { code: "truncated_answer" }, requests: 2 });
  // A grammar allows white space without end.
  for (const blank of [turn({ text: `{${" ".repeat(400)}`, stop: "length" }), fails("empty_answer", true)]) {
    const spaces = script(constrained(blank), says('{"n":2}'));
    expect(await run(spaces, { schema: SCHEMA })).toMatchObject({ value: { n: 2 }, requests: 2 });
    expect(spaces.requests[1]).toMatchObject({ messages: spaces.requests[0]?.messages });
    expect(formsOf(spaces)[1]).toEqual([false, false]);
  }
});

test("a request whose part was refused is sent again at once, a bounded number of times", async () => {
  const error: SubCallError = { code: "provider_error", message: "no such field", suggestion: "", retriable: false };
  const adapted: ModelAnswer = { ok: false, usage: NONE, charged: true, error, isAdapted: true };
  const parts = partsOf(script(adapted, adapted, fails("provider_error", true), says("A")));
  expect(await runSubCall(CALL, parts, NEVER)).toMatchObject({ value: "A", requests: 4 });
  expect(parts.waits).toEqual([250]);
  expect(await run(script(adapted))).toMatchObject({ ok: false, requests: 7 });
});

test("nothing is sent for an invalid schema, an unknown model, or a tool that is not there", async () => {
  const model = script(says("A"));
  const budget = budgetOf();
  const error = { code: "schema_mismatch", message: "schema is wrong at /type" };
  expect(await run(model, { schema: { type: "int" } }, { budget })).toMatchObject({ ok: false, error });
  const resolve = () => {
    throw new RlmError("no_model_configured", "unknown model x/y", { suggestion: "Pass --model." });
  };
  expect(
    await run(model, { model: "x/y" }, { budget, models: { fallback: null, resolve, price: () => null } }),
  ).toMatchObject({
    ok: false,
    error: { code: "no_model_configured", message: "unknown model x/y", suggestion: "Pass --model." },
    model: "x/y",
  });
  expect(await run(model, AGENT, { budget })).toMatchObject({ ok: false, error: { code: "policy_violation" } });
  expect(budget.reserved).toEqual([]);
  expect(model.requests).toEqual([]);
});

/** Ends with `cancelled` when the signal aborts, as a model's port has to. */
const hangs: Step = (_, signal) =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(fails("cancelled", false)), { once: true });
  });

test("an abort ends a call before, in and between its requests", async () => {
  const cancelled = { ok: false, error: { code: "cancelled" } };
  expect(await run(script(says("A")), {}, {}, AbortSignal.abort())).toMatchObject({ ...cancelled, requests: 0 });

  const inRequest = new AbortController();
  const budget = budgetOf();
  const waiting = run(script(hangs), {}, { budget }, inRequest.signal);
  setImmediate(() => inRequest.abort());
  expect(await waiting).toMatchObject({ ...cancelled, requests: 1 });
  expect(budget.settled).toEqual([NONE]);

  const inTool = new AbortController();
  const deaf: AgentTool = { ...TOOL, run: () => new Promise(() => setImmediate(() => inTool.abort())) };
  const model = script(uses(["look", { at: "x" }]));
  const outcome = await run(model, AGENT, { tools: [deaf] }, inTool.signal);
  expect(outcome).toMatchObject({ ...cancelled, requests: 1, turns: replies(1) });

  const inWait = new AbortController();
  const sleep: SubCallParts["sleep"] = async (ms, signal) => {
    if (ms < CALL.timeout_ms) inWait.abort();
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  };
  const retrying = script(fails("rate_limited", true));
  expect(await run(retrying, {}, { sleep }, inWait.signal)).toMatchObject({ ...cancelled, requests: 1 });
});

test("the time of a call holds for all of it: requests, tools and the wait for the budget", async () => {
  const timeout = { ok: false, error: { code: "timeout", message: "no answer within 50 ms", retriable: true } };
  const sleep: SubCallParts["sleep"] = async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  };
  const call = { timeout_ms: 50 };
  expect(await run(script(hangs), call, { sleep })).toMatchObject(timeout);
  const deaf: AgentTool = { ...TOOL, run: () => new Promise(() => {}) };
  const model = script(uses(["look", { at: "x" }]));
  expect(await run(model, { ...AGENT, ...call }, { sleep, tools: [deaf] })).toMatchObject(timeout);
  const full: RequestBudget = {
    reserve: (_, signal) =>
      new Promise((resolve) => {
        const error = { code: "cancelled", message: "", suggestion: "", retriable: true } as const;
        signal.addEventListener("abort", () => resolve(error), { once: true });
      }),
  };
  expect(await run(script(says("A")), call, { sleep, budget: full })).toMatchObject({ ...timeout, requests: 0 });
});

test("a model that breaks its contract is an error, and its reservation is given back", async () => {
  const budget = budgetOf();
  const model = script(() => Promise.reject(new Error("bug")));
  const outcome = await run(model, {}, { budget });
  expect(outcome).toMatchObject({ ok: false, error: { code: "sub_agent_error", message: "the sub-call failed: bug" } });
  expect(budget.settled).toEqual([NONE]);
});

test("a tool that this host cannot make keeps its own code and remedy", async () => {
  const lacking: AgentTool = {
    ...TOOL,
    get parameters(): AgentTool["parameters"] {
      throw new RlmError("host_incompatible", "this host's look cannot be made", { suggestion: "Leave it out." });
    },
  };
  const error = { code: "host_incompatible", suggestion: "Leave it out.", retriable: false };
  expect(await run(script(says("A")), AGENT, { tools: [lacking] })).toMatchObject({ ok: false, error });
});

/** Posts that are told apart by their number. */
function posts() {
  const numbers: number[] = [];
  const made: Post[] = [];
  const post = (k: number): Post => {
    numbers.push(k);
    const one: Post = () => Promise.reject(new Error("the scripted model does not post"));
    made.push(one);
    return one;
  };
  return { numbers, made, post };
}

test("by a batch each request of a call has the next number, over tools' turns and a repair", async () => {
  const model = script(uses(["look", { at: "a" }]), uses(["look", { at: "b" }]), says("{}"), says('{"n": 3}'));
  const { numbers, made, post } = posts();
  const outcome = await run(model, { ...AGENT, schema: SCHEMA }, { tools: [TOOL], post });
  expect(outcome).toMatchObject({ ok: true, value: { n: 3 }, requests: 4 });
  expect(numbers).toEqual([0, 1, 2, 3]);
  expect(model.requests.map((request) => request.post)).toEqual(made);
});

test("by a batch failures are final", async () => {
  const model = script(fails("rate_limited", true), says("A"));
  const { numbers, post } = posts();
  expect(await run(model, {}, { post })).toMatchObject({ ok: false, error: { code: "rate_limited" }, attempts: [] });
  expect(numbers).toEqual([0]);
});

test("by a batch requests are reserved and charged at its price, or in full if it is not known to be lower", async () => {
  for (const [batchPrice, rate] of [[{ input: 500, output: 1000 }, 0.5] as const, [undefined, 1] as const]) {
    const budget = budgetOf();
    const model = { ...script(says("12345678", null)), ...(batchPrice ? { batchPrice } : {}) };
    await run(model, { max_tokens: 100 }, { budget, post: posts().post });
    expect(budget.reserved).toMatchObject([{ cost_usd: (rate * (5 * 1000 + 100 * 2000)) / 1e6 }]);
    expect(budget.settled).toMatchObject([{ cost_usd: (rate * (5 * 1000 + 2 * 2000)) / 1e6 }]);
    await run(model, { max_tokens: 100 }, { budget });
    expect(budget.reserved[1]).toMatchObject({ cost_usd: (5 * 1000 + 100 * 2000) / 1e6 });
  }
});

test("by a batch a call has no deadline", async () => {
  const hours = 24 * 3_600_000;
  let now = 0;
  const model = script(
    () => {
      now += hours;
      return uses(["look", { at: "a" }]);
    },
    () => says("A"),
  );
  const slept: number[] = [];
  const outcome = await run(
    model,
    { ...AGENT, timeout_ms: 1 },
    {
      tools: [TOOL],
      post: posts().post,
      clock: { now: () => now, monotonic: () => now },
      sleep: async (ms) => void slept.push(ms),
    },
  );
  expect(outcome).toMatchObject({ ok: true, value: "A" });
  expect(slept).toEqual([]);
});

test("a provider that refuses tools: the call is told how to do without them", async () => {
  const message = '400 "auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set';
  const error: SubCallError = { code: "provider_error", message, suggestion: "Change it.", retriable: false };
  const model = script({ ok: false, error, usage: NONE, charged: true });
  const refused = await run(model, AGENT, { tools: [TOOL] });
  expect(refused).toMatchObject({
    ok: false,
    error: { message, suggestion: expect.stringMatching(/^Pass tools: \[\]/) },
  });
  expect(await run(model)).toMatchObject({ error: { suggestion: "Change it." } });
});

test("a reply that its server could not read is asked for once again, at once, and is charged by estimate", async () => {
  const unread: ModelAnswer = { ...fails("empty_answer", true), unread: 400 };
  const model = script(unread, says("A"));
  const parts = partsOf(model);
  expect(await runSubCall(CALL, parts, NEVER)).toMatchObject({
    ...{ ok: true, value: "A", requests: 2, attempts: [] },
    usage: { input: 15, output: 102, cost_usd: 0.705 },
  });
  expect(parts.waits).toEqual([]);
  expect(await run(script(unread), AGENT, { tools: [TOOL] })).toMatchObject({
    ok: false,
    error: { code: "empty_answer" },
    requests: 2,
  });
  expect(await run(script({ ...unread, charged: true }))).toMatchObject({ usage: NONE, requests: 2 });
});
