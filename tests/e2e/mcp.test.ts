import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, onTestFinished, test } from "vitest";
import { COMMAND, CRASHING_COMMAND } from "../support/command.ts";
import { CRASH_VARIABLE, type CrashPoint } from "../support/crash/point.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";

// Real servers over pipes, by lines of JSON-RPC: nothing else may stand on stdout.

const CELL = `var keep = [1]; var said = [];
for (const word of ["one", "two", "three"]) said.push(await llm_query(word, { tools: [] }));
said`;
const SAID = ["ONE", "TWO", "THREE"];

interface Scene {
  readonly cwd: string;
  readonly home: string;
  readonly models: ModelServer;
}

async function scene(hold: (prompt: string) => Promise<void> = async () => {}): Promise<Scene> {
  const models = await startModelServer(async ({ prompt }) => {
    await hold(prompt);
    return { text: prompt.toUpperCase() };
  });
  onTestFinished(() => models.close());
  return { cwd: folderWith({ "a.txt": "alpha\n" }), home: folderWith({}), models };
}

const NEVER: CrashPoint = { operation: 0, side: "before", waitMs: 0 };

/** A server of this folder that has shaken hands. @param node arguments of node */
async function started({ cwd, home, models }: Scene, point = NEVER, node: readonly string[] = []) {
  const flags = ["--store", home, "--model", "local/m", "--base-url", models.url, "--api-key-env", "K"];
  const child = spawn(process.execPath, [...node, ...CRASHING_COMMAND, "mcp", ...flags], {
    cwd,
    env: { ...process.env, K: "key", [CRASH_VARIABLE]: JSON.stringify(point) },
    stdio: ["pipe", "pipe", "pipe", "pipe"],
  });
  const gone = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await gone;
  });
  const server = talkTo(child);
  const clientInfo = { name: "t", version: "1" };
  await server.ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
  return { ...server, child, gone, cwd };
}

/** Sends requests and gives results; every line of stdout must be JSON-RPC. */
function talkTo(child: ChildProcess) {
  const { stdin, stdout } = child;
  if (!stdin || !stdout) throw new Error("no pipes");
  stdin.on("error", () => {});
  const waiting = new Map<number, (result: unknown) => void>();
  const strange: string[] = [];
  createInterface({ input: stdout }).on("line", (line) => {
    const message: { jsonrpc?: unknown; id?: number; result?: unknown } = line.startsWith("{") ? JSON.parse(line) : {};
    if (message.jsonrpc !== "2.0") strange.push(line);
    else waiting.get(message.id ?? -1)?.(message.result);
  });
  let count = 0;
  const ask = (method: string, params: object): Promise<unknown> => {
    const id = ++count;
    const answer = new Promise((resolve) => waiting.set(id, resolve));
    stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answer;
  };
  return {
    ask,
    /** The id of the newest request. */
    asked: () => count,
    strange,
    async call(name: string, args: object): Promise<Record<string, unknown>> {
      const result = await ask("tools/call", { name, arguments: args });
      const [{ text }] = Object(result).content;
      return JSON.parse(text);
    },
  };
}

test("kill -9 around each commit of a cell: the next server's same call has its answers, no request is made twice", async () => {
  const of = await scene();
  // A load takes five steps in a new session and three in one that is there; then come start, three steps with three results, and
  // the end: cut with the second call in flight, and at the end.
  for (const operation of [5 + 4, 3 + 8]) {
    const from = of.models.requests.length;
    const cut = await started(of, { operation, side: "after", waitMs: 0 });
    await cut.call("rlm_load", { path: of.cwd, reset: true });
    const answered = cut.call("rlm_exec", { code: CELL });
    const at = `after ${operation}`;
    expect(await Promise.race([answered, cut.gone.then(() => null)]), at).toBeNull();
    const next = await started(of);
    const { unfinished } = await next.call("rlm_status", {});
    // If its end was recorded and only its answer was lost, rlm_wait has it.
    const newest = unfinished ? null : await next.call("rlm_wait", {});
    const again = newest && "result_json" in newest ? newest : await next.call("rlm_exec", { code: CELL });
    expect(again, at).toMatchObject({ success: true, result_json: SAID });
    expect(await next.call("rlm_exec", { code: "[keep, said]" }), at).toMatchObject({ result_json: [[1], SAID] });
    expect(next.strange, at).toEqual([]);
    const sent = of.models.requests.slice(from).map(({ prompt }) => prompt);
    expect(sent, at).toEqual(["one", "two", "three"]);
    next.child.stdin?.end();
    await next.gone;
  }
}, 120_000);

test("a signal or a closed pipe during a call: the exec is unfinished, never cancelled, and the exit code is 0", async () => {
  let held: PromiseWithResolvers<void> | null = null;
  const of = await scene(async () => {
    held?.resolve();
    if (held) await new Promise((resolve) => setTimeout(resolve, 20_000).unref());
  });
  let server = await started(of);
  for (const [name, end] of Object.entries(ENDS)) {
    await server.call("rlm_load", { path: of.cwd });
    held = Promise.withResolvers<void>();
    void server.call("rlm_exec", { code: CELL });
    await held.promise;
    await end(server);
    expect(await server.gone, name).toEqual([0, null]);
    held = null;
    server = await started(of);
    expect(await server.call("rlm_status", {}), name).toMatchObject({ unfinished: { kind: "cell" } });
    const resumed = { success: true, result_json: SAID, resumed: 1 };
    expect(await server.call("rlm_exec", { code: CELL }), name).toMatchObject(resumed);
  }
});

