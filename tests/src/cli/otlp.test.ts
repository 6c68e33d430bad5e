import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test, vi } from "vitest";
import { keptSettings } from "../../../src/cli/session/recorded-settings.ts";
import { COMMAND } from "../../support/command.ts";
import { type ModelScript, startModelServer } from "../../support/model-server.ts";
import { type CollectorAnswer, judgedWhole, rejecting, startCollector } from "../../support/otlp.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { folderWith } from "../../support/tree.ts";
import { callerOf } from "../mcp/pair.ts";
import { scene as batchScene } from "./batch/scene.ts";
import { finished, json, said, startBelay } from "./belay.ts";
import { belayHere } from "./in-process.ts";

/** A store, a collector, and a model that says yes unless the script says otherwise. */
async function scene(answers?: (request: number) => CollectorAnswer, script: ModelScript = () => ({ text: "yes" })) {
  const [collector, server] = [await startCollector(answers), await startModelServer(script)];
  onTestFinished(async () => {
    await collector[Symbol.asyncDispose]();
    await server.close();
  });
  const folder = folderWith({ "home/": "", "a.txt": "alpha" });
  const home = join(folder, "home");
  const env = { BELAY_MODEL: "local/m", BELAY_BASE_URL: server.url };
  const type = (args: readonly string[], more: Record<string, string> = {}, cwd = folder) =>
    belayHere(args, { home, cwd, env: { ...env, ...more } });
  return { collector, home, env, type, folder };
}

const ASKS = "await llm_query('a')";
const names = (spans: readonly { readonly name: string }[]) => spans.map(({ name }) => name);

