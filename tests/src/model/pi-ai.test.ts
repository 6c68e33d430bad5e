import {
  createAssistantMessageEventStream,
  fauxAssistantMessage,
  fauxText,
  fauxThinking,
  fauxToolCall,
  registerFauxProvider,
} from "@mariozechner/pi-ai";
import { expect, onTestFinished, test, vi } from "vitest";
import { openModels } from "../../../src/model/models.ts";
import { piAiModel } from "../../../src/model/pi-ai.ts";
import { loadPiAi } from "../../../src/model/pi-ai-load.ts";
import type { Model, ModelAnswer, ModelMessage, ModelRequest, ModelTurn } from "../../../src/model/port.ts";
import {
  type ModelScript,
  type ModelServer,
  type ScriptedAnswer,
  startModelServer,
} from "../../support/model-server.ts";

const KEY = "key-of-the-user-123";
const NO_USAGE = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 };

const READ = {
  name: "read",
  description: "Reads a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};

async function serve(script: ModelScript): Promise<{ server: ModelServer; model: Model }> {
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const models = openModels({ model: "local/scripted", baseUrl: server.url, apiKeyEnv: "K", env: { K: KEY } });
  return { server, model: models.resolve(null) };
}

function ask(model: Model, request: Partial<ModelRequest> = {}, signal = new AbortController().signal) {
  const messages: ModelMessage[] = [{ role: "user", text: "hi" }];
  return model.complete({ system: null, messages, tools: [], maxTokens: 100, timeoutMs: 9000, ...request }, signal);
}

async function answerTo(answer: ScriptedAnswer): Promise<ModelAnswer> {
  const { model } = await serve([answer]);
  return await ask(model);
}

function turnOf(answer: ModelAnswer): ModelTurn {
  if (answer.ok) return answer.turn;
  throw new Error(answer.error.message);
}

test("text in pieces is one text, with the provider's usage", async () => {
  const text = "a text of several pieces, é and 漢";
  const usage = { prompt: 100, completion: 7, cached: 60 };
  const answer = await answerTo({ text, pieces: 5, pieceMs: 1, usage });
  expect(answer).toMatchObject({ ok: true, charged: true, turn: { text, toolUses: [], stop: "end" } });
  expect(answer.usage).toEqual({ input: 40, output: 7, cache_read: 60, cache_write: 0, cost_usd: 0 });
});

test("an answer without usage is not charged", async () => {
  expect(await answerTo({ text: "x", usage: null })).toMatchObject({ ok: true, charged: false, usage: NO_USAGE });
});

test("a text cut at the token limit says so, also where thinking took all tokens", async () => {
  expect(await answerTo({ text: "half an", finish: "length" })).toMatchObject({
    ok: true,
    turn: { text: "half an", stop: "length" },
  });
  expect(await answerTo({ text: "", thinking: "hm", finish: "length" })).toMatchObject({
    ok: true,
    turn: { text: "", stop: "length" },
  });
});

test("system prompt, tools, tool calls and their results go to the model as they are", async () => {
  const use = { id: "call_7", name: "read", arguments: { path: "a.txt", deep: { list: [1, null] } } };
  const { server, model } = await serve([{ text: "let me see", tools: [use] }, { text: "done" }]);
  const question: ModelMessage = { role: "user", text: "what is in a.txt?" };
  const first = turnOf(await ask(model, { system: "Be brief.", messages: [question], tools: [READ] }));
  expect(first).toMatchObject({ text: "let me see", toolUses: [use], stop: "tools" });
  // A journal keeps the turn as JSON.
  const kept: ModelTurn = JSON.parse(JSON.stringify(first));
  const messages: ModelMessage[] = [
    question,
    { role: "assistant", answer: kept },
    { role: "tool", use, text: "", isError: false },
  ];
  expect(turnOf(await ask(model, { system: "Be brief.", messages, tools: [READ] })).text).toBe("done");
  const [, second] = server.requests;
  expect(second?.body.tools?.[0]?.function).toMatchObject(READ);
  expect(second?.body.messages).toMatchObject([
    { role: "system", content: "Be brief." },
    { role: "user", content: "what is in a.txt?" },
    { role: "assistant", content: "let me see", tool_calls: [{ id: "call_7", function: { name: "read" } }] },
    { role: "tool", tool_call_id: "call_7", content: "(empty)" },
  ]);
  expect(JSON.stringify(second?.body.messages)).toContain(JSON.stringify(JSON.stringify(use.arguments)));
});

interface Expected {
  readonly code: string;
  readonly retriable: boolean;
  readonly charged: boolean;
  readonly message: string;
}

const FAILURES: readonly (ScriptedAnswer & { readonly name: string; readonly expected: Expected })[] = [
  {
    name: "429",
    status: 429,
    expected: { code: "rate_limited", retriable: true, charged: true, message: "429 scripted 429" },
  },
  {
    name: "429 for want of credit",
    status: 429,
    body: '{"error":{"message":"You exceeded your current quota, check your plan and billing details."}}',
    expected: { code: "rate_limited", retriable: false, charged: true, message: "429 You exceeded your current quota" },
  },
  {
    name: "401",
    status: 401,
    expected: { code: "auth_failed", retriable: false, charged: true, message: "401 scripted 401" },
  },
  {
    name: "403",
    status: 403,
    expected: { code: "auth_failed", retriable: false, charged: true, message: "403 scripted 403" },
  },
  {
    name: "400",
    status: 400,
    expected: { code: "provider_error", retriable: false, charged: true, message: "400 scripted 400" },
  },
  {
    name: "404",
    status: 404,
    expected: { code: "provider_error", retriable: false, charged: true, message: "404 scripted 404" },
  },
  {
    name: "408",
    status: 408,
    expected: { code: "provider_error", retriable: true, charged: true, message: "408 scripted 408" },
  },
  {
    name: "500",
    status: 500,
    expected: { code: "provider_error", retriable: true, charged: true, message: "500 scripted 500" },
  },
  {
    name: "529 with a page",
    status: 529,
    body: "<html>overloaded",
    expected: { code: "provider_error", retriable: true, charged: true, message: "529 <html>overloaded" },
  },
  {
    name: "a content filter after the prompt",
    status: 400,
    body: '{"error":{"code":"content_filter","message":"filtered due to the content management policy"}}',
    expected: { code: "content_filtered", retriable: false, charged: true, message: "content management policy" },
  },
  {
    name: "a content filter in the answer",
    text: "I",
    finish: "content_filter",
    expected: { code: "content_filtered", retriable: false, charged: true, message: "content_filter" },
  },
  {
    name: "an empty text",
    text: " \n",
    expected: { code: "empty_answer", retriable: true, charged: true, message: "the answer is empty" },
  },
  {
    name: "thinking alone",
    text: "",
    thinking: "hm",
    expected: { code: "empty_answer", retriable: true, charged: true, message: "the answer is empty" },
  },
  {
    name: "a destroyed connection",
    text: "half",
    pieceMs: 10,
    end: "destroyed",
    expected: { code: "provider_error", retriable: true, charged: false, message: "UND_ERR_SOCKET, 127.0.0.1" },
  },
  {
    name: "a stream that ends without a finish reason",
    text: "half",
    finish: null,
    expected: { code: "provider_error", retriable: true, charged: false, message: "broke off before its end" },
  },
  {
    name: "garbage in an event",
    body: "data: {no json\n\n",
    expected: { code: "provider_error", retriable: true, charged: false, message: "JSON" },
  },
  {
    name: "a page in place of events",
    body: "<html>welcome</html>",
    expected: { code: "provider_error", retriable: true, charged: false, message: "broke off before its end" },
  },
  {
    name: "an error inside of the stream",
    body: 'data: {"error":{"message":"Rate limit exceeded"}}\n\n',
    expected: { code: "rate_limited", retriable: true, charged: false, message: "Rate limit exceeded" },
  },
  {
    name: "a finish reason that names a failure",
    text: "x",
    finish: "network_error",
    expected: { code: "provider_error", retriable: true, charged: true, message: "network_error" },
  },
];

test.each(FAILURES)("$name is told apart", async ({ name: _, expected, ...scripted }) => {
  // The SDK prints what it cannot parse.
  vi.stubEnv("OPENAI_LOG", "off");
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const { server, model } = await serve([scripted]);
  const answer = await ask(model);
  const { code, retriable, charged } = expected;
  expect(answer).toMatchObject({ ok: false, charged, error: { code, retriable } });
  expect(answer.ok ? "" : answer.error.message).toMatch(/^local\/scripted: /);
  expect(answer.ok ? "" : answer.error.message).toContain(expected.message);
  expect(server.requests).toHaveLength(1);
});

test("a server that is not there", async () => {
  const { server, model } = await serve([]);
  await server.close();
  const answer = await ask(model);
  expect(answer).toMatchObject({ ok: false, charged: true, error: { code: "provider_error", retriable: true } });
  expect(answer.ok ? "" : answer.error.message).toContain("ECONNREFUSED, 127.0.0.1");
});

test.each<[Record<string, string>, string | undefined, number | undefined]>([
  [{ "retry-after": "7" }, undefined, 7000],
  [{ "retry-after": "0.5" }, undefined, 500],
  [{ "retry-after-ms": "250", "retry-after": "9" }, undefined, 250],
  [{ date: "Wed, 21 Oct 2015 07:28:00 GMT", "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT" }, undefined, 30_000],
  [{ date: "Wed, 21 Oct 2015 07:28:00 GMT", "retry-after": "Wed, 21 Oct 2015 07:27:00 GMT" }, undefined, 0],
  [{ "retry-after": "soon" }, undefined, undefined],
  [{}, '{"error":{"message":"Please try again in 1m2.5s."}}', 62_500],
  [{}, '{"error":{"message":"Please try again in 20ms."}}', 20],
  [{}, undefined, undefined],
])("Retry-After %j with the body %s is %s ms", async (headers, body, ms) => {
  const { model } = await serve([{ status: 429, headers, ...(body === undefined ? {} : { body }) }]);
  const answer = await ask(model);
  expect(answer).toMatchObject({ ok: false, error: { code: "rate_limited" } });
  expect(answer.ok ? undefined : answer.retryAfterMs).toBe(ms);
});

test("each of many requests at once gets its own Retry-After", async () => {
  const { server, model } = await serve(({ prompt }) => ({
    status: 429,
    delayMs: ((Number(prompt) * 7) % 20) + 50,
    headers: { "retry-after": prompt },
  }));
  const waits = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const answer = await ask(model, { messages: [{ role: "user", text: String(index) }] });
      return answer.ok ? undefined : answer.retryAfterMs;
    }),
  );
  expect(waits).toEqual(Array.from({ length: 30 }, (_, index) => index * 1000));
  expect(server.peak).toBeGreaterThan(10);
});