type Started = Awaited<ReturnType<typeof started>>;

const ENDS: Readonly<Record<string, (server: Started) => void | Promise<void>>> = {
  "SIGINT, then SIGTERM": interrupted,
  "a closed stdin": ({ child }) => void child.stdin?.end(),
  "a closed stdout": unread,
  "a cancel, then SIGTERM and a closed stdin": cancelled,
};

/** Claude Code ends a server in this way. */
function interrupted({ child }: Started): void {
  child.kill("SIGINT");
  child.kill("SIGTERM");
}

/** The server notices when it answers. */
function unread({ child }: Started): void {
  child.stdout?.destroy();
  child.stdin?.write(PING);
}

const PING = `${JSON.stringify({ jsonrpc: "2.0", id: 99, method: "ping" })}\n`;

/** Codex does this at Ctrl-C. The server has heard of the cancel before the signal comes. */
async function cancelled({ child, ask, asked }: Started): Promise<void> {
  const params = { requestId: asked() };
  child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params })}\n`);
  await ask("ping", {});
  child.kill("SIGTERM");
  child.stdin?.end();
}

test("whatever an SDK, Node and a cell print, stdout has JSON-RPC alone", async () => {
  const noisy = fileURLToPath(new URL("../support/noisy-sdk.js", import.meta.url));
  const server = await started(await scene(), NEVER, ["--import", noisy]);
  let stderr = "";
  server.child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  await server.call("rlm_load", { path: server.cwd });
  const flood =
    "for (let at = 0; at < 20_000; at++) { print('x'.repeat(99)); console.log('y\\r\\n') } await llm_query('one', { tools: [] })";
  expect(await server.call("rlm_exec", { code: flood })).toMatchObject({ success: true, truncated: true });
  expect(server.strange).toEqual([]);
  const noises = ["log of an SDK", "info of an SDK", "debug of an SDK", "{ dir: 'of an SDK' }", "a warning of Node"];
  for (const said of noises) await expect.poll(() => stderr).toContain(said);
  // Answers that the client does not read for a while are no leak to warn of.
  server.child.stdout?.pause();
  const lists = Array.from({ length: 100 }, () => server.ask("tools/list", { _meta: { long: "x".repeat(30_000) } }));
  if (server.child.stdin) await once(server.child.stdin, "drain");
  server.child.stdout?.resume();
  await Promise.all(lists);
  expect(stderr).not.toContain("MaxListeners");
});

/** A server on loopback, and a client of it. */
async function startedOnLoopback({ cwd, home, models }: Scene, port = 0) {
  const flags = ["--store", home, "--model", "local/m", "--base-url", models.url, "--api-key-env", "K"];
  const child = spawn(process.execPath, [...COMMAND, "mcp", "--http", "--port", `${port}`, ...flags], {
    cwd,
    env: { ...process.env, K: "key", BELAY_MCP_TOKEN: "" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const gone = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await gone;
  });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    lines.push(line);
    if (lines.length === 2) break;
  }
  const [, url = ""] = /listens on (http\S+)/.exec(lines[0] ?? "") ?? [];
  const [, bearer = ""] = /Authorization: (Bearer \S+)$/.exec(lines[1] ?? "") ?? [];
  if (url === "") return { child, gone, lines, url, call: async (): Promise<Record<string, unknown>> => ({}) };
  const client = new Client({ name: "t", version: "1" });
  const requestInit = { headers: { Authorization: bearer } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const call = async (name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const { content } = await client.callTool({ name, arguments: args });
    const [{ text }] = Object(content);
    return JSON.parse(text);
  };
  return { child, gone, lines, url, call };
}

test("on loopback: a client goes on when its server is killed in a call and started again; Ctrl-C ends it; a taken port is named", async () => {
  const reached = Promise.withResolvers<void>();
  let isHeld = true;
  const of = await scene(async (prompt) => {
    if (prompt !== "two" || !isHeld) return;
    reached.resolve();
    await new Promise((resolve) => setTimeout(resolve, 20_000).unref());
  });
  const first = await startedOnLoopback(of);
  await first.call("rlm_load", { path: of.cwd });
  const { session_id } = await first.call("rlm_status", {});
  const answer = first.call("rlm_exec", { code: CELL });
  await reached.promise;
  first.child.kill("SIGKILL");
  await first.gone;
  isHeld = false;
  const port = Number(new URL(first.url).port);
  const next = await startedOnLoopback(of, port);
  // The SDK asks for what follows the last event that it has.
  expect(await answer).toMatchObject({ success: true, result_json: SAID });
  expect(of.models.requests.map(({ prompt }) => prompt)).toEqual(["one", "two", "two", "three"]);
  expect(await first.call("rlm_status", {})).toMatchObject({ session_id, unfinished: null });
  expect(next.lines[1]).toBe(first.lines[1]);
  const late = await startedOnLoopback(of, port);
  expect(await late.gone).toEqual([2, null]);
  expect(late.lines).toEqual([
    `belay mcp: --port: another program listens on port ${port}`,
    "try: belay mcp --http --port 0",
  ]);
  next.child.kill("SIGINT");
  expect(await next.gone).toEqual([0, null]);
});
