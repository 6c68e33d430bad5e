import { type Api, getModel, type Model as PiModel } from "belay-pi-ai/compat";
import { expect, onTestFinished, test } from "vitest";
import { openSession } from "../../../../src/index.ts";
import { loadPiAi } from "../../../../src/models/pi-ai/catalog.ts";
import { piAiModel } from "../../../../src/models/pi-ai/model.ts";
import { openRequests } from "../../../../src/models/sub-call/requests.ts";
import { startModelServer } from "../../../support/model-server.ts";
import { AUTHORIZATION, ask } from "../../../support/scripted-model.ts";
import { folderWith } from "../../../support/tree.ts";

/** OpenAI's SDK is told of a cache only at OpenAI's own address. */
const MODELS: Readonly<Record<string, (url: string) => PiModel<Api>>> = {
  anthropic: (url) => ({ ...getModel("anthropic", "claude-sonnet-4-5"), baseUrl: url }),
  "openai-responses": (url) => ({ ...getModel("openai", "gpt-4.1"), baseUrl: url }),
  "openai-completions": (url) => ({
    ...getModel("openai", "gpt-4.1"),
    api: "openai-completions",
    baseUrl: `${url}/api.openai.com`,
  }),
};

const TOOL = { name: "rlm_exec", description: "Runs a cell.", parameters: { type: "object", properties: {} } };

interface Kind {
  readonly conversation?: string;
  readonly tools: readonly (typeof TOOL)[];
}
const PLAIN: Kind = { tools: [] };
const SUB_AGENT: Kind = { conversation: "exec-1.1", tools: [TOOL] };
const TURN: Kind = { conversation: "ask-1", tools: [TOOL] };
const FENCED: Kind = { conversation: "ask-1", tools: [] };

/** The request of this kind as a server sees it. */
async function sent(api: string, { tools, ...options }: Kind) {
  const server = await startModelServer([{ status: 400 }]);
  onTestFinished(() => server.close());
  const model = MODELS[api]?.(server.url);
  if (!model) throw new Error(`no model of ${api}`);
  const parts = {
    budget: { reserve: async () => ({ settle: () => {} }) },
    clock: { monotonic: () => performance.now(), now: () => 0 },
    random: () => 0.5,
    sleep: async () => {},
  };
  const asked = piAiModel({ model, price: null, window: null, authorize: () => AUTHORIZATION, load: loadPiAi });
  const until = { deadline: performance.now() + 9000, signal: new AbortController().signal };
  const requests = openRequests(asked, { max_tokens: 100, ...options }, parts, until);
  await requests.ask("You answer.", [{ role: "user", text: "Which?" }], tools);
  const [request] = server.requests;
  if (!request) throw new Error("nothing was sent");
  return { body: JSON.parse(request.sent), headers: request.headers };
}

test("Anthropic is told to cache the conversations of asks and sub-agents, and nothing of a plain sub-call", async () => {
  expect(JSON.stringify((await sent("anthropic", PLAIN)).body)).not.toContain("cache_control");
  for (const kind of [SUB_AGENT, TURN, FENCED]) {
    const { body } = await sent("anthropic", kind);
    const short = { cache_control: { type: "ephemeral" } };
    expect(body.system.at(-1)).toMatchObject(short);
    expect(body.messages.at(-1).content.at(-1)).toMatchObject(short);
    if (kind.tools.length > 0) expect(body.tools.at(-1)).toMatchObject(short);
    expect(JSON.stringify(body)).not.toContain('"ttl"');
  }
});

test.each(["openai-responses", "openai-completions"])(
  "%s is told which conversation a turn or sub-agent is of",
  async (api) => {
    expect((await sent(api, PLAIN)).body).not.toHaveProperty("prompt_cache_key");
    expect((await sent(api, SUB_AGENT)).body).toMatchObject({ prompt_cache_key: "exec-1.1" });
    expect((await sent(api, TURN)).body).toMatchObject({ prompt_cache_key: "ask-1" });
    expect((await sent(api, FENCED)).body).toMatchObject({ prompt_cache_key: "ask-1" });
  },
);

test("all requests of a sub-agent name its call as their conversation, and those of a plain call name none", async () => {
  const looks = { tools: [{ id: "u", name: "list_dir", arguments: { path: "." } }] };
  const server = await startModelServer(({ prompt, body }) =>
    prompt === "Look" && body.messages.length === 2 ? looks : { text: "done" },
  );
  onTestFinished(() => server.close());
  process.env.CACHE_KEY = "k";
  const address = { baseUrl: `${server.url}/api.openai.com`, apiKeyEnv: "CACHE_KEY" };
  await using session = await openSession({ model: "local/m", roots: [folderWith()], ...address });
  const { exec_id } = await session.exec(
    'await llm_query("Look"); await llm_query("Look"); await llm_query("plain", { tools: [] })',
  );
  const keys = server.requests.map(({ sent }) => JSON.parse(sent).prompt_cache_key);
  expect(keys).toEqual([...Array(2).fill(`${exec_id}.1`), ...Array(2).fill(`${exec_id}.2`), undefined]);
});

test("a conversation is sent whole each time, and goes on in no thread that the provider keeps", async () => {
  const said = 'data: {"type":"message_start","message":{"id":"m1","usage":{"input_tokens":1,"output_tokens":1}}}';
  const body = `event: message_start\n${said}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n`;
  const server = await startModelServer(() => ({ body }));
  onTestFinished(() => server.close());
  const model = { ...getModel("anthropic", "claude-sonnet-5-5"), baseUrl: server.url };
  const threaded = { ...model, compat: { ...model.compat, supportsMessageThreads: true } };
  const parts = { price: null, window: null, authorize: () => AUTHORIZATION, load: loadPiAi };
  await ask(piAiModel({ model: threaded, ...parts }), { cache: "short", conversation: "ask-1" });
  expect(server.requests).toHaveLength(1);
  expect(JSON.parse(server.requests[0]?.sent ?? "")).not.toHaveProperty("thread");
});
