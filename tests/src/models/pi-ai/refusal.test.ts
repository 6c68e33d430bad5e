import { fauxAssistantMessage } from "belay-pi-ai";
import { expect, onTestFinished, test, vi } from "vitest";
import { openModels } from "../../../../src/models/models.ts";
import { type ScriptedAnswer, startModelServer } from "../../../support/model-server.ts";
import { answerTo, ask, faux, KEY, messageOf, serve } from "../../../support/scripted-model.ts";
import { folderWith } from "../../../support/tree.ts";

type Facts = "retriable, charged" | "retriable" | "charged";

const FAILURES: Readonly<Record<string, readonly [scripted: ScriptedAnswer, code: string, Facts, message: string]>> = {
  "429": [{ status: 429 }, "rate_limited", "retriable, charged", "429 scripted 429"],
  "429 for want of credit": [
    {
      status: 429,
      body: '{"error":{"message":"You exceeded your current quota, check your plan and billing details."}}',
    },
    "no_credit",
    "charged",
    "429 You exceeded your current quota",
  ],
  "401": [{ status: 401 }, "auth_failed", "charged", "401 scripted 401"],
  "403": [{ status: 403 }, "auth_failed", "charged", "403 scripted 403"],
  "400": [{ status: 400 }, "provider_error", "charged", "400 scripted 400"],
  "404": [{ status: 404 }, "provider_error", "charged", "404 scripted 404"],
  "408": [{ status: 408 }, "provider_error", "retriable, charged", "408 scripted 408"],
  "500": [{ status: 500 }, "provider_error", "retriable, charged", "500 scripted 500"],
  "529 with a page": [{ status: 529, body: "<html>busy" }, "rate_limited", "retriable, charged", "529 <html>busy"],
  "503 of a model with too much to do": [
    { status: 503, body: '{"error":{"message":"The model is overloaded."}}' },
    "rate_limited",
    "retriable, charged",
    "The model is overloaded.",
  ],
  "a stream of a model with too much to do": [
    { body: 'data: {"error":{"type":"overloaded_error","message":"Overloaded"}}\n\n' },
    "rate_limited",
    "retriable",
    "Overloaded",
  ],
  "a gateway that does not reach its server": [
    { status: 503, body: "upstream connect error: connection refused" },
    "provider_error",
    "retriable, charged",
    "connection refused",
  ],
  "a content filter after the prompt": [
    {
      status: 400,
      body: '{"error":{"code":"content_filter","message":"filtered due to the content management policy"}}',
    },
    "content_filtered",
    "charged",
    "content management policy",
  ],
  "a content filter in the answer": [
    { text: "I", finish: "content_filter" },
    "content_filtered",
    "charged",
    "the provider's filter withheld the answer (content_filter)",
  ],
  "an empty text": [{ text: " \n" }, "empty_answer", "retriable, charged", "the answer is empty"],
  "thinking alone": [{ text: "", thinking: "hm" }, "empty_answer", "retriable, charged", "the answer is empty"],
  "a destroyed connection": [
    { text: "half", pieceMs: 10, end: "destroyed" },
    "provider_error",
    "retriable",
    "UND_ERR_SOCKET, http://127.0.0.1",
  ],
  "a stream that ends without a finish reason": [
    { text: "half", finish: null },
    "provider_error",
    "retriable",
    "broke off before its end",
  ],
  "garbage in an event": [{ body: "data: {no json\n\n" }, "provider_error", "retriable", "JSON"],
  "a page in place of events": [
    { body: "<html>welcome</html>" },
    "provider_error",
    "retriable",
    "broke off before its end",
  ],
  "an error inside of the stream": [
    { body: 'data: {"error":{"message":"Rate limit exceeded"}}\n\n' },
    "rate_limited",
    "retriable",
    "Rate limit exceeded",
  ],
  "an error inside of the stream that is as long as an answer, of parts of keys": [
    { body: `data: ${JSON.stringify({ error: { message: "-eyJ".repeat(225_000), code: 400 } })}\n\n` },
    "provider_error",
    "retriable",
    "-[key]",
  ],
  "a finish reason that names a failure": [
    { text: "x", finish: "network_error" },
    "provider_error",
    "retriable, charged",
    "network_error",
  ],
};

