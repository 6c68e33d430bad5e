import { getModels, streamSimple } from "belay-pi-ai/compat";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { openModels } from "../../../../src/models/models.ts";
import { batchAccount } from "../../../../src/models/pi-ai/batches.ts";
import type { Post, PostedAnswer, PostedRequest } from "../../../../src/models/port.ts";
import { anthropic } from "../../../../src/provider-batches/providers/anthropic.ts";
import { BATCH_APIS, type BatchApi } from "../../../../src/provider-batches/providers/index.ts";
import { startModelServer } from "../../../support/model-server.ts";
import { answerOf, type Said, TRIED } from "../../../support/provider-answers.ts";
import { AUTHORIZATION, ask, KEY, messageOf } from "../../../support/scripted-model.ts";
import { folderWith, type Tree } from "../../../support/tree.ts";

type ModelsOptions = Parameters<typeof openModels>[0];

const MINE = { api: "openai-completions", baseUrl: "http://127.0.0.1:9/v1", apiKey: "MY_KEY", models: [{ id: "m" }] };

/** A model as users name it. Its provider cannot be reached. */
function modelOf(name: string, files: Tree = {}, options: Partial<ModelsOptions> = {}) {
  const keys = {
    OPENAI_API_KEY: KEY,
    ANTHROPIC_API_KEY: KEY,
    GEMINI_API_KEY: KEY,
    MY_KEY: KEY,
    OPENROUTER_API_KEY: KEY,
  };
  // pi-ai finds out by the process itself which of its variables are set.
  for (const [variable, value] of Object.entries(keys)) vi.stubEnv(variable, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const agentDir = folderWith({ "models.json": JSON.stringify({ providers: { mine: MINE } }), ...files });
  return openModels({ env: keys, agentDir, ...options }).resolve(name);
}

const always =
  (answer: PostedAnswer): Post =>
  async () =>
    answer;

function rowOf(api: BatchApi, said: Said): PostedAnswer {
  return { status: 200, body: answerOf[api](said).row };
}

const SAMPLING = { temperature: 0.5, seed: 7, stop: ["END"] };

describe.each(BATCH_APIS)("%s", (api) => {
  const { model: name, sampled, ignored } = TRIED[api];
  const model = () => modelOf(name);

  test("a row has the parameters of its call, and one that refuses some is asked for again without them", async () => {
    const posted: Json[] = [];
    const post: Post = async (request) => {
      posted.push(request.body);
      return posted.length === 1
        ? { status: 400, body: { error: { message: "temperature is not supported" } } }
        : rowOf(api, { text: "four" });
    };
    const asked = model();
    expect(await ask(asked, { sampling: SAMPLING, post })).toMatchObject({ ok: false, isAdapted: true });
    const answer = await ask(asked, { sampling: SAMPLING, post });
    expect(answer).toMatchObject({ ok: true, ignored: ["temperature", ...ignored] });
    expect(posted[0]).toMatchObject(sampled);
    expect(JSON.stringify(posted[1])).not.toContain("temperature");
  });

  test("a request is posted to the account of its model, and its row is the answer", async () => {
    const posted: PostedRequest[] = [];
    const answer = await ask(model(), {
      post: async (request) => {
        posted.push(request);
        return rowOf(api, { text: "four" });
      },
    });
    expect(answer).toMatchObject({ ok: true, charged: true, turn: { text: "four", stop: "end" } });
    expect(answer.usage).toMatchObject({ input: 12, cache_read: 8, output: 5 });
    const account = await model().batchAccount?.();
    expect(posted).toMatchObject([{ account: { id: account?.id }, model: name }]);
    expect(JSON.stringify(posted)).not.toContain(KEY);
  });

  test("a cut answer and tool calls are known as such", async () => {
    const cut = await ask(model(), { post: always(rowOf(api, { text: "fo", cut: true })) });
    expect(cut).toMatchObject({ ok: true, turn: { text: "fo", stop: "length" } });
    const tools = [{ id: "use_1", name: "grep", arguments: { p: "x" } }];
    const used = await ask(model(), { post: always(rowOf(api, { tools })) });
    // pi-ai joins the two ids that a call has in Responses.
    const use = { ...tools[0], id: expect.stringMatching(/^use_1\b/) };
    expect(used).toMatchObject({ ok: true, turn: { toolUses: [use], stop: "tools" } });
  });

  test.each([
    [400, "provider_error", false],
    [429, "rate_limited", true],
    [500, "provider_error", true],
  ])("a row with the status %i fails as a live request does, and is free", async (status, code, retriable) => {
    const answer = await ask(model(), { post: always({ status, body: { error: { message: "try again in 9s" } } }) });
    expect(answer).toMatchObject({ ok: false, charged: true, error: { code, retriable } });
    expect(messageOf(answer)).toContain("try again in 9s");
    expect(answer).not.toHaveProperty("retryAfterMs");
  });

  test("a failure that no server sent is the answer's error", async () => {
    const failure = { code: "timeout", message: "m", suggestion: "s", retriable: true } as const;
    expect(await ask(model(), { post: always({ failure }) })).toMatchObject({ ok: false, error: failure });
  });

  test.each([...hostile(api)])("a row is refused that is %s", async (_form, row) => {
    const answer = await ask(model(), { post: always(row) });
    expect(answer).toMatchObject({ ok: false, error: { code: "provider_error" } });
    expect(answer.usage.cost_usd).toBe(0);
  });

  test("a row whose tokens are texts is an answer whose usage nobody knows", async () => {
    const text = JSON.stringify(answerOf[api]({ text: "x" }).row).replaceAll(/:(20|5|12|8|25|3|2)\b/g, ':"$1"');
    const answer = await ask(model(), { post: always({ status: 200, body: JSON.parse(text) }) });
    expect(answer).toMatchObject({ ok: true, charged: false, usage: { input: 0, output: 0, cost_usd: 0 } });
  });
});

function* hostile(api: BatchApi): Generator<[string, PostedAnswer]> {
  const deep: Json = JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`);
  const strange = { content: 5, parts: 5, message: null, text: {}, type: 7, name: [] };
  const bodies: Readonly<Record<string, Json>> = {
    null: null,
    text: "text",
    number: 7,
    list: [],
    empty: {},
    "of texts": { choices: "x", output: "x", content: "x", candidates: "x", usage: "x", status: "completed" },
    "of nulls": { choices: [null], output: [null], content: [null], candidates: [null], usage: null, status: null },
    "of strange parts": {
      ...{ choices: [strange], output: [strange], content: [strange], candidates: [strange] },
      ...{ usage: {}, status: "completed" },
    },
    "of lists in lists": deep,
    "nested deep beside what counts": { ...answerOf[api]({ text: "x" }).row, extra: deep },
  };
  for (const [form, body] of Object.entries(bodies)) yield [form, { status: 200, body }];
  for (const status of [0, 100, 204.5, 302, 700, Number.NaN]) yield [`of the status ${status}`, { status, body: {} }];
}

test("a request by a batch has no timeout, and an abort ends it", async () => {
  const cancel = new AbortController();
  const waiting = Promise.withResolvers<void>();
  const post: Post = (_request, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      waiting.resolve();
    });
  const answer = ask(modelOf("openai/gpt-4.1"), { post, timeoutMs: 1 }, cancel.signal);
  await waiting.promise;
  await new Promise((resolve) => setTimeout(resolve, 30));
  cancel.abort();
  expect(await answer).toMatchObject({ ok: false, error: { code: "cancelled" } });
});

test("a post that fails is a failure of the request", async () => {
  const post: Post = () => Promise.reject(new Error("the disk is full"));
  const answer = await ask(modelOf("openai/gpt-4.1"), { post });
  expect(answer).toMatchObject({
    ok: false,
    error: { code: "provider_error", message: "openai/gpt-4.1: the disk is full" },
  });
});

test("prices are halved at OpenAI, Anthropic and Google, and nowhere else", async () => {
  for (const name of ["openai/gpt-4.1", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-flash"]) {
    const { price, batchPrice } = modelOf(name);
    expect(batchPrice).toEqual({ input: (price?.input ?? 0) / 2, output: (price?.output ?? 0) / 2 });
  }
  const tiered = modelOf("openai/gpt-5.4");
  expect(tiered.batchPrice?.tiers).toEqual(
    tiered.price?.tiers?.map(({ above, input, output }) => ({ above, input: input / 2, output: output / 2 })),
  );
  expect(tiered.price?.tiers).toHaveLength(1);
  const elsewhere = { "models.json": JSON.stringify({ providers: { openai: { baseUrl: "http://127.0.0.1:9/v1" } } }) };
  expect(modelOf("openai/gpt-4.1", elsewhere)).not.toHaveProperty("batchPrice");
  expect(modelOf("mine/m")).not.toHaveProperty("batchPrice");
});

test("a row costs half of what a live answer with its usage costs", async () => {
  const { stream } = answerOf["openai-responses"]({ text: "x" });
  const server = await startModelServer([{ body: stream }]);
  onTestFinished(() => server.close());
  const live = { "models.json": JSON.stringify({ providers: { openai: { baseUrl: server.url } } }) };
  const { usage } = await ask(modelOf("openai/gpt-4.1", live));
  const row = await ask(modelOf("openai/gpt-4.1"), { post: always(rowOf("openai-responses", { text: "x" })) });
  expect(usage.cost_usd).toBeGreaterThan(0);
  // 8 of 20 tokens were read from the cache, at a quarter of the price.
  expect(usage.saved_usd).toBeCloseTo(8 * 1.5e-6, 12);
  const saved_usd = (usage.saved_usd ?? 0) / 2;
  expect(row.usage).toEqual({ ...usage, cost_usd: usage.cost_usd / 2, saved_usd });
});

test("an account names API, address and key, and has the headers of a request", async () => {
  const of = (name: string) => modelOf(name).batchAccount?.();
  // printf %s key-of-the-user-123 | sha256sum
  const hash = "46bc0445";
  expect(await of("openai/gpt-4.1")).toEqual({
    id: `openai-responses https://api.openai.com/v1 ${hash}`,
    api: "openai-responses",
    baseUrl: "https://api.openai.com/v1",
    model: "gpt-4.1",
    headers: { authorization: `Bearer ${KEY}` },
    prove: expect.any(Function),
  });
  expect(await of("anthropic/claude-sonnet-4-5")).toMatchObject({
    id: `anthropic-messages https://api.anthropic.com ${hash}`,
    headers: { "x-api-key": KEY, "anthropic-version": "2023-06-01" },
  });
  expect(await of("google/gemini-2.5-pro")).toMatchObject({
    id: `google-generative-ai https://generativelanguage.googleapis.com/v1beta ${hash}`,
    model: "gemini-2.5-pro",
    headers: { "x-goog-api-key": KEY },
  });
});

