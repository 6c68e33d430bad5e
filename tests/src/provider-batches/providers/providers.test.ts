import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { BatchAccount } from "../../../../src/models/index.ts";
import { BATCH_APIS, type BatchApi, clientOf } from "../../../../src/provider-batches/providers/index.ts";
import {
  type BatchClient,
  type LostBatch,
  ProviderError,
  type ResultRow,
} from "../../../../src/provider-batches/providers/provider.ts";
import { type BatchServer, type BatchServerOptions, startBatchServer } from "../../../support/batch-server/index.ts";
import { accountAt, BATCH_ID, pagesOf, rowsOf, send } from "../../../support/batch-server/requests.ts";

const FILED = BATCH_APIS.filter((api) => api !== "anthropic-messages");

async function serve(options: BatchServerOptions = {}): Promise<BatchServer> {
  const server = await startBatchServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** A server whose answer is always this one. */
async function answering(
  status: number,
  body: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

const clientAt = (server: BatchServer, api: BatchApi, key?: string) => clientOf(accountAt(server, api, key));

function lost(over: Partial<LostBatch> = {}): LostBatch {
  return { id: BATCH_ID, requests: 3, file: null, asked_at: Date.now(), known: new Set(), ...over };
}

async function read(client: BatchClient, batch: string): Promise<readonly ResultRow[] | null> {
  const pieces = await client.results(batch);
  if (pieces === null) return null;
  return (await Array.fromAsync(pieces)).flat().toSorted((a, b) => a.custom_id.localeCompare(b.custom_id));
}

async function failed(asked: Promise<unknown>): Promise<ProviderError> {
  const error = await asked.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof ProviderError) return error;
  throw new Error(`no ProviderError: ${error}`);
}

const over = (client: BatchClient, batch: string) => expect.poll(() => client.look(batch)).toEqual({ state: "over" });

test.each(BATCH_APIS)("%s: a batch is made once, is looked at, and its rows come back by their ids", async (api) => {
  const server = await serve({ answer: ({ prompt }) => ({ text: `re ${prompt}` }) });
  const client = clientAt(server, api);
  const batch = await send(client, api, ["a", "b", "c"]);
  await over(client, batch);
  const rows = await read(client, batch);
  expect(rows?.map(({ custom_id, answer }) => [custom_id, answer?.status])).toEqual([
    [`${BATCH_ID}-0`, 200],
    [`${BATCH_ID}-1`, 200],
    [`${BATCH_ID}-2`, 200],
  ]);
  expect(JSON.stringify(rows?.[1]?.answer?.body)).toContain("re b");
  expect(server.batches.map(({ shipment, model, api: of }) => ({ shipment, model, of }))).toEqual([
    { shipment: BATCH_ID, model: "m", of: api },
  ]);
  expect(server.steps.filter(({ kind }) => kind === "create")).toHaveLength(1);
  expect([...server.paid()].toSorted()).toEqual([
    ["a", 1],
    ["b", 1],
    ["c", 1],
  ]);
});

test.each(BATCH_APIS)("%s: requests of many pages come back in pieces of at most 500 rows", async (api) => {
  const server = await serve();
  const client = clientAt(server, api);
  const prompts = Array.from({ length: 1203 }, (_, n) => `p${n}`);
  const batch = await send(client, api, prompts, 100);
  await over(client, batch);
  const pieces = await Array.fromAsync((await client.results(batch)) ?? []);
  expect(pieces.map((piece) => piece.length)).toSatisfy((sizes: number[]) => Math.max(...sizes) <= 500);
  expect(new Set(pieces.flat().map(({ custom_id }) => custom_id)).size).toBe(1203);
});

test.each(BATCH_APIS)("%s: rows that failed have their status", async (api) => {
  const server = await serve({ answer: ({ prompt }) => ({ status: Number(prompt) }) });
  const client = clientAt(server, api);
  const batch = await send(client, api, ["200", "400", "429", "500"]);
  await over(client, batch);
  const rows = await read(client, batch);
  expect(rows?.map(({ answer }) => answer?.status)).toEqual([200, 400, 429, 500]);
  expect(JSON.stringify(rows?.[2]?.answer?.body)).toContain("scripted");
});

test.each(BATCH_APIS)(
  "%s: rows of a batch that expired have no answer, and those that were done have one",
  async (api) => {
    const server = await serve({ fate: () => ({ expireAfter: 1 }) });
    const client = clientAt(server, api);
    const batch = await send(client, api, ["a", "b", "c"]);
    await over(client, batch);
    const rows = (await read(client, batch)) ?? [];
    expect(rows.filter(({ answer }) => answer !== null).map(({ custom_id }) => custom_id)).toEqual([`${BATCH_ID}-2`]);
  },
);

test.each(BATCH_APIS)("%s: a batch is cancelled, and its rows have no answer", async (api) => {
  const begin = Promise.withResolvers<void>();
  const server = await serve({ fate: () => ({ wait: begin.promise }) });
  const client = clientAt(server, api);
  const batch = await send(client, api, ["a", "b", "c"]);
  expect(await client.look(batch)).toEqual({ state: "out", done: api === "anthropic-messages" ? null : 0 });
  await client.cancel(batch);
  begin.resolve();
  await over(client, batch);
  expect((await read(client, batch))?.filter(({ answer }) => answer !== null)).toEqual([]);
  expect(server.ran).toEqual([]);
});

test.each(FILED.flatMap((api) => (["tokens", "file", "other"] as const).map((why) => [api, why] as const)))(
  "%s: a batch that is refused says why: %s",
  async (api, refuse) => {
    const client = clientAt(await serve({ fate: () => ({ refuse }) }), api);
    const batch = await send(client, api, ["a"]);
    await expect.poll(() => client.look(batch)).toMatchObject({ state: "refused", why: refuse });
  },
);

test.each(BATCH_APIS)("%s: results that are not kept any more are null", async (api) => {
  const client = clientAt(await serve({ fate: () => ({ forgotten: true }) }), api);
  const batch = await send(client, api, ["a"]);
  await over(client, batch);
  expect(await client.results(batch)).toBeNull();
});

test.each(BATCH_APIS)("%s: a batch whose create lost its answer is found on a later page of the list", async (api) => {
  const server = await serve({
    pageSize: 2,
    fault: ({ kind, n }) => (kind === "create" && n === 0 ? { lost: "response" } : undefined),
  });
  const client = clientAt(server, api);
  const asked_at = Date.now();
  expect(await failed(send(client, api, ["a", "b", "c"]))).toMatchObject({ status: null });
  for (const other of ["A", "B", "C"]) await send(client, api, ["x", "y", "z"], 10, `01OTHER${other}`);
  await expect.poll(() => client.find(lost({ asked_at }))).toEqual({ kind: "found", batch: server.batches[0]?.id });
  expect(server.steps.filter(({ kind }) => kind === "list").length).toBeGreaterThanOrEqual(2);
});

test.each(BATCH_APIS)(
  "%s: a batch that was never made is not found, with this key or with another one",
  async (api) => {
    const server = await serve({
      fault: ({ kind, n, key }) => (kind === "create" && n === 0 && key === "key-1" ? { lost: "request" } : undefined),
    });
    const client = clientAt(server, api, "key-1");
    expect(await failed(send(client, api, ["a", "b", "c"]))).toMatchObject({ status: null });
    expect(await client.find(lost())).toEqual({ kind: "none" });
    await send(clientAt(server, api, "key-2"), api, ["a", "b", "c"]);
    expect(await client.find(lost())).toEqual({ kind: "none" });
    expect(server.batches).toHaveLength(1);
  },
);

test.each(BATCH_APIS)("%s: a create that must not be sent any more is not sent", async (api) => {
  const server = await serve();
  const held = send(clientAt(server, api), api, ["a"], undefined, BATCH_ID, async () => false);
  expect(await failed(held)).toMatchObject({ status: null, message: expect.stringContaining("was not sent") });
  expect(server.steps.filter(({ kind }) => kind === "create")).toEqual([]);
});

test.each(FILED)(
  "%s: a create that is still on its way fails when its file is taken away, which counts twice",
  async (api) => {
    const begin = Promise.withResolvers<void>();
    const server = await serve({ fault: ({ kind }) => (kind === "create" ? { wait: begin.promise } : undefined) });
    const client = clientAt(server, api);
    const file = (await client.upload?.(BATCH_ID, pagesOf(rowsOf(api, ["a"])))) ?? null;
    const made = failed(client.create({ id: BATCH_ID, file, rows: pagesOf([]), asking: async () => true }));
    await expect.poll(() => server.steps.filter(({ kind }) => kind === "create").length).toBe(1);
    await client.fence?.(file ?? "");
    await client.fence?.(file ?? "");
    begin.resolve();
    expect((await made).status).toSatisfy((status: number) => status >= 400);
    expect(server.batches).toEqual([]);
  },
);

test("Gemini: a 403 in other words is not a file that is gone", async () => {
  const server = await serve({ fault: ({ kind }) => (kind === "fence" ? { status: 403 } : undefined) });
  expect(await failed(clientAt(server, "google-generative-ai").fence?.("files/x") ?? Promise.resolve())).toMatchObject({
    status: 403,
  });
});

test("Anthropic: a batch that goes on could be the one, if it has as many rows, is new and is not known", async () => {
  const begin = Promise.withResolvers<void>();
  const server = await serve({ fate: () => ({ wait: begin.promise }) });
  const client = clientAt(server, "anthropic-messages");
  const asked_at = Date.now();
  const id = await send(client, "anthropic-messages", ["a", "b", "c"]);
  expect(await client.find(lost({ asked_at }))).toEqual({ kind: "maybe" });
  expect(await client.find(lost({ asked_at, requests: 2 }))).toEqual({ kind: "none" });
  expect(await client.find(lost({ asked_at, file: null, known: new Set([id]) }))).toEqual({ kind: "none" });
  expect(await client.find(lost({ asked_at: asked_at + 60_000 }))).toEqual({ kind: "none" });
  begin.resolve();
  await expect.poll(() => client.find(lost({ asked_at }))).toEqual({ kind: "found", batch: id });
  expect(await client.find(lost({ asked_at, id: "01OTHER" }))).toEqual({ kind: "none" });
});

test("Anthropic: an ended batch whose results are not there could be the one", async () => {
  const server = await serve({ fate: () => ({ forgotten: true }) });
  const client = clientAt(server, "anthropic-messages");
  await over(client, await send(client, "anthropic-messages", ["a", "b", "c"]));
  expect(await client.find(lost())).toEqual({ kind: "maybe" });
});

test("OpenAI: the list is not read beyond ten minutes before the create", async () => {
  const server = await serve({ pageSize: 1 });
  const client = clientAt(server, "openai-completions");
  for (const other of ["A", "B", "C"]) await send(client, "openai-completions", ["x"], 10, `01OTHER${other}`);
  expect(await client.find(lost({ asked_at: Date.now() + 700_000 }))).toEqual({ kind: "none" });
  expect(server.steps.filter(({ kind }) => kind === "list")).toHaveLength(1);
});

test.each(BATCH_APIS)("%s: a batch that the list shows late is found late", async (api) => {
  const server = await serve({ fate: () => ({ hiddenMs: 150 }) });
  const client = clientAt(server, api);
  const asked_at = Date.now();
  const batch = await send(client, api, ["a", "b", "c"]);
  expect(await client.find(lost({ asked_at }))).toEqual({ kind: "none" });
  await expect.poll(() => client.find(lost({ asked_at }))).toEqual({ kind: "found", batch });
});

const nameOf = (api: BatchApi) => (api === "google-generative-ai" ? "batches/b0" : "b0");

const STEPS = {
  create: (client: BatchClient, api: BatchApi) => send(client, api, ["a"]),
  list: (client: BatchClient) => client.find(lost()),
  look: (client: BatchClient, api: BatchApi) => client.look(nameOf(api)),
  results: (client: BatchClient, api: BatchApi) => client.results(nameOf(api)),
  cancel: (client: BatchClient, api: BatchApi) => client.cancel(nameOf(api)),
};

const REFUSED = (["create", "list", "look", "results", "cancel"] as const).flatMap((step) =>
  [401, 404, 429, 500].map((status) => [step, status] as const),
);

test.each(REFUSED)(
  "%s that is answered with %i is sent once, and its failure names neither key nor query",
  async (step, status) => {
    for (const api of BATCH_APIS) {
      const server = await serve({ fault: () => ({ status }) });
      const asked = STEPS[step](clientAt(server, api, "sk-verysecretkey"), api);
      if (status === 404 && step === "results") expect(await asked).toBeNull();
      else {
        const error = await failed(asked);
        expect(error.message).toMatch(new RegExp(`^(?:GET|POST) /\\S+ failed \\(${status}\\): scripted ${status}$`));
        expect(error.status).toBe(status);
      }
      expect(server.steps).toHaveLength(1);
    }
  },
);

test("a failure keeps no key, though the server repeats it", async () => {
  const key = "sk-verysecretkey";
  const url = await answering(401, JSON.stringify({ error: { message: `Incorrect API key: ${key}\u001b[2J` } }));
  const account = {
    id: "x",
    api: "openai-completions",
    baseUrl: url,
    model: "m",
    headers: { authorization: `Bearer ${key}` },
    prove: () => "",
  } as const;
  const error = await failed(clientOf(account).look("b"));
  expect(error.message).toBe("GET /batches/b failed (401): Incorrect API key: [key]\\x1b[2J");
  const invalid = { ...account, headers: { authorization: `Bearer ${key}\nx` } };
  expect((await failed(clientOf(invalid).look("b"))).message).not.toContain(key);
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(key);
});

test.each(BATCH_APIS)("%s: no answer and a redirect have no status", async (api) => {
  const gone = accountOf(api, "http://127.0.0.1:1");
  expect(await failed(clientOf(gone).look(nameOf(api)))).toMatchObject({ status: null, message: /ECONNREFUSED/ });
  const elsewhere = accountOf(api, await answering(307, "", { location: "http://127.0.0.1:1/" }));
  expect(await failed(clientOf(elsewhere).look(nameOf(api)))).toMatchObject({ status: null });
});

test.each([
  ["text", "hello"],
  ["null", "null"],
  ["a list", "[]"],
  ["names that are addresses", '{"id":"../../x","name":"http://x","file":{"name":"files/../y"}}'],
  ["numbers as names", '{"id":1,"name":2,"status":3,"created_at":"x","processing_status":[]}'],
])("an answer that is %s has no status, since the request may have been carried out", async (_form, body) => {
  const url = await answering(200, body, { "x-goog-upload-url": "http://[bad" });
  for (const api of BATCH_APIS) {
    const client = clientOf(accountOf(api, url));
    expect(await failed(send(client, api, ["a"]))).toMatchObject({ status: null, message: /cannot be read/ });
    expect(await failed(client.look(nameOf(api)))).toMatchObject({ status: null });
  }
});

test("the rows and the key of Gemini go to the account's host, wherever the server sends them", async () => {
  const url = await answering(200, '{"file":{"name":"files/f"}}', {
    "x-goog-upload-url": "http://127.0.0.1:1/upload/x?id=1",
  });
  const client = clientOf(accountOf("google-generative-ai", url));
  expect(await client.upload?.(BATCH_ID, pagesOf([]))).toBe("files/f");
});

test("a list without an end is not read for ever", async () => {
  const batch = { id: "b", status: "x", created_at: 9e9, metadata: null };
  const url = await answering(200, JSON.stringify({ data: [batch], has_more: true }));
  expect(await failed(clientOf(accountOf("openai-completions", url)).find(lost()))).toMatchObject({
    status: null,
    message: /more than 1000 pages/,
  });
});

/** Results of a batch of Anthropic's, as these lines. */
async function linesOf(lines: string | Buffer): Promise<readonly ResultRow[] | null> {
  return await read(clientOf(accountOf("anthropic-messages", await answering(200, lines))), "b");
}

test("rows of a form that Belay does not know fail their calls, and rows that are none stop the reading", async () => {
  const rows = await linesOf('\n{"custom_id":"s-0","result":{"type":"new"}}\r\n\n{"custom_id":"s-1","result":null}');
  expect(rows?.map(({ answer }) => answer?.status)).toEqual([422, 422]);
  for (const line of ["{", "null", '{"result":{"type":"expired"}}', '{"custom_id":1}']) {
    expect(await failed(linesOf(`{"custom_id":"s-0","result":{"type":"expired"}}\n${line}`))).toMatchObject({
      status: null,
    });
  }
  const long = `{"custom_id":"${"x".repeat(17_000_000)}`;
  expect((await failed(linesOf(long))).message).toContain("too large");
});

test("a row with bytes that are not UTF-8 fails its call, and others are read", async () => {
  const line = (n: number, text: string) =>
    JSON.stringify({
      custom_id: `s-${n}`,
      result: { type: "succeeded", message: { content: [{ type: "text", text }] } },
    });
  const rows = await linesOf(Buffer.from(`${line(0, "caf\u00e9")}\n${line(1, "cafe")}`, "latin1"));
  expect(rows?.map(({ answer }) => answer?.status)).toEqual([422, 200]);
  expect(rows?.[0]?.answer?.body).toEqual({ error: { message: "the row of the batch has bytes that are not UTF-8" } });
  // A model may have written the character itself.
  const own = await linesOf(line(0, "caf\ufffd"));
  expect(own?.[0]?.answer?.status).toBe(200);
});

test("types of errors of Anthropic have the status that they have live", async () => {
  const types = ["not_found_error", "request_too_large", "overloaded_error", "billing_error", 1];
  const lines = types.map((type, n) =>
    JSON.stringify({ custom_id: `s-${n}`, result: { type: "errored", error: { error: { type } } } }),
  );
  expect((await linesOf(lines.join("\n")))?.map(({ answer }) => answer?.status)).toEqual([404, 413, 529, 500, 500]);
});

function accountOf(api: BatchApi, baseUrl: string): BatchAccount {
  return { id: "x", api, baseUrl, model: "m", headers: { authorization: "Bearer key" }, prove: () => "" };
}

/** Looks at an operation of Gemini's. */
async function lookAt(operation: object) {
  const url = await answering(200, JSON.stringify({ name: "batches/b", metadata: {}, ...operation }));
  return await clientOf(accountOf("google-generative-ai", url)).look("batches/b");
}

test("Gemini: the state counts, and an operation without one is over when it is done", async () => {
  expect(await lookAt({})).toEqual({ state: "out", done: null });
  expect(await lookAt({ done: true })).toEqual({ state: "over" });
  const cancelled = { code: 1, message: "cancelled" };
  expect(await lookAt({ done: true, error: cancelled, metadata: { state: "BATCH_STATE_CANCELLED" } })).toEqual({
    state: "over",
  });
  expect(await lookAt({ done: true, error: {} })).toMatchObject({ state: "refused", why: "other" });
  expect(await lookAt({ metadata: { state: "BATCH_STATE_FAILED" } })).toMatchObject({ state: "refused", why: "other" });
  const batchStats = { successfulRequestCount: "7", failedRequestCount: "x" };
  expect(await lookAt({ metadata: { state: "BATCH_STATE_RUNNING", batchStats } })).toEqual({ state: "out", done: 7 });
});

test("rows of many bytes come in smaller pieces", async () => {
  const url = await answering(
    200,
    Array.from({ length: 30 }, (_, n) =>
      JSON.stringify({ custom_id: `s-${n}`, result: { type: "succeeded", message: "x".repeat(1e6) } }),
    ).join("\n"),
  );
  const pieces = await Array.fromAsync((await clientOf(accountOf("anthropic-messages", url)).results("b")) ?? []);
  expect(pieces.flat()).toHaveLength(30);
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(12);
});

test("the scripted server refuses one in so many requests, and counts what is paid for twice", async () => {
  const server = await serve({ noise: { oneIn: 3, seed: 7 } });
  const client = clientAt(server, "anthropic-messages");
  for (let n = 0; n < 60; n++) await send(client, "anthropic-messages", ["a"]).catch(() => {});
  const refused = server.steps.filter(({ status }) => status !== 200);
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([429, 500]));
  expect(refused.length).toBeGreaterThan(10);
  await expect.poll(() => server.paid()).toEqual(new Map([["a", 60 - refused.length]]));
});

test("a server that answers before it has read the requests is a failed upload, and ends no process", async () => {
  const server = createServer((_request, response) => response.writeHead(404, { connection: "close" }).end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/v1`;
  const account: BatchAccount = {
    id: "a",
    api: "openai-completions",
    baseUrl,
    model: "m",
    headers: {},
    prove: () => "",
  };
  const rows = rowsOf("openai-completions", ["a".repeat(100), "b".repeat(4e6)]);
  for (let time = 0; time < 5; time++) {
    const upload = clientOf(account).upload?.(BATCH_ID, pagesOf(rows)) ?? Promise.resolve();
    expect([404, null]).toContain((await failed(upload)).status);
  }
});
