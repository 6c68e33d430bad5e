import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { belayHere } from "./in-process.ts";

const KEY = "key-of-the-user-123";
const CALL = ["exec", "-e", 'await llm_query("hi", { tools: [] })'];
const CHOSEN = "no model was named, so openai/gpt-6-luna was asked; --model names another one";

/** Variables of a user whose provider answers on loopback. */
function userOf(url: string, keys: Readonly<Record<string, string>> = { OPENAI_API_KEY: KEY }) {
  const openai = { baseUrl: url, api: "openai-completions", models: [{ id: "gpt-6-luna" }, { id: "gpt-5-mini" }] };
  const PI_CODING_AGENT_DIR = folderWith({ "models.json": JSON.stringify({ providers: { openai } }) });
  return { env: { PI_CODING_AGENT_DIR, ...keys }, home: join(folderWith(), "home") };
}

test("without a key belay models names the variables to set; with one it lists that provider's models", async () => {
  const none = await belayHere(["models"]);
  expect(none).toMatchObject({ code: 0, stdout: "" });
  expect(none.stderr).toMatch(
    /^no provider has a key\. Set the key of a provider \(ANTHROPIC_API_KEY, .*`--base-url URL`/,
  );
  const { stdout } = await belayHere(["models"], { env: { ANTHROPIC_API_KEY: KEY } });
  const [head, ...rows] = stdout.trimEnd().split("\n");
  expect(head).toMatch(/^model +window +in \$\/M +out \$\/M +thinks +key +ends$/);
  expect(rows.every((row) => row.startsWith("anthropic/"))).toBe(true);
  expect(rows.find((row) => row.startsWith("anthropic/claude-sonnet-5 "))).toMatch(
    /\(default\) +1\.0M +2 +10 +yes +yes$/,
  );
});

test("words choose among all models, those with a key first, and --json has the same", async () => {
  const env = { XAI_API_KEY: KEY };
  const { stdout } = await belayHere(["models", "GROK", "4"], { env });
  const rows = stdout.trimEnd().split("\n").slice(1);
  expect(rows[0]).toMatch(/^xai\/grok-4/);
  expect(rows.some((row) => row.startsWith("openrouter/"))).toBe(true);
  const { models, ...json } = JSON.parse((await belayHere(["models", "grok-4.7", "--json"], { env })).stdout);
  expect(json).toEqual({ success: true, default: "xai/grok-4.7" });
  expect(models[0]).toMatchObject({ id: "xai/grok-4.7", has_key: true, price: { input: expect.any(Number) } });
  const nothing = await belayHere(["models", "nope-nope"], { env });
  expect(nothing).toMatchObject({ stdout: "", stderr: expect.stringContaining("can be named all the same") });
});

test("the only key decides on the model, which is said with the first answer and kept with the session", async () => {
  await using server = await startModelServer(() => ({ text: "yes" }));
  const user = userOf(server.url);
  const plain = await belayHere(["exec", "-s", "a", "-e", "1"], user);
  expect(plain).toEqual({ code: 0, stdout: "1\n", stderr: "" });
  const first = await belayHere([...CALL, "-s", "a", "-q"], user);
  expect(first).toEqual({ code: 0, stdout: "yes\n", stderr: `warning: ${CHOSEN}\n` });
  // Another key comes: the session goes on with its model.
  const more = { ...user, env: { ...user.env, XAI_API_KEY: KEY } };
  expect(await belayHere([...CALL, "-s", "a", "-q"], more)).toEqual({ code: 0, stdout: "yes\n", stderr: "" });
  const anew = await belayHere([...CALL, "-q"], more);
  expect(anew).toMatchObject({ code: 1, stdout: "" });
  expect(anew.stderr).toContain("for example openai/gpt-6-luna or xai/grok-4.7: there are keys for these");
  expect(server.requests.map(({ body }) => body.model)).toEqual(["gpt-6-luna", "gpt-6-luna"]);
});

test("an ask and a run of jobs say which model was chosen", async () => {
  const cell = { id: "1", name: "rlm_exec", arguments: { code: 'answer("yes")' } };
  await using server = await startModelServer(({ body }) => (body.tools ? { tools: [cell] } : { text: "yes" }));
  const folder = folderWith({ "a.txt": "text", "jobs.jsonl": "1\n", "ask.js": 'await llm_query("x", { tools: [] })' });
  const user = { ...userOf(server.url), cwd: folder };
  const asked = await belayHere(["ask", "Is it so?", "-c", "a.txt", "-q"], user);
  expect(asked).toMatchObject({ code: 0, stdout: "yes\n", stderr: expect.stringContaining(CHOSEN) });
  const line = ["batch", "ask.js", "--jobs", "jobs.jsonl", "-o", "out.jsonl"];
  expect((await belayHere(line, user)).stderr).toContain(CHOSEN);
  expect((await belayHere(line, user)).stderr).not.toContain("no model was named");
});

test("recorded settings that do not count get no other model", async () => {
  await using server = await startModelServer(() => ({ text: "yes" }));
  const user = userOf(server.url);
  const named = ["--model", "openai/gpt-6-luna"];
  await belayHere(["exec", "-s", "a", "-e", "1", ...named], user);
  const stranger = { ...user, env: { ...user.env, XDG_CONFIG_HOME: folderWith() } };
  const later = await belayHere([...CALL, "-s", "a", "-q"], stranger);
  expect(later.code).toBe(1);
  expect(later.stderr).toContain("no model is configured for sub-calls");
  expect(server.requests).toEqual([]);
});

test("--base-url alone asks the only model of the server; of several it names them", async () => {
  await using one = await startModelServer(() => ({ text: "yes" }), ["Qwen/Qwen3-8B"]);
  await using two = await startModelServer(() => ({ text: "yes" }), ["a", "b"]);
  const [alone, several, none, listed] = await Promise.all([
    belayHere([...CALL, "--base-url", one.url, "-q"]),
    belayHere([...CALL, "--base-url", two.url, "-q"]),
    belayHere([...CALL, "--base-url", "http://127.0.0.1:1/v1", "-q"]),
    belayHere(["models", "--base-url", one.url]),
  ]);
  expect(alone).toMatchObject({ code: 0, stdout: "yes\n", stderr: expect.stringContaining("local/Qwen/Qwen3-8B") });
  expect(one.requests[0]?.body.model).toBe("Qwen/Qwen3-8B");
  expect(several.code).toBe(2);
  expect(several.stderr).toContain("--base-url needs --model: the server has 2 models, such as local/a, local/b");
  expect(none.code).toBe(1);
  expect(none.stderr).toContain("http://127.0.0.1:1/v1 gives no list of models");
  expect(listed.stdout).toMatch(/local\/Qwen\/Qwen3-8B \(default\) +33k/);
});

test("doctor names a broken file of fetched lists", async () => {
  const { stdout } = await belayHere(["doctor"], { home: folderWith({ "models-store.json": "{" }) });
  expect(stdout).toMatch(
    /settings .*models-store\.json does not hold a JSON object, so its lists of models do not count/,
  );
});

test("a refresh without a key asks nobody, and one that fails ends with 1", async () => {
  const from = "http://127.0.0.1:1";
  expect((await belayHere(["models", "--refresh", "--from", from])).code).toBe(0);
  const failed = await belayHere(["models", "--refresh", "--from", from], { env: { XAI_API_KEY: KEY } });
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain(`no newer list could be fetched from ${from} for xai`);
});

test("a model that ends is told in the list, with the answer, by doctor and beside a printed entry", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2026, 10, 28) });
  onTestFinished(() => void vi.useRealTimers());
  await using server = await startModelServer(() => ({ text: "yes" }));
  const user = userOf(server.url);
  const listed = await belayHere(["models", "openai/gpt-5-mini"], user);
  expect(listed.stdout).toMatch(/^openai\/gpt-5-mini .* yes +2026-12-11$/m);
  const { models } = JSON.parse((await belayHere(["models", "openai/gpt-5-mini", "--json"], user)).stdout);
  expect(models[0]).toMatchObject({ end: { date: "2026-12-11", successor: "openai/gpt-6.1-terra" } });
  const named = [...CALL, "-q", "--model", "openai/gpt-5-mini"];
  const soon =
    "openai/gpt-5-mini ends on 2026-12-11, and its provider names openai/gpt-6.1-terra as the successor (https://developers.openai.com/api/docs/deprecations)";
  const first = await belayHere(named, user);
  expect(first).toEqual({ code: 0, stdout: "yes\n", stderr: `warning: ${soon}; --model names another one\n` });
  const entry = await belayHere(["mcp", "--model", "openai/gpt-5-mini", "--print-config", "claude"], user);
  expect(entry).toMatchObject({ code: 0, stderr: `${soon}\n` });
  vi.setSystemTime(Date.UTC(2026, 11, 12));
  const later = await belayHere(named, user);
  expect(later).toMatchObject({ code: 0, stdout: "yes\n" });
  expect(later.stderr).toContain("ended on 2026-12-11, and its provider may refuse it: ask its successor");
  expect(server.requests.map(({ body }) => body.model)).toEqual(["gpt-5-mini", "gpt-5-mini"]);
  vi.setSystemTime(Date.UTC(2026, 9, 1));
  expect(await belayHere(named, user)).toEqual({ code: 0, stdout: "yes\n", stderr: "" });
});