test.each(Object.entries(FAILURES))("%s is told apart", async (_name, [scripted, code, facts, message]) => {
  // The SDK prints what it cannot parse.
  vi.stubEnv("OPENAI_LOG", "off");
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  const { server, model } = await serve([scripted]);
  const answer = await ask(model);
  const [retriable, charged] = [facts.includes("retriable"), facts.includes("charged")];
  expect(answer).toMatchObject({ ok: false, charged, error: { code, retriable } });
  expect(messageOf(answer)).toMatch(/^local\/scripted: /);
  expect(messageOf(answer)).toContain(message);
  expect(server.requests).toHaveLength(1);
});

test.each([
  [
    "Qwen/Qwen3-8B",
    "The server was asked for Qwen3-8B. If it knows the model as Qwen/Qwen3-8B, name it local/Qwen/Qwen3-8B;",
  ],
  ["local/Qwen3-8B", "The server was asked for Qwen3-8B: check"],
])("a server of one's own that does not know %s is told by the name that it was asked for", async (model, cure) => {
  await using server = await startModelServer([{ status: 404 }]);
  const answer = await ask(openModels({ model, baseUrl: server.url, env: {} }).resolve(null));
  expect(server.requests[0]?.body.model).toBe("Qwen3-8B");
  expect(answer).toMatchObject({ ok: false, error: { suggestion: expect.stringContaining(cure) } });
});

test("a server that is not there", async () => {
  const { server, model } = await serve([]);
  await server.close();
  const answer = await ask(model);
  const message = `local/scripted: no connection to ${server.url} (ECONNREFUSED)`;
  const suggestion = "Is the server running? If it is, check `baseUrl`.";
  const error = { code: "provider_error", retriable: true, message, suggestion };
  expect(answer).toMatchObject({ ok: false, charged: true, error });
  const mine = { baseUrl: server.url, api: "openai-completions", apiKey: KEY, models: [{ id: "m" }] };
  const agentDir = folderWith({ "models.json": JSON.stringify({ providers: { mine } }) });
  expect(await ask(openModels({ env: {}, agentDir }).resolve("mine/m"))).toMatchObject({
    error: { suggestion: `Check that ${server.url} can be reached, then call again.` },
  });
  // A port that fetch refuses; the error gives no reason.
  const refused = await ask(openModels({ env: {}, baseUrl: "http://127.0.0.1:9/v1?key=secret" }).resolve("local/x"));
  expect(messageOf(refused)).toBe("local/x: no connection to http://127.0.0.1:9/v1");
});

test.each<[Record<string, string>, string | undefined, number | undefined]>([
  [{ "retry-after": "7" }, undefined, 7000],
  [{ "retry-after": "0.5" }, undefined, 500],
  [{ "retry-after-ms": "250", "retry-after": "9" }, undefined, 250],
  [{ date: "Wed, 21 Oct 2015 07:28:00 GMT", "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT" }, undefined, 30_000],
  [{ date: "Wed, 21 Oct 2015 07:28:00 GMT", "retry-after": "Wed, 21 Oct 2015 07:27:00 GMT" }, undefined, 0],
  [{ date: "soon", "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT" }, undefined, 0],
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
  const { promise: allAreIn, resolve } = Promise.withResolvers<void>();
  const { server, model } = await serve(async ({ prompt, index }) => {
    if (index === 29) resolve();
    await allAreIn;
    return { status: 429, delayMs: ((Number(prompt) * 7) % 20) + 1, headers: { "retry-after": prompt } };
  });
  const waits = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const answer = await ask(model, { messages: [{ role: "user", text: String(index) }] });
      return answer.ok ? undefined : answer.retryAfterMs;
    }),
  );
  expect(waits).toEqual(Array.from({ length: 30 }, (_, index) => index * 1000));
  expect(server.peak).toBe(30);
});

test("keys are taken out of messages, and whatever looks like one", async () => {
  const message = `wrong key ${KEY}: Authorization: Bearer abcdef.ghi, sk-proj-0123456789 and sk-abc***xyz12`;
  const answer = await answerTo({ status: 401, body: JSON.stringify({ error: { message } }) });
  expect(messageOf(answer)).toBe("local/scripted: 401 wrong key [key]: Authorization: [key], [key] and [key]");
});

test("a long page is shortened", async () => {
  const answer = await answerTo({ status: 500, body: "<p>".repeat(5000) });
  expect(answer.ok ? 0 : answer.error.message.length).toBeLessThan(600);
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