test("headers of models.json, a bearer token and the key of a named server are those of the account", async () => {
  const headers = { "X-Team": "blue", Authorization: "Basic abc" };
  const own = { "models.json": JSON.stringify({ providers: { mine: { ...MINE, headers } } }) };
  expect(await modelOf("mine/m", own).batchAccount?.()).toMatchObject({
    headers: { "x-team": "blue", authorization: "Basic abc" },
  });
  const env = { ANTHROPIC_AUTH_TOKEN: KEY };
  vi.stubEnv("ANTHROPIC_AUTH_TOKEN", KEY);
  const token = await openModels({ env, agentDir: folderWith({}) })
    .resolve("anthropic/claude-sonnet-4-5")
    .batchAccount?.();
  expect(token?.headers).toMatchObject({ authorization: `Bearer ${KEY}` });
  expect(token?.headers).not.toHaveProperty("x-api-key");
  expect(token?.id.split(" ").at(-1)).toBe("46bc0445");
  const server = { baseUrl: "http://127.0.0.1:9/v1", apiKeyEnv: "MY_KEY" };
  expect(await modelOf("local/qwen/q", {}, server).batchAccount?.()).toMatchObject({
    id: "openai-completions http://127.0.0.1:9/v1 46bc0445",
    model: "qwen/q",
    headers: { authorization: `Bearer ${KEY}` },
  });
});