test("each exec is sent once when it ends: to the flag's address, the variable's, or that of the user's file", async () => {
  const { collector, home, type, folder } = await scene();
  const file = { "config.json": JSON.stringify({ otlp: collector.url }) };
  const withFile = folderWith({ ...file, "belay.config.json": "{}" });
  await type(["exec", "-e", ASKS, "-e", "2", "-s", "one", "--otlp", collector.url]);
  expect(names(collector.taken())).toEqual(["execute_tool rlm_exec", "chat m", "execute_tool rlm_exec"]);
  await type(["exec", "-e", "3", "-s", "one"], { BELAY_OTLP: collector.url });
  await type(["exec", "-e", "4", "-s", "one", "--store", home], { BELAY_HOME: withFile });
  await type(["exec", "-e", "5", "-s", "one", "--otlp", "env"], { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  expect(collector.taken()).toHaveLength(6);
  // Without the user's word nothing is sent.
  await type(["exec", "-e", "6", "-s", "one"], { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  await type(["exec", "-e", "7", "-s", "one", "--otlp", "env"]);
  await type(["exec", "-e", "8", "-s", "one", "--otlp", ""], { BELAY_OTLP: collector.url });
  const wrong = await type(["exec", "-e", "9", "-s", "one", "--otlp", "env"], { OTEL_EXPORTER_OTLP_ENDPOINT: "x" });
  expect(wrong).toMatchObject(said(0, "otlp_failed: OTEL_EXPORTER_OTLP_ENDPOINT is not the address of a collector\n"));
  expect(collector.taken()).toHaveLength(6);
  // What was sent is what an export has of these execs.
  const shown = await belayHere(["show", "one", "--otlp", "-"], { home, cwd: folder });
  const exported = judgedWhole(shown.stdout.trimEnd().split("\n"));
  expect(exported.slice(0, 6)).toEqual(collector.taken());
});

test("an address that is none is refused, and so is one for a session that is not kept", async () => {
  const { type } = await scene();
  const words = "--otlp must be env, or an address such as http://127.0.0.1:4318 without user and password";
  for (const url of ["collector", "http://a:b@c", "file:///x"]) {
    expect(await type(["exec", "-e", "1", "--otlp", url])).toMatchObject(said(2, words));
  }
  const inMemory = await type(["exec", "-e", "1", "--otlp", "env", "--no-store"]);
  expect(inMemory).toMatchObject(said(2, "--no-store and --otlp exclude each other"));
});

/** A root model that asks another one in its first turn, and answers in its second. */
const ROOT: ModelScript = ({ body: { messages, tools = [] } }) => {
  if (tools.length === 0) return { text: "yes" };
  const code = messages.length < 4 ? "print(await llm_query('sub', { tools: [] }))" : "answer('done')";
  return { tools: [{ id: `u${messages.length}`, name: "rlm_exec", arguments: { code } }] };
};
const ASKED = [
  ...["invoke_agent belay", "chat m", "execute_tool rlm_exec", "chat m", "chat m", "execute_tool rlm_exec"],
];

test("an ask is one trace, sent when it is over; a session does not record where spans go", async () => {
  const { collector, type, home } = await scene(undefined, ROOT);
  const given = folderWith({ "a.txt": "alpha beta" });
  await type(["ask", "What is it?", "-c", given, "-s", "one", "--otlp", collector.url]);
  const ask = collector.taken().slice(1);
  expect(names(ask)).toEqual(ASKED);
  expect(new Set(ask.map(({ traceId }) => traceId)).size).toBe(1);
  expect(collector.seen.at(-1)?.spans.slice(-ASKED.length)).toEqual(ask);
  await type(["exec", "-e", "2", "-s", "one"]);
  expect(collector.taken()).toHaveLength(1 + ASKED.length);
  const { session } = json(await belayHere(["show", "one", "--json"], { home }));
  expect(session.settings.settings).not.toHaveProperty("otlp");
  const { settings } = session;
  expect(keptSettings(settings)).not.toBeNull();
  expect(keptSettings({ ...settings, settings: { ...settings.settings, otlp: collector.url } })).toBeNull();
});

test("an ask that was killed is sent by the process that ends it, with the resume as an event", async () => {
  let isHeld = true;
  const script: ModelScript = (request) => {
    const isSub = request.prompt === "sub";
    return { ...(isSub ? { text: "yes" } : ROOT(request)), delayMs: isSub && isHeld ? 60_000 : 0 };
  };
  const server = await startModelServer(script);
  onTestFinished(() => server.close());
  const { collector, home } = await scene();
  const given = folderWith({ "a.txt": "alpha beta" });
  const env = { BELAY_MODEL: "local/m", BELAY_BASE_URL: server.url, BELAY_OTLP: collector.url };
  const child = startBelay(["ask", "What is it?", "-c", given, "-s", "one"], { home, cwd: given, env });
  child.stdin?.end();
  const run = finished(child);
  await vi.waitFor(() => expect(server.requests.some(({ prompt }) => prompt === "sub")).toBe(true), {
    timeout: 30_000,
  });
  child.kill("SIGKILL");
  await run;
  isHeld = false;
  const before = collector.seen.length;
  expect(await belayHere(["resume", "one"], { home, cwd: given, env })).toMatchObject({ code: 0 });
  const [sent, ...more] = collector.seen.slice(before);
  expect([names(sent?.spans ?? []), more]).toEqual([ASKED, []]);
  expect(sent?.spans[2]?.events).toMatchObject([{ name: "belay.resume" }]);
  // The call begins after the time without a process.
  expect(sent?.spans[3]?.startTimeUnixNano).toBe(sent?.spans[2]?.events?.[0]?.timeUnixNano);
});

test("a child is in the trace of its call", async () => {
  const { collector, type, folder } = await scene();
  const child = "await llm_query('child', { context: [0, 5] })";
  const given = folderWith({ "a.txt": "alpha beta" });
  await type(["exec", "-c", join(given, "a.txt"), "-e", child, "-s", "one", "--otlp", collector.url], {}, folder);
  expect(names(collector.taken())).toEqual([
    ...["execute_tool rlm_load", "execute_tool rlm_exec", "invoke_agent belay"],
    ...["execute_tool rlm_load", "invoke_agent belay", "chat m", "chat m"],
  ]);
  judgedWhole(collector.seen.map(({ line }) => line));
});

test.each<[string, CollectorAnswer, string, number]>([
  ["is busy twice", 503, "", 3],
  ["refuses", 400, "otlp_failed: 400; ", 1],
  ["is busy for too long", { status: 429, headers: { "retry-after": "3600" } }, "otlp_failed: 429; ", 1],
  ["rejects spans", { status: 200, body: rejecting("1") }, "otlp_failed: the collector rejected 1 of 1 span; ", 1],
  ["never answers", "never", "otlp_failed: no answer in time; ", 1],
])("a collector that %s changes neither the envelope nor the exit code", async (_, answer, warning, requests) => {
  const { collector, type } = await scene((request) => (answer === 503 && request === 2 ? 200 : answer));
  const line = ["exec", "-e", "print('out'); throw new Error('mine')", "--json"];
  const without = await type(line);
  const sent = await type([...line, "--otlp", collector.url]);
  const shown = ({ stdout }: { stdout: string }) => Object.keys(JSON.parse(stdout));
  expect([sent.code, shown(sent)]).toEqual([1, shown(without)]);
  expect(json(sent)).toMatchObject({ stdout: "out\n", error_code: "js_error" });
  expect(sent.stderr).toBe(warning && `${warning}\`belay show SESSION --otlp FILE|URL\` exports them again\n`);
  expect(collector.seen).toHaveLength(requests);
});

test("a process that is killed while it sends loses spans, and no record", async () => {
  const { collector, home, env, folder } = await scene((request) => (request === 0 ? "never" : 200));
  const line = ["exec", "-e", ASKS, "-s", "one", "--otlp", collector.url];
  const child = startBelay(line, { home, cwd: folder, env });
  child.stdin?.end();
  const run = finished(child);
  await vi.waitFor(() => expect(collector.seen).toHaveLength(1));
  child.kill("SIGKILL");
  expect(await run).toMatchObject({ code: null, stdout: "yes\n" });
  const shown = json(await belayHere(["show", "one", "--json"], { home })).session;
  expect([shown.status, shown.execs[0].status, shown.execs[0].calls[0].answer]).toEqual(["idle", "ok", "yes"]);
  expect(collector.taken()).toEqual([]);
  const sent = await belayHere(["show", "one", "--otlp", collector.url], { home });
  expect(sent).toMatchObject({ code: 0, stderr: "sent 2 spans in 1 request\n" });
  expect(collector.taken()).toEqual(collector.seen[0]?.spans);
});

test("a project's file with otlp is refused, and sends nothing", async () => {
  const { collector, type } = await scene();
  const project = folderWith({ "belay.config.json": JSON.stringify({ otlp: collector.url }) });
  const refused = await type(["exec", "-e", "1"], {}, project);
  expect(refused).toMatchObject(said(1, "a project may not set otlp (invalid_config)"));
  expect(collector.seen).toEqual([]);
});

test("the jobs of a run are traces, from belay batch", async () => {
  const { type } = await batchScene({ "in.jsonl": '{"text":"one"}\n{"text":"bad"}\n{"text":"three"}\n' });
  await using collector = await startCollector();
  const run = await type(["batch", "ask.js", "--jobs", "in.jsonl", "--otlp", collector.url]);
  expect(run.code).toBe(1);
  expect(names(collector.taken()).toSorted()).toEqual([
    ...["chat m", "chat m", "chat m"],
    ...["execute_tool rlm_exec", "execute_tool rlm_exec", "execute_tool rlm_exec"],
  ]);
  const stuck = await batchScene({ "in.jsonl": '{"text":"one"}\n' });
  await using refusing = await startCollector(() => 400);
  const line = ["batch", "ask.js", "--jobs", "in.jsonl", "--json", "--otlp", refusing.url];
  const { code, stderr } = await stuck.type(line);
  // Each line of progress is an object, also this one.
  const lines = stderr
    .trimEnd()
    .split("\n")
    .map((one) => JSON.parse(one));
  expect([code, JSON.stringify(lines).includes("otlp_failed: 400")]).toEqual([0, true]);
});

test("and from belay worker", async ({ skip }) => {
  skip(NO_POSTGRES !== null, NO_POSTGRES ?? "");
  const store = ["--store", await freshStoreUrl()];
  const { type } = await batchScene({ "in.jsonl": '{"text":"one"}\n' });
  await using collector = await startCollector();
  await type(["batch", "ask.js", "--jobs", "in.jsonl", "--detach", ...store]);
  expect(await type(["worker", "--until-idle", "--otlp", collector.url, ...store])).toMatchObject({ code: 0 });
  expect(names(collector.taken())).toEqual(["execute_tool rlm_exec", "chat m"]);
});

test("a call of an MCP client is sent while the server stays", async () => {
  const { collector, home, folder } = await scene();
  const args = [...COMMAND, "mcp", "--store", home, "--otlp", collector.url];
  const env = getDefaultEnvironment();
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd: folder, env, stderr: "pipe" });
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const call = callerOf(client);
  expect(await call("rlm_load", { path: folder })).toMatchObject({ success: true });
  expect(await call("rlm_exec", { code: "1 + 1" })).toMatchObject({ result_json: 2 });
  const ended = ["execute_tool rlm_load", "execute_tool rlm_exec"];
  await vi.waitFor(() => expect(names(collector.taken())).toEqual(ended));
});
