import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { Json } from "../../../runtime/index.ts";
import { openModels } from "../../../src/models/models.ts";
import type { Model } from "../../../src/models/port.ts";
import { runSubCall } from "../../../src/models/sub-call/sub-call.ts";
import { taskThread } from "../../../src/models/tasks/task-thread.ts";
import { ask, messageOf } from "../../support/scripted-model.ts";

/** What a path of a server answers with: its JSON, for a body that was sent; undefined is 404. */
type Route = (body: { readonly max_tokens?: number; readonly messages?: readonly unknown[] }) => unknown;

/** An answer of so many tokens, which ends for a reason. */
interface Said {
  readonly text: string;
  readonly finish: string;
  readonly prompt: number;
  readonly completion: number;
  readonly thinking?: string;
}

interface ChatRequest {
  readonly max_tokens: number;
}

/** A server with these paths beside that of chat completions, and the model `local/m` there. */
async function serverOf(routes: Readonly<Record<string, Route>>, chat: (body: ChatRequest) => Said | string) {
  const paths: string[] = [];
  const limits: number[] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? "";
    const pieces = await Array.fromAsync(request);
    const text = Buffer.concat(pieces).toString();
    const body = text === "" ? {} : JSON.parse(text);
    if (path === "/v1/chat/completions") {
      limits.push(body.max_tokens);
      const said = chat(body);
      if (typeof said === "string") {
        response.writeHead(400, JSON_TYPE).end(JSON.stringify({ error: { message: said } }));
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" }).end(eventsOf(said));
      return;
    }
    paths.push(path);
    const answer = routes[path]?.(body);
    if (answer === undefined) response.writeHead(404).end();
    else response.writeHead(200, JSON_TYPE).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const address = server.address();
  const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`;
  const model = openModels({ model: "local/m", baseUrl, env: {} }).resolve(null);
  return { model, paths, limits };
}

const JSON_TYPE = { "content-type": "application/json" };

function eventsOf({ text, thinking, finish, prompt, completion }: Said): string {
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  const deltas = [...(thinking === undefined ? [] : [{ reasoning_content: thinking }]), { content: text }];
  const parts = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    { choices: [], usage },
  ];
  return `${parts.map((part) => `data: ${JSON.stringify({ id: "c", model: "m", ...part })}\n\n`).join("")}data: [DONE]\n\n`;
}

const DONE: Said = { text: "ok", finish: "stop", prompt: 20, completion: 2 };
const listOf = (entry: object) => ({ "/v1/models": () => ({ data: [{ id: "m", ...entry }, { id: "other" }] }) });
const LLAMA = { owned_by: "llamacpp", meta: { n_ctx: 2048, n_ctx_train: 32_768 } };

const SERVERS: readonly [string, Readonly<Record<string, Route>>, number | null][] = [
  ["vLLM", listOf({ owned_by: "vllm", max_model_len: 4096 }), 4096],
  ["llama.cpp", listOf(LLAMA), 2048],
  [
    "an older llama.cpp",
    {
      ...listOf({ owned_by: "llamacpp", meta: { n_ctx_train: 32_768 } }),
      "/props": () => ({ default_generation_settings: { n_ctx: 1024 } }),
    },
    1024,
  ],
  [
    "LM Studio",
    {
      ...listOf({}),
      "/api/v0/models": () => ({ data: [{ id: "m", max_context_length: 99, loaded_context_length: 50 }] }),
    },
    50,
  ],
  [
    "Ollama with the model loaded",
    { ...listOf({}), "/api/ps": () => ({ models: [{ name: "m:latest", context_length: 4000 }] }) },
    4000,
  ],
  [
    "Ollama",
    {
      ...listOf({}),
      "/api/ps": () => ({ models: [] }),
      "/api/show": () => ({ parameters: 'stop "x"\nnum_ctx    8192', model_info: { "llama.context_length": 131_072 } }),
    },
    8192,
  ],
  [
    "Ollama without a window in its Modelfile",
    {
      ...listOf({}),
      "/api/ps": () => ({ models: [] }),
      "/api/show": () => ({ model_info: { "q.context_length": 777 } }),
    },
    777,
  ],
  ["one that tells nothing", listOf({}), null],
  ["one that lists nothing", {}, null],
  [
    "one that tells nonsense",
    { "/v1/models": () => ({ data: [null, { id: "m", max_model_len: -1, meta: 7 }] }) },
    null,
  ],
];

test.each(SERVERS)("the window of a model is read from %s", async (_server, routes, window) => {
  const { model, paths } = await serverOf(routes, () => DONE);
  expect(await model.askWindow?.()).toBe(window);
  const asked = paths.length;
  expect(await model.askWindow?.()).toBe(window);
  expect(paths).toHaveLength(asked);
});

test("a server that is away, or that hangs, has no known window, and costs a second at most", async () => {
  const { model } = openAt("http://127.0.0.1:1/v1");
  expect(await model.askWindow?.()).toBeNull();
});

const openAt = (baseUrl: string) => ({ model: openModels({ model: "local/m", baseUrl, env: {} }).resolve(null) });

test("a request asks for no more than the window leaves, by the server's own count of its tokens", async () => {
  const counted: unknown[] = [];
  const routes = {
    ...listOf(LLAMA),
    "/v1/chat/completions/input_tokens": (body: object) => {
      counted.push(body);
      return { input_tokens: 700 };
    },
  };
  const { model, limits } = await serverOf(routes, () => DONE);
  await ask(model, { maxTokens: 4096, system: "Be brief." });
  await ask(model, { maxTokens: 100 });
  expect(limits).toEqual([2048 - 700 - 8, 100]);
  // The second leaves room by any estimate.
  expect(counted).toEqual([{ messages: [{ role: "user", content: "Be brief.\nhi" }], tools: [] }]);
});

test("without a tokenizer the tokens of a prompt are estimated, and then by what the server has counted", async () => {
  const { model, limits } = await serverOf(listOf({ max_model_len: 2000 }), () => ({ ...DONE, prompt: 600 }));
  const messages = [{ role: "user", text: "word ".repeat(600) }] as const;
  await ask(model, { maxTokens: 4096, messages });
  await ask(model, { maxTokens: 4096, messages });
  const [first = 0, second] = limits;
  expect(first).toBeLessThan(1100);
  expect(second).toBe(2000 - 600);
});

test("a prompt that has too many tokens at eight characters each, or by the server's count, is not sent", async () => {
  const routes = { ...listOf(LLAMA), "/v1/chat/completions/input_tokens": () => ({ input_tokens: 2100 }) };
  const { model, limits } = await serverOf(routes, () => DONE);
  const long = await ask(model, { messages: [{ role: "user", text: "x".repeat(8 * 2100) }] });
  expect(long).toMatchObject({
    ok: false,
    isTooLong: true,
    charged: true,
    error: { code: "window_full", retriable: false },
  });
  expect(messageOf(long)).toBe("local/m: the prompt has at least 2102 tokens, and the window of the model 2048");
  const dense = await ask(model, { messages: [{ role: "user", text: "x".repeat(6000) }], maxTokens: 500 });
  expect(messageOf(dense)).toBe("local/m: the prompt has 2108 tokens, and the window of the model 2048");
  expect(limits).toEqual([]);
});

/** Refusals of a request whose prompt of 1000 tokens fits into a window of 4096, by its limit of tokens. */
const REFUSALS: readonly ((limit: number) => string)[] = [
  (limit) =>
    `This model's maximum context length is 4096 tokens. However, you requested ${1000 + limit} tokens (1000 in the messages, ${limit} in the completion). Please reduce the length of the messages or completion.`,
  (limit) =>
    `'max_tokens' or 'max_completion_tokens' is too large: ${limit}. This model's maximum context length is 4096 tokens and your request has 1000 input tokens (${limit} > 4096 - 1000).`,
  (limit) =>
    `Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of ${1000 + limit} tokens: 1000 tokens from the input messages and ${limit} tokens for the completion.`,
  (limit) =>
    `input length and \`max_tokens\` exceed context limit: 1000 + ${limit} > 4096, decrease input length or \`max_tokens\` and try again`,
];

test.each(REFUSALS)("%# a refusal that names the window: the request goes again with what is left", async (words) => {
  const chat = ({ max_tokens }: ChatRequest) => (max_tokens > 3096 ? words(max_tokens) : DONE);
  const { model, limits } = await serverOf({}, chat);
  const outcome = await called(model, { max_tokens: 4000 });
  expect(outcome).toMatchObject({ ok: true, value: "ok", usage: { input: 20, output: 2 } });
  expect(limits).toEqual([4000, 3096]);
});

/** A sub-call without tools. */
function called(model: Model, call: { readonly max_tokens: number; readonly schema?: Json }) {
  const whole = {
    ...{ prompt: "hi", system: null, tools: [], schema: null, or_text: false, timeout_ms: 9000, model: null },
    ...{ thinking: "off" as const, ...call },
  };
  const parts = {
    ...{ models: { fallback: model.id, resolve: () => model, price: () => null }, tools: [], thread: taskThread() },
    ...{ conversation: "c", maxTurns: 5, random: () => 0.5, sleep: async () => {} },
    budget: { reserve: async () => ({ settle: () => {} }) },
    clock: { now: () => 0, monotonic: () => performance.now() },
  };
  return runSubCall(whole, { ...parts, sleep: () => new Promise(() => {}) }, new AbortController().signal);
}

test("an answer that fills the window says so with its numbers, and one that is cut before does not", async () => {
  const full = { text: "so on", finish: "length", prompt: 48, completion: 2000 };
  const { model } = await serverOf(listOf({ max_model_len: 2048 }), () => full);
  expect(await called(model, { max_tokens: 4096 })).toMatchObject({
    error: {
      code: "window_full",
      message:
        "the window of 2048 tokens is full: 48 are the prompt and 2000 the answer, which was cut after 5 characters",
    },
  });
  const cut = await serverOf(listOf({ max_model_len: 2048 }), () => ({ ...full, completion: 100 }));
  expect(await called(cut.model, { max_tokens: 100 })).toMatchObject({
    error: { code: "truncated_answer", message: "the answer was cut at max_tokens (100), after 5 characters" },
  });
});

test("an answer of thinking alone says so, and a call with a schema leaves room beside it", async () => {
  const bodies: object[] = [];
  const thought = { text: "", thinking: "Hm.", finish: "length", prompt: 20, completion: 300 };
  const { model } = await serverOf({}, (body) => {
    bodies.push(body);
    return thought;
  });
  expect(await called(model, { max_tokens: 300 })).toMatchObject({
    error: {
      code: "truncated_answer",
      message: "the answer was cut at max_tokens (300), while the model only thought",
      suggestion: expect.stringMatching(/think less/),
    },
  });
  await called(model, { max_tokens: 300, schema: { type: "object" } });
  const room = { chat_template_kwargs: { enable_thinking: false }, thinking_budget_tokens: 150 };
  expect(bodies[0]).not.toMatchObject(room);
  expect(bodies[1]).toMatchObject(room);
});