test("logins and providers whose batches Belay does not know have no account, and refuse what is to be posted", async () => {
  const login = { type: "oauth", access: "t", refresh: "r", expires: Date.now() + 1e9 };
  const auth = { "auth.json": JSON.stringify({ anthropic: login, "github-copilot": login, openrouter: login }) };
  const azure = { ...MINE, baseUrl: "https://x.openai.azure.com/v1" };
  const refused = [
    openModels({ env: {}, agentDir: folderWith(auth) }).resolve("anthropic/claude-sonnet-4-5"),
    openModels({ env: {}, agentDir: folderWith(auth) }).resolve("github-copilot/gpt-4.1"),
    modelOf("openrouter/openai/gpt-4.1"),
    modelOf("mine/m", { "models.json": JSON.stringify({ providers: { mine: azure } }) }),
    modelOf("local/m", {}, { baseUrl: "https://openrouter.ai/api/v1", apiKeyEnv: "MY_KEY" }),
  ];
  for (const model of refused) {
    expect(model.batchAccount).toBeUndefined();
    const answer = await ask(model, { post: () => Promise.reject(new Error("posted")) });
    expect(answer).toMatchObject({ ok: false, charged: true, error: { code: "policy_violation" } });
  }
});

test("an account is of its key, wherever settings give it", () => {
  const [model] = getModels("anthropic");
  if (!model) throw new Error("there is no model of Anthropic");
  const proofOf = (headers: Readonly<Record<string, string>>) => {
    const { id, prove } = batchAccount(anthropic, model, "http://a", { ...AUTHORIZATION, key: null, headers });
    return [id, prove(["x"])];
  };
  const all = [{}, { "x-api-key": "k1" }, { "x-api-key": "k2" }, { authorization: "Bearer k3" }].map(proofOf);
  expect(new Set(all.flat()).size).toBe(8);
  const { id, prove } = batchAccount(anthropic, model, "http://a", { ...AUTHORIZATION, key: "k1" });
  expect(all[1]).toEqual([id, prove(["x"])]);
});

test("an account of Anthropic names all betas that any request of its model has, but for streams", async () => {
  const all = new Set<string>();
  for (const model of getModels("anthropic")) {
    const account = batchAccount(anthropic, model, model.baseUrl, AUTHORIZATION);
    const named = new Set(account.headers["anthropic-beta"]?.split(", "));
    for (const reasoning of [undefined, "low" as const]) {
      const server = await startModelServer([{ status: 400 }]);
      onTestFinished(() => server.close());
      const tools = [{ name: "grep", description: "g", parameters: { type: "object", properties: {} } }];
      const context = { messages: [{ role: "user" as const, content: "hi", timestamp: 0 }], tools };
      const options = { apiKey: "k", maxRetries: 0, ...(reasoning ? { reasoning } : {}) };
      await streamSimple({ ...model, baseUrl: server.url }, context, options).result();
      const sent = String(server.requests[0]?.headers["anthropic-beta"] ?? "").split(",");
      for (const beta of sent) all.add(beta);
      const missing = sent.filter((beta) => beta !== "" && !named.has(beta) && !beta.startsWith("fine-grained"));
      expect(missing, model.id).toEqual([]);
    }
  }
  expect(all.size).toBeGreaterThan(3);
});
