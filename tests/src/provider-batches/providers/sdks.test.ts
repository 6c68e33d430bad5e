import { readFileSync } from "node:fs";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI, { toFile } from "openai";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { BATCH_APIS, type BatchApi, clientOf } from "../../../../src/provider-batches/providers/index.ts";
import { type BatchServer, startBatchServer } from "../../../support/batch-server/index.ts";
import { accountAt, BATCH_ID, bodyOf, send } from "../../../support/batch-server/requests.ts";
import { folderWith } from "../../../support/tree.ts";

// The official SDKs are the oracle of the scripted server: what they read right, a client may rely on.

let fetched: string[] = [];

beforeEach(() => {
  fetched = [];
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", (...[input, init]: Parameters<typeof fetch>) => {
    const { protocol, hostname } = new URL(input instanceof Request ? input.url : input);
    if (protocol !== "data:") fetched.push(hostname);
    return fetch(input, init);
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  expect(new Set(fetched)).toEqual(new Set(["127.0.0.1"]));
});

const EXPECTED = [
  [`${BATCH_ID}-0`, "re a"],
  [`${BATCH_ID}-1`, "re b"],
];

interface Sdk {
  /** Makes a batch of the prompts a and b; resolves with its name. */
  create(): Promise<string>;
  /** The provider's word for the batch's state. */
  state(batch: string): Promise<string | undefined>;
  list(): Promise<readonly (string | undefined)[]>;
  /** The ids and texts of its rows, by their ids. */
  rows(batch: string): Promise<readonly (readonly (string | null | undefined)[])[]>;
  cancel(batch: string): Promise<unknown>;
  /** The text of a streamed and of a whole answer. */
  live(): Promise<readonly (string | null | undefined)[]>;
}

function openAi(server: BatchServer, api: "openai-completions" | "openai-responses"): Sdk {
  const client = new OpenAI({ apiKey: "key-1", baseURL: server.baseUrl(api), maxRetries: 0 });
  const endpoint = api === "openai-responses" ? "/v1/responses" : "/v1/chat/completions";
  const line = (prompt: string, n: number) =>
    JSON.stringify({ custom_id: `${BATCH_ID}-${n}`, method: "POST", url: endpoint, body: bodyOf(api, prompt) });
  return {
    async create() {
      const file = await toFile(Buffer.from(["a", "b"].map(line).join("\n")), "rows.jsonl");
      const { id } = await client.files.create({ file, purpose: "batch" });
      const metadata = { belay_shipment: BATCH_ID };
      return (await client.batches.create({ input_file_id: id, endpoint, completion_window: "24h", metadata })).id;
    },
    state: async (batch) => (await client.batches.retrieve(batch)).status,
    list: async () => (await Array.fromAsync(client.batches.list({ limit: 1 }))).map(({ id }) => id),
    async rows(batch) {
      const { output_file_id } = await client.batches.retrieve(batch);
      const text = await (await client.files.content(output_file_id ?? "")).text();
      return text
        .trim()
        .split("\n")
        .map((row) => [JSON.parse(row).custom_id, textOf(JSON.parse(row).response.body)])
        .sort();
    },
    cancel: (batch) => client.batches.cancel(batch),
    async live() {
      if (api === "openai-responses") {
        const stream = await client.responses.create({ model: "m", input: "a", stream: true });
        const texts = (await Array.fromAsync(stream)).flatMap((event) =>
          event.type === "response.output_text.delta" ? event.delta : [],
        );
        return [texts.join(""), (await client.responses.create({ model: "m", input: "a" })).output_text];
      }
      const asked = { model: "m", messages: [{ role: "user" as const, content: "a" }] };
      const chunks = await Array.fromAsync(await client.chat.completions.create({ ...asked, stream: true }));
      const whole = await client.chat.completions.create(asked);
      return [chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""), whole.choices[0]?.message.content];
    },
  };
}

function anthropic(server: BatchServer): Sdk {
  const client = new Anthropic({ apiKey: "key-1", baseURL: server.baseUrl("anthropic-messages"), maxRetries: 0 });
  const { batches } = client.messages;
  const asked = (prompt: string) => ({
    model: "m",
    max_tokens: 9,
    messages: [{ role: "user" as const, content: prompt }],
  });
  const textIn = ({ content }: Anthropic.Message) => (content[0]?.type === "text" ? content[0].text : null);
  return {
    async create() {
      const requests = ["a", "b"].map((prompt, n) => ({ custom_id: `${BATCH_ID}-${n}`, params: asked(prompt) }));
      return (await batches.create({ requests })).id;
    },
    state: async (batch) => (await batches.retrieve(batch)).processing_status,
    list: async () => (await Array.fromAsync(batches.list({ limit: 1 }))).map(({ id }) => id),
    async rows(batch) {
      const rows = await Array.fromAsync(await batches.results(batch));
      return rows
        .map(({ custom_id, result }) => [custom_id, result.type === "succeeded" ? textIn(result.message) : null])
        .sort();
    },
    cancel: (batch) => batches.cancel(batch),
    live: async () => [
      await client.messages.stream(asked("a")).finalText(),
      textIn(await client.messages.create(asked("a"))),
    ],
  };
}