const PATIENT = { timeout: 5000 };

const HANGING: readonly [string, ScriptedAnswer][] = [
  ["before the headers", { delayMs: 60_000 }],
  ["inside of the body", { text: "half", end: "stuck" }],
  ["in a slow body", { text: "x".repeat(500), pieces: 500, pieceMs: 100 }],
];

test.each(HANGING)("a timeout %s ends the request and its connection", async (_where, scripted) => {
  const { server, model } = await serve([scripted]);
  const answer = await ask(model, { timeoutMs: 200 });
  expect(answer).toMatchObject({ ok: false, charged: false, error: { code: "timeout", retriable: true } });
  expect(answer.ok ? "" : answer.error.message).toBe("local/scripted: no whole answer within 200 ms");
  await vi.waitFor(async () => expect(await server.connections()).toBe(0), PATIENT);
  expect(server.requests[0]?.disconnected).toBe(true);
});

test.each(HANGING)("an abort %s ends the request and its connection", async (_where, scripted) => {
  const cancel = new AbortController();
  const { server, model } = await serve([scripted]);
  const answer = ask(model, {}, cancel.signal);
  await vi.waitFor(() => expect(server.requests).toHaveLength(1));
  setTimeout(() => cancel.abort(), 100);
  expect(await answer).toMatchObject({ ok: false, charged: false, error: { code: "cancelled", retriable: false } });
  await vi.waitFor(async () => expect(await server.connections()).toBe(0), PATIENT);
  expect(server.requests[0]?.disconnected).toBe(true);
});

