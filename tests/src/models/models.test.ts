import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { findEnvKeys } from "belay-pi-ai/compat";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Thinking } from "../../../runtime/index.ts";
import { ROOT, run } from "../../../scripts/process.ts";
import { PROVIDERS } from "../../../src/models/keys/keys.ts";
import { openModels } from "../../../src/models/models.ts";
import { loadPiAi } from "../../../src/models/pi-ai/catalog.ts";
import type { Model, ModelAnswer } from "../../../src/models/port.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { refusalOf } from "../../support/refusal.ts";
import { messageOf } from "../../support/scripted-model.ts";
import { folderWith, type Tree } from "../../support/tree.ts";

type ModelsOptions = Parameters<typeof openModels>[0];

const KEY = "key-of-the-user-123";

/** Models of a Pi folder of the test's own. */
function open(files: Tree = {}, options: Partial<ModelsOptions> = {}) {
  const agentDir = folderWith(files);
  return { agentDir, models: openModels({ env: {}, agentDir, ...options }) };
}

function ask(model: Model, text = "hi", thinking?: Thinking): Promise<ModelAnswer> {
  const request = {
    ...{ system: null, messages: [{ role: "user", text } as const], tools: [], maxTokens: 50, timeoutMs: 9000 },
    cache: "none",
    ...(thinking ? { thinking } : {}),
  } as const;
  return model.complete(request, new AbortController().signal);
}

async function serve(): Promise<ModelServer> {
  const server = await startModelServer(() => ({ text: "yes", usage: { prompt: 1000, completion: 100 } }));
  onTestFinished(() => server.close());
  return server;
}

function modelsJson(server: ModelServer, provider: object, model: object = {}): Tree {
  const entry = { baseUrl: server.url, api: "openai-completions", models: [{ id: "m", ...model }], ...provider };
  return { "models.json": JSON.stringify({ providers: { mine: entry } }) };
}

/** Sets a variable of the process itself: pi-ai tells by it which of its variables are set. */
function setVariable(name: string, value: string): void {
  vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
}

test("a cell may name models of the provider of the model, of the user's Pi, and those that are named for it", () => {
  const key = { type: "api_key", key: "k" };
  const server = { baseUrl: "http://127.0.0.1:1", api: "openai-completions", models: [{ id: "m" }] };
  const files = {
    "auth.json": JSON.stringify({ mistral: key }),
    "models.json": JSON.stringify({ providers: { mine: server } }),
  };
  const env = { OPENAI_API_KEY: "k", GROQ_API_KEY: "k" };
  const named = ["groq/one", "xai/*"];
  const { models } = open(files, { env, model: "anthropic/claude-sonnet-5", models: named });
  const isRefused = (name: string) => models.refusal?.(name) != null;
  for (const name of ["anthropic/claude-haiku-4-5", "mistral/a", "mine/m", "groq/one", "xai/any/b", "no-provider"])
    expect(isRefused(name), name).toBe(false);
  for (const name of ["openai/gpt-6-sol", "groq/two", "xa/b", "anthropi/c", "openrouter/anthropic/claude"])
    expect(isRefused(name), name).toBe(true);
  expect(models.refusal?.("openai/gpt-6-sol")).toMatchObject({
    code: "policy_violation",
    suggestion: 'Leave `model` out, or name it in `models: ["openai/gpt-6-sol"]`.',
  });
  expect(open({}, { env }).models.refusal?.("openai/gpt-6-sol")).toMatchObject({ code: "policy_violation" });
  expect(models.refusal?.("openai/x;y$&")?.suggestion).toContain("'openai/x;y$&'");
  expect(open({}, { env, model: "local/a", baseUrl: "http://127.0.0.1:1" }).models.refusal?.("b/c")).toBeNull();
});