function gemini(server: BatchServer): Sdk {
  const client = new GoogleGenAI({ apiKey: "key-1", httpOptions: { baseUrl: server.url } });
  return {
    async create() {
      const line = (prompt: string, n: number) =>
        JSON.stringify({ key: `${BATCH_ID}-${n}`, request: bodyOf("google-generative-ai", prompt) });
      const file = new Blob([["a", "b"].map(line).join("\n")], { type: "application/jsonl" });
      const { name = "" } = await client.files.upload({ file });
      const config = { displayName: `belay-${BATCH_ID}` };
      return (await client.batches.create({ model: "m", src: name, config })).name ?? "";
    },
    state: async (batch) => (await client.batches.get({ name: batch })).state,
    list: async () =>
      (await Array.fromAsync(await client.batches.list({ config: { pageSize: 1 } }))).map(({ name }) => name),
    async rows(batch) {
      const { dest } = await client.batches.get({ name: batch });
      const downloadPath = join(folderWith({}), "rows.jsonl");
      await client.files.download({ file: dest?.fileName ?? "", downloadPath });
      await expect.poll(() => readFileSync(downloadPath, "utf8").trim().split("\n").length).toBe(2);
      const rows = readFileSync(downloadPath, "utf8").trim().split("\n");
      return rows.map((row) => [JSON.parse(row).key, textOf(JSON.parse(row).response)]).sort();
    },
    cancel: (batch) => client.batches.cancel({ name: batch }),
    async live() {
      const asked = { model: "m", contents: "a" };
      const chunks = await Array.fromAsync(await client.models.generateContentStream(asked));
      return [chunks.map(({ text }) => text).join(""), (await client.models.generateContent(asked)).text];
    },
  };
}

/** The text in an answer of whatever API. */
function textOf(body: unknown): string {
  return /"(?:text|content)":"(re .)"/.exec(JSON.stringify(body))?.[1] ?? "";
}

const SDKS: Readonly<Record<BatchApi, (server: BatchServer) => Sdk>> = {
  "openai-completions": (server) => openAi(server, "openai-completions"),
  "openai-responses": (server) => openAi(server, "openai-responses"),
  "anthropic-messages": anthropic,
  "google-generative-ai": gemini,
};

const OPEN = /^(?:in_progress|JOB_STATE_RUNNING)$/;
const OVER = /^(?:completed|ended|JOB_STATE_SUCCEEDED)$/;
const ENDED = /^(?:cancelled|ended|JOB_STATE_CANCELLED)$/;

async function serve(api: BatchApi, wait: number | Promise<unknown> = 0) {
  const server = await startBatchServer({ answer: ({ prompt }) => ({ text: `re ${prompt}` }), fate: () => ({ wait }) });
  onTestFinished(() => server.close());
  return { server, sdk: SDKS[api](server), client: clientOf(accountAt(server, api)) };
}

test.each(BATCH_APIS)("%s: its SDK makes a batch, and the client finds and reads it", async (api) => {
  const { server, sdk, client } = await serve(api);
  const asked_at = Date.now();
  const batch = await sdk.create();
  await expect.poll(() => sdk.state(batch)).toMatch(OVER);
  expect(await sdk.rows(batch)).toEqual(EXPECTED);
  expect(await client.find({ id: BATCH_ID, file: null, requests: 2, asked_at, known: new Set() })).toEqual({
    kind: "found",
    batch,
  });
  expect(await client.look(batch)).toEqual({ state: "over" });
  const rows = (await Array.fromAsync((await client.results(batch)) ?? [])).flat();
  expect(rows.map(({ custom_id, answer }) => [custom_id, textOf(answer?.body)]).sort()).toEqual(EXPECTED);
  expect(server.batches).toHaveLength(1);
});

test.each(BATCH_APIS)("%s: its SDK sees and reads batches that the client has made", async (api) => {
  const { sdk, client } = await serve(api);
  const batch = await send(client, api, ["a", "b"]);
  const second = await send(client, api, ["c"], 500, "01OTHER");
  expect(await sdk.list()).toEqual([second, batch]);
  await expect.poll(() => sdk.state(batch)).toMatch(OVER);
  expect(await sdk.rows(batch)).toEqual(EXPECTED);
});

test.each(BATCH_APIS)("%s: its SDK and the client see the same open batch, which is cancelled", async (api) => {
  const begin = Promise.withResolvers<void>();
  const { server, sdk, client } = await serve(api, begin.promise);
  const batch = await send(client, api, ["a", "b"]);
  expect(await sdk.state(batch)).toMatch(OPEN);
  expect(await client.look(batch)).toMatchObject({ state: "out" });
  await sdk.cancel(batch);
  begin.resolve();
  await expect.poll(() => sdk.state(batch)).toMatch(ENDED);
  expect(await client.look(batch)).toEqual({ state: "over" });
  expect(server.ran).toEqual([]);
});

test.each(BATCH_APIS)("%s: its SDK reads live answers, streamed and whole", async (api) => {
  const { server, sdk } = await serve(api);
  expect(await sdk.live()).toEqual(["re a", "re a"]);
  expect(server.paid()).toEqual(new Map([["a", 2]]));
});