test("nothing is sent where the signal has aborted before", async () => {
  const { server, model } = await serve([]);
  expect(await ask(model, {}, AbortSignal.abort())).toMatchObject({
    ok: false,
    charged: true,
    usage: NO_USAGE,
    error: { code: "cancelled" },
  });
  expect(server.requests).toHaveLength(0);
});

test("keys are taken out of messages, and whatever looks like one", async () => {
  const message = `wrong key ${KEY}: Authorization: Bearer abcdef.ghi, sk-proj-0123456789 and sk-abc***xyz12`;
  const answer = await answerTo({ status: 401, body: JSON.stringify({ error: { message } }) });
  expect(answer.ok ? "" : answer.error.message).toBe(
    "local/scripted: 401 wrong key [key]: Authorization: [key], [key] and [key]",
  );
});

test("a long page is shortened", async () => {
  const answer = await answerTo({ status: 500, body: "<p>".repeat(5000) });
  expect(answer.ok ? 0 : answer.error.message.length).toBeLessThan(600);
});

/** A model of pi-ai's faux provider. */
function faux(api?: string) {
  const provider = registerFauxProvider({
    ...(api === undefined ? {} : { api }),
    models: [{ id: "f", cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 } }],
  });
  onTestFinished(() => provider.unregister());
  const authorization = { key: KEY, headers: { "x-team": "blue" }, expires: Number.POSITIVE_INFINITY };
  const price = { input: 1, output: 2 };
  const model = piAiModel({ model: provider.getModel(), price, authorize: () => authorization, load: loadPiAi });
  return { provider, model };
}

