import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { fetchedProblem, readFetched, refreshLists } from "../../../src/models/fetched.ts";
import { readPiFiles } from "../../../src/models/keys/pi-files.ts";
import { listModels, refreshModels } from "../../../src/models/models.ts";
import { allModels, loadPiAi } from "../../../src/models/pi-ai/catalog.ts";
import { folderWith } from "../../support/tree.ts";

const LATER = Date.parse("2100-01-01");

/** An entry as a list has it, of a model that pi-ai knows under another id. */
function entry(change: object = {}) {
  const [model] = loadPiAi().getModels("anthropic");
  return { ...model, id: "claude-of-tomorrow", ...change };
}

const listed = (models: readonly unknown[], lastModified = LATER) => ({ models, lastModified, checkedAt: 0 });

/** The models of a provider, with this content of models-store.json. */
function namesWith(content: object, provider = "anthropic") {
  const home = folderWith({ "models-store.json": JSON.stringify(content) });
  const files = readPiFiles(folderWith(), { BELAY_HOME: home });
  return allModels(loadPiAi(), files).filter(({ model }) => model.provider === provider);
}

test("a newer list adds models, and those that it lacks stay", () => {
  const builtIn = loadPiAi().getModels("anthropic").length;
  const models = namesWith({ anthropic: listed([entry()]) });
  expect(models).toHaveLength(builtIn + 1);
  expect(models.map(({ model }) => model.id)).toContain("claude-of-tomorrow");
  expect(namesWith({ anthropic: listed([entry()], 1) })).toHaveLength(builtIn);
});

test.each([
  ["another host", { baseUrl: "https://evil.example" }],
  ["another protocol", { api: "openai-completions" }],
  ["another type", { type: "images" }],
  ["no price", { cost: undefined }],
])("an entry with %s is left out", (_, change) => {
  expect(namesWith({ anthropic: listed([entry(change)]) })).toHaveLength(loadPiAi().getModels("anthropic").length);
});

test("headers of a fetched list are not sent", () => {
  const models = namesWith({ anthropic: listed([entry({ headers: { "x-to": "evil" } })]) });
  expect(models.find(({ model }) => model.id === "claude-of-tomorrow")?.model.headers).toEqual({});
});

test("no fetched list, whatever is in it, leads to a host that the built-in provider lacks", () => {
  const addresses = new Set<string>(
    loadPiAi()
      .getModels("openai")
      .map(({ baseUrl }) => baseUrl),
  );
  const url = fc.oneof(fc.webUrl(), fc.constantFrom(...addresses, "https://api.openai.com.evil.example/v1", ""));
  const any = fc.record(
    {
      ...{ id: fc.string(), type: fc.constantFrom("chat", "images", 1), baseUrl: fc.oneof(url, fc.jsonValue()) },
      ...{ api: fc.constantFrom("openai-responses", "anthropic-messages", 7), headers: fc.jsonValue() },
      ...{ cost: fc.constantFrom({ input: 1, output: 1 }, null), contextWindow: fc.oneof(fc.nat(), fc.string()) },
      ...{ input: fc.constantFrom(["text"], "text", null), provider: fc.string() },
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.array(fc.oneof(any, fc.jsonValue()), { maxLength: 5 }), (models) => {
      for (const { model } of namesWith({ openai: listed(models) }, "openai"))
        expect(addresses).toContain(model.baseUrl);
    }),
    { numRuns: 6 },
  );
});

test.each([
  ["not JSON", "{", "does not hold a JSON object"],
  ["a list", "[]", "does not hold a JSON object"],
  ["more than 4 MB", JSON.stringify({ a: "x".repeat(4 * 2 ** 20) }), "has more than 4096 KB"],
])("a file that is %s counts as none, and doctor can name it", (_, content, problem) => {
  const home = folderWith({ "models-store.json": content });
  expect(readFetched(join(home, "models-store.json"))).toEqual(new Map());
  expect(fetchedProblem({ BELAY_HOME: home })).toBe(`${join(home, "models-store.json")} ${problem}`);
});

/** A server of lists; what it was asked. */
async function serveLists(
  answer: (path: string) => { status?: number; body?: string; headers?: Record<string, string> },
) {
  const asked: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    const { status = 200, body = "", headers = {} } = answer(request.url ?? "");
    response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return { asked, from: `http://127.0.0.1:${address.port}` };
}

const CHANGED = "Tue, 10 Nov 2099 10:00:00 GMT";

test("a refresh asks once for each provider with a key, sends no key, and is written whole for the user alone", async () => {
  const home = folderWith();
  const key = "secret-key-4711";
  const env = { BELAY_HOME: home, PI_CODING_AGENT_DIR: folderWith(), OPENAI_API_KEY: key, ANTHROPIC_API_KEY: key };
  const body = JSON.stringify({ models: [entry()] });
  const { asked, from } = await serveLists((path) =>
    path.endsWith("/anthropic") ? { body, headers: { "last-modified": CHANGED, etag: '"1"' } } : { status: 404 },
  );
  expect(await refreshModels(env, from)).toEqual([]);
  const seen = asked.map(({ url }) => url).sort();
  expect(seen).toEqual(["/api/models/providers/anthropic", "/api/models/providers/openai"]);
  expect(JSON.stringify(asked.map(({ rawHeaders }) => rawHeaders))).not.toContain(key);
  const file = join(home, "models-store.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ anthropic: { etag: '"1"', models: [{}] } });
  expect(listModels(env).map(({ id }) => id)).toContain("anthropic/claude-of-tomorrow");
  await refreshModels(env, from);
  expect(asked.at(-2)?.headers["if-none-match"] ?? asked.at(-1)?.headers["if-none-match"]).toBe('"1"');
});

test.each([
  ["a server that fails", { status: 500 }],
  ["a body that is not JSON", { body: "<html>" }],
  ["a body of more than 4 MB", { body: `["${"x".repeat(4 * 2 ** 20)}"]` }],
])("%s is named, and the list that there was stays", async (_, answer) => {
  const home = folderWith();
  const file = join(home, "models-store.json");
  writeFileSync(file, JSON.stringify({ anthropic: listed([entry()]) }));
  const { from } = await serveLists(() => answer);
  expect(await refreshLists(from, ["anthropic"], file)).toEqual(["anthropic"]);
  expect(readFetched(file).get("anthropic")?.models).toHaveLength(1);
});

test("a redirect of a list is an error that names both addresses", async () => {
  const { from } = await serveLists(() => ({ status: 302, headers: { location: "http://127.0.0.1:1/" } }));
  const refreshed = refreshLists(from, ["anthropic"], join(folderWith(), "models-store.json"));
  await expect(refreshed).rejects.toThrow("/api/models/providers/anthropic redirects to http://127.0.0.1:1, and no");
});