test("a name without its provider gets whole names, those of a provider with a key first", () => {
  const refusal = (env: ModelsOptions["env"]) => refusalOf(() => open({}, { env }).models.resolve("claude-haiku-4-5"));
  expect(refusal({})).toMatchObject({
    code: "no_model_configured",
    suggestion: expect.stringMatching(/^Did you mean anthropic\/claude-haiku-4-5, /),
  });
  expect(refusal({ OPENROUTER_API_KEY: "k" })).toMatchObject({
    suggestion: expect.stringMatching(/^Did you mean openrouter\/anthropic\/claude-haiku-4\.5, anthropic\//),
  });
});

test("without a model the refusal names the option", () => {
  const { models } = open();
  expect(models.fallback).toBeNull();
  expect(refusalOf(() => models.resolve(null))).toMatchObject({
    code: "no_model_configured",
    message: "no model is configured",
    suggestion: expect.stringMatching(
      /^Set the key of a provider \(ANTHROPIC_API_KEY, .*, XAI_API_KEY\), or set `baseUrl` for a server of your own\.$/,
    ),
  });
  const keyed = open({}, { env: { OPENAI_API_KEY: KEY, XAI_API_KEY: KEY } }).models;
  expect(refusalOf(() => keyed.resolve(null)).suggestion).toBe(
    "Set `model` to PROVIDER/ID, for example openai/gpt-6-luna or xai/grok-4.7: there are keys for these.",
  );
  const atServer = open({}, { baseUrl: "http://127.0.0.1:1/v1" }).models;
  expect(refusalOf(() => atServer.resolve(null)).suggestion).toBe(
    "Set `model` to PROVIDER/ID, for example local/NAME.",
  );
});

test("an unknown name is refused with the nearest known ones, those of models.json among them", () => {
  const providers = {
    mine: { baseUrl: "http://127.0.0.1:1/v1", api: "openai-completions", models: [{ id: "corpus-reader" }] },
  };
  const { models } = open({ "models.json": JSON.stringify({ providers }) });
  expect(refusalOf(() => models.resolve("gpt-4o")).suggestion).toContain("PROVIDER/ID");
  expect(refusalOf(() => models.resolve("nope/x"))).toMatchObject({
    message: "unknown provider in nope/x",
    suggestion: expect.stringMatching(
      /^Providers are anthropic, openai, .* and others\. Any name goes if you set `baseUrl`/,
    ),
  });
});

test("an id that no list has is asked for as it is, as the model of its provider that is named most like it", async () => {
  const server = await serve();
  const overrides = { anthropic: { baseUrl: server.url } };
  const files = { "models.json": JSON.stringify({ providers: overrides }) };
  const { models } = open(files, { env: { ANTHROPIC_API_KEY: KEY } });
  const model = models.resolve("anthropic/claude-opus-99");
  expect(model).toMatchObject({ id: "anthropic/claude-opus-99", price: null, window: null, unlisted: true });
  await ask(model);
  expect(JSON.parse(server.requests[0]?.sent ?? "")).toMatchObject({ model: "claude-opus-99", max_tokens: 50 });
  expect(models.unlisted?.(["anthropic/claude-opus-99", "anthropic/claude-opus-5"])).toEqual([
    "anthropic/claude-opus-99",
  ]);
});

test("an id that a provider of models.json does not list is sent in that provider's protocol", async () => {
  const server = await serve();
  const { models } = open(modelsJson(server, { apiKey: KEY }));
  expect(await ask(models.resolve("mine/another"))).toMatchObject({ ok: true });
  expect(server.requests[0]?.body.model).toBe("another");
});

test("a 404 for an id that no list has names the nearest ones", async () => {
  const server = await startModelServer(() => ({ status: 404 }));
  onTestFinished(() => server.close());
  const files = { "models.json": JSON.stringify({ providers: { openrouter: { baseUrl: server.url } } }) };
  const { models } = open(files, { env: { OPENROUTER_API_KEY: KEY } });
  const error = { suggestion: expect.stringContaining("did you mean openrouter/openai/gpt-4o-mini, ") };
  expect(await ask(models.resolve("openrouter/openai/gpt-4o-minni"))).toMatchObject({ ok: false, error });
});

test("the price that a user tells holds where no list knows one", () => {
  const listed = { OPENAI_API_KEY: KEY };
  const { models } = open({}, { env: listed, price: "3/15" });
  expect(models.price("openai/gpt-of-tomorrow")).toEqual({ input: 3, output: 15 });
  expect(models.price("openai/gpt-4o-mini")).toEqual({ input: 0.15, output: 0.6 });
  const atServer = open({}, { baseUrl: "http://127.0.0.1:1/v1", price: "0.5/2" }).models;
  expect(atServer.price("local/x")).toEqual({ input: 0.5, output: 2 });
});

test("a model's price has the tiers of long prompts", () => {
  const { models } = open();
  const tiered = loadPiAi()
    .getModels("openai")
    .find(({ cost }) => cost.tiers);
  if (!tiered) throw new Error("pi-ai lists no model of OpenAI with tiers");
  const [tier] = tiered.cost.tiers ?? [];
  expect(models.price(`openai/${tiered.id}`)?.tiers).toEqual([
    { above: tier?.inputTokensAbove, input: tier?.input, output: tier?.output },
  ]);
});

test("samplingParams of models.json are sent", async () => {
  const server = await serve();
  const { models } = open(modelsJson(server, { apiKey: KEY }, { samplingParams: { temperature: 0.2, top_k: 7 } }));
  await ask(models.resolve("mine/m"));
  expect(JSON.parse(server.requests[0]?.sent ?? "")).toMatchObject({ temperature: 0.2, top_k: 7 });
});

test.each([
  [undefined, undefined],
  ["off", undefined],
  ["low", "low"],
  ["max", "high"],
] as const)("a server of one's own asked at the level %j gets reasoning_effort %j", async (thinking, effort) => {
  const server = await serve();
  const { models } = open({}, { baseUrl: server.url });
  await ask(models.resolve("local/x"), "hi", thinking);
  const { reasoning_effort, max_tokens } = JSON.parse(server.requests[0]?.sent ?? "");
  expect({ reasoning_effort, max_tokens }).toEqual({ reasoning_effort: effort, max_tokens: 50 });
});

test("a bearer token for a gateway is sent as one, and a key goes before it", async () => {
  const server = await serve();
  const files = { "models.json": JSON.stringify({ providers: { anthropic: { baseUrl: server.url } } }) };
  const token = "token-of-a-gateway";
  for (const env of [{ ANTHROPIC_AUTH_TOKEN: token }, { ANTHROPIC_AUTH_TOKEN: token, ANTHROPIC_API_KEY: KEY }])
    await ask(open(files, { env }).models.resolve("anthropic/claude-opus-5"));
  const [first, second] = server.requests.map(({ headers }) => headers);
  expect(first).toMatchObject({ authorization: `Bearer ${token}` });
  expect(first?.["x-api-key"]).toBeUndefined();
  expect(second).toMatchObject({ "x-api-key": KEY });
  expect(second?.authorization).toBeUndefined();
});

test("the default model of each common provider is listed", () => {
  for (const [provider, { model: id }] of Object.entries(PROVIDERS)) {
    expect(open().models.price(`${provider}/${id}`), `${provider}/${id}`).not.toBeNull();
  }
});

test("a missing key names its variable, whatever the provider", () => {
  for (const provider of loadPiAi().getProviders()) {
    if (["amazon-bedrock", "google-vertex"].includes(provider)) continue;
    // pi-ai has an adapter for it, and lists none of its models.
    if (loadPiAi().getModels(provider).length === 0) continue;
    const { suggestion } = refusalOf(() => open().models.resolve(`${provider}/any`));
    expect(suggestion, provider).toMatch(/^(?:Set [A-Z0-9_]+, name the variable|Name the variable .*, or run pi)/);
  }
});

test("a listed model has its price and its key from pi-ai's variable", () => {
  setVariable("OPENAI_API_KEY", KEY);
  const { models } = open({}, { env: { OPENAI_API_KEY: KEY }, model: "openai/gpt-4o-mini" });
  expect(models.fallback).toBe("openai/gpt-4o-mini");
  expect(models.resolve(null)).toMatchObject({ id: "openai/gpt-4o-mini", price: { input: 0.15, output: 0.6 } });
  expect(models.resolve(null)).toBe(models.resolve("openai/gpt-4o-mini"));
});

test("without a key the refusal names the provider and the ways", () => {
  const { code, message, suggestion } = refusalOf(() => open().models.resolve("openai/gpt-4o-mini"));
  expect({ code, message }).toEqual({ code: "no_model_configured", message: "no API key for the provider openai" });
  expect(suggestion).toBe(
    "Set OPENAI_API_KEY, name the variable that holds the key in `apiKeyEnv`, or run pi and /login.",
  );
  expect(refusalOf(() => open().models.resolve("github-copilot/gpt-5.4")).suggestion).toMatch(
    /^Set COPILOT_GITHUB_TOKEN/,
  );
  const named = open({}, { apiKeyEnv: "MY_KEY" }).models;
  expect(refusalOf(() => named.resolve("openai/gpt-4o-mini")).message).toBe(
    "the environment variable MY_KEY is not set",
  );
});

const reference = (name: string) => `\${${name}}`;

test.each([
  reference("MY_KEY"),
  reference("env:MY_KEY"),
  reference("input:MY_KEY"),
  reference("{ secrets.MY_KEY }"),
  "{env:MY_KEY}",
  "YOUR_KEY",
])("the text %s is no key: a client has put none in its place", (value) => {
  const problem =
    value === "YOUR_KEY"
      ? "it has the text YOUR_KEY, in place of which the key belongs"
      : `the program that started this one passed on the text ${value} instead of the variable's value`;
  const named = open({}, { env: { MY_KEY: value }, apiKeyEnv: "MY_KEY" }).models;
  expect(refusalOf(() => named.resolve("openai/gpt-4o-mini"))).toMatchObject({
    code: "no_model_configured",
    message: `the environment variable MY_KEY is not set: ${problem}`,
    suggestion: "Put the API key itself there, or name the variable that holds the key in `apiKeyEnv`.",
  });
  setVariable("OPENAI_API_KEY", value);
  const usual = open({}, { env: { OPENAI_API_KEY: value } }).models;
  expect(refusalOf(() => usual.resolve("openai/gpt-4o-mini")).message).toContain(
    `OPENAI_API_KEY is not set: ${problem}`,
  );
});

test.each(Object.entries(PROVIDERS).map(([name, { variable }]) => [name, variable]))(
  "pi-ai takes the key of %s from %s",
  (provider, variable) => {
    setVariable(variable, KEY);
    expect(findEnvKeys(provider)).toContain(variable);
  },
);

test("any server: the name is free, a placeholder is the key, and keys of providers stay here", async () => {
  setVariable("OPENAI_API_KEY", KEY);
  const server = await serve();
  const auth = JSON.stringify({ openai: { type: "api_key", key: KEY } });
  const { models } = open({ "auth.json": auth }, { env: { OPENAI_API_KEY: KEY }, baseUrl: server.url });
  for (const name of ["local/scripted", "openai/gpt-4o-mini", "a/b/c"]) {
    expect(models.resolve(name)).toMatchObject({ id: name, price: null });
    expect(await ask(models.resolve(name))).toMatchObject({ ok: true, usage: { input: 1000, cost_usd: 0 } });
  }
  expect(server.requests.map((request) => request.body.model)).toEqual(["scripted", "gpt-4o-mini", "b/c"]);
  expect(server.requests.map((request) => request.headers.authorization)).toEqual(Array(3).fill("Bearer none"));
  expect(JSON.stringify(server.requests)).not.toContain(KEY);
  expect(server.requests[0]?.body.max_tokens).toBe(50);
});

test("any server with a named variable gets that key", async () => {
  const server = await serve();
  const { models } = open({}, { env: { MY_KEY: KEY }, apiKeyEnv: "MY_KEY", baseUrl: server.url, model: "local/x" });
  expect(await ask(models.resolve(null))).toMatchObject({ ok: true });
  expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
});

test("an address that is none, or holds a password, is refused without repeating it", () => {
  expect(refusalOf(() => open({}, { baseUrl: "127.0.0.1:80" })).code).toBe("invalid_argument");
  const { code, message } = refusalOf(() => open({}, { baseUrl: "http://me:hunter22@host/v1" }));
  expect(code).toBe("invalid_argument");
  expect(message).not.toContain("hunter22");
});

test("a model of models.json: address, key, headers, price", async () => {
  const server = await serve();
  const provider = { apiKey: "MINE_KEY", authHeader: true, headers: { "x-team": "TEAM", "x-plain": "plain" } };
  const cost = { input: 2, output: 10, cacheRead: 0, cacheWrite: 0 };
  const files = modelsJson(server, provider, { cost, headers: { "x-plain": "of the model" } });
  const model = open(files, { env: { MINE_KEY: KEY, TEAM: "blue" } }).models.resolve("mine/m");
  expect(model.price).toEqual({ input: 2, output: 10 });
  const answer = await ask(model);
  expect(answer).toMatchObject({ ok: true, charged: true });
  expect(answer.usage.cost_usd).toBeCloseTo(0.003, 10);
  const headers = { authorization: `Bearer ${KEY}`, "x-team": "blue", "x-plain": "of the model" };
  expect(server.requests[0]?.headers).toMatchObject(headers);
});

test("a provider with authHeader gets its key as a bearer token, whatever its protocol sends", async () => {
  const server = await serve();
  const provider = { api: "anthropic-messages", apiKey: KEY };
  await ask(open(modelsJson(server, provider)).models.resolve("mine/m"));
  await ask(open(modelsJson(server, { ...provider, authHeader: true })).models.resolve("mine/m"));
  expect(server.requests.map((request) => request.headers["x-api-key"])).toEqual([KEY, KEY]);
  expect(server.requests.map((request) => request.headers.authorization)).toEqual([undefined, `Bearer ${KEY}`]);
});

test("a model of models.json without a price has none", async () => {
  const server = await serve();
  const { models } = open(modelsJson(server, { apiKey: "literal-key" }));
  expect(models.resolve("mine/m").price).toBeNull();
});

test("models.json moves a listed provider to another address and changes its models", async () => {
  setVariable("GROQ_API_KEY", KEY);
  const server = await serve();
  const groq = {
    baseUrl: server.url,
    modelOverrides: { "llama-3.1-8b-instant": { maxTokens: 20, cost: { input: 7 } } },
  };
  const { models } = open(
    { "models.json": JSON.stringify({ providers: { groq } }) },
    { env: { GROQ_API_KEY: KEY }, model: "groq/llama-3.1-8b-instant" },
  );
  expect(models.resolve(null).price?.input).toBe(7);
  expect(await ask(models.resolve(null))).toMatchObject({ ok: true });
  expect(server.requests[0]?.body).toMatchObject({ model: "llama-3.1-8b-instant", max_completion_tokens: 20 });
});

test("keys are taken in the order: named variable, pi-ai's variables, auth.json, models.json, login", async () => {
  setVariable("GROQ_API_KEY", "in-the-environment");
  const server = await serve();
  const login = { type: "oauth", access: "of-the-login", refresh: "r", expires: 2000 };
  const groq = (key: object) => ({ baseUrl: server.url, ...key });
  const key = async (auth: object, provider: object, options: Partial<ModelsOptions>) => {
    const files = {
      "auth.json": JSON.stringify({ groq: auth }),
      "models.json": JSON.stringify({ providers: { groq: groq(provider) } }),
    };
    const { models } = open(files, { now: () => 1000, model: "groq/llama-3.1-8b-instant", ...options });
    await ask(models.resolve(null));
    return server.requests.at(-1)?.headers.authorization?.replace("Bearer ", "");
  };
  const inAuth = { type: "api_key", key: "in-auth-json" };
  const inModels = { apiKey: "in-models-json" };
  const env = { GROQ_API_KEY: "in-the-environment", MINE: "named-by-the-user" };
  expect(await key(inAuth, inModels, { env, apiKeyEnv: "MINE" })).toBe("named-by-the-user");
  expect(await key(inAuth, inModels, { env })).toBe("in-the-environment");
  expect(await key(inAuth, inModels, {})).toBe("in-auth-json");
  expect(await key(login, inModels, {})).toBe("in-models-json");
  expect(await key(login, {}, {})).toBe("of-the-login");
  expect(await key(login, { apiKey: "!command" }, {})).toBe("of-the-login");
});

test("a key that is a command is refused, and so is a header", async () => {
  const server = await serve();
  const keyed = open(modelsJson(server, { apiKey: "!pass show mine" })).models;
  const { code, message } = refusalOf(() => keyed.resolve("mine/m"));
  expect(code).toBe("no_model_configured");
  expect(message).toBe("the key of mine in models.json is a command, and Belay runs no commands of Pi's files");
  const headed = open(modelsJson(server, { apiKey: "literal-key", headers: { "x-token": "!pass show mine" } })).models;
  expect(refusalOf(() => headed.resolve("mine/m")).message).toContain("the header x-token of mine");
});

test("a login that has expired is refused, and one that expires later is read again, never renewed", async () => {
  const server = await serve();
  let now = 1000;
  const login = (access: string, expires: number) =>
    JSON.stringify({ mine: { type: "oauth", access, refresh: "r", expires } });
  const files = { ...modelsJson(server, {}), "auth.json": login("first-login", 2000) };
  const { models, agentDir } = open(files, { now: () => now });
  const model = models.resolve("mine/m");
  expect(await ask(model)).toMatchObject({ ok: true });
  now = 2000;
  const expired = { code: "auth_expired", message: "the login for mine has expired", retriable: false };
  const error = { ...expired, suggestion: "Run pi and /login." };
  expect(await ask(model)).toMatchObject({ ok: false, charged: true, error });
  writeFileSync(join(agentDir, "auth.json"), login("second-login", 3000));
  expect(await ask(model)).toMatchObject({ ok: true });
  const keys = server.requests.map((request) => request.headers.authorization);
  expect(keys).toEqual(["Bearer first-login", "Bearer second-login"]);
  now = 3000;
  const again = openModels({ env: {}, agentDir, now: () => now });
  expect(refusalOf(() => again.resolve("mine/m"))).toMatchObject({ code: "auth_expired" });
});

test("a login that knows its own address is sent there", async () => {
  const access = "tid=1;exp=2;proxy-ep=proxy.office.invalid;";
  const auth = { "github-copilot": { type: "oauth", access, refresh: "r", expires: 2000 } };
  const { models } = open({ "auth.json": JSON.stringify(auth) }, { now: () => 1000 });
  const answer = await ask(models.resolve("github-copilot/gpt-5.4"));
  expect(messageOf(answer)).toContain("api.office.invalid");
});

test("pi-ai is not loaded before a model is resolved", async () => {
  const program = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
    const { openModels } = await import("./src/models/models.ts");
    const models = openModels({ env: {}, agentDir: "/nowhere", model: "openai/gpt-4o-mini" });
    const count = () => loaded.filter((url) => url.includes("/belay-pi-ai/dist/compat")).length;
    const before = count();
    try { models.resolve(null); } catch (error) { console.log(before, count() > 0, error.code); }`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd: ROOT, env: {} });
  expect(stdout.trim()).toBe("0 true no_model_configured");
});

test("tokens of thinking that a provider reports are a part of the output", async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 7, completion_tokens_details: { reasoning_tokens: 5 } };
  const events = [
    { id: "1", choices: [{ index: 0, delta: { role: "assistant", content: "yes" } }] },
    { id: "1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage },
  ];
  const body = [...events.map((event) => JSON.stringify(event)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("");
  const server = await startModelServer(() => ({ body, headers: { "content-type": "text/event-stream" } }));
  onTestFinished(() => server.close());
  const { models } = open({}, { baseUrl: server.url });
  const answer = await ask(models.resolve("local/x"), "hi", "high");
  expect(answer).toMatchObject({ ok: true, usage: { input: 10, output: 7, reasoning: 5 } });
});