test("thinking is no text, texts are joined, and options reach the provider", async () => {
  const { provider, model } = faux();
  const sent: unknown[] = [];
  const content = [
    fauxThinking("hm"),
    fauxText("one "),
    fauxText("two"),
    fauxToolCall("read", { path: "a" }, { id: "c" }),
  ];
  provider.setResponses([
    (context, options) => {
      sent.push({ system: context.systemPrompt, tools: context.tools, ...options });
      return fauxAssistantMessage(content, { stopReason: "stop" });
    },
  ]);
  const answer = await ask(model, { system: "s", maxTokens: 77, tools: [READ] });
  expect(turnOf(answer)).toMatchObject({
    text: "one two",
    stop: "tools",
    toolUses: [{ id: "c", name: "read", arguments: { path: "a" } }],
  });
  const options = {
    apiKey: KEY,
    headers: { "x-team": "blue" },
    maxTokens: 77,
    maxRetries: 0,
    tools: [READ],
    system: "s",
  };
  expect(sent).toMatchObject([options]);
  expect(answer.usage.input).toBeGreaterThan(0);
});

test.each([
  ["anthropic-test", "content_filtered"],
  ["google-test", "content_filtered"],
  ["mistral-test", "provider_error"],
])("a refusal that pi-ai gives no name to, in the protocol %s, is %s", async (api, code) => {
  const { provider, model } = faux(api);
  const errorMessage = "An unknown error occurred";
  provider.setResponses([fauxAssistantMessage("", { stopReason: "error", errorMessage })]);
  expect(await ask(model)).toMatchObject({ ok: false, error: { code } });
});

test("an SDK that never comes to rest is left behind", async () => {
  const provider = registerFauxProvider();
  onTestFinished(() => provider.unregister());
  const model = piAiModel({
    model: provider.getModel(),
    price: null,
    authorize: () => ({ key: KEY, headers: {}, expires: Number.POSITIVE_INFINITY }),
    load: () => ({ streamSimple: () => createAssistantMessageEventStream() }),
  });
  expect(await ask(model, { timeoutMs: 50 })).toMatchObject({ ok: false, charged: false, error: { code: "timeout" } });
  const cancel = new AbortController();
  setTimeout(() => cancel.abort(), 50);
  expect(await ask(model, {}, cancel.signal)).toMatchObject({ ok: false, error: { code: "cancelled" } });
});

test("what throws before the request is on its way is an answer", async () => {
  const provider = registerFauxProvider();
  const model = piAiModel({
    model: provider.getModel(),
    price: null,
    authorize: () => ({ key: KEY, headers: {}, expires: Number.POSITIVE_INFINITY }),
    load: loadPiAi,
  });
  provider.unregister();
  const answer = await ask(model);
  expect(answer).toMatchObject({ ok: false, charged: true, error: { code: "provider_error", retriable: false } });
  expect(answer.ok ? "" : answer.error.message).toContain("No API provider registered");
});
