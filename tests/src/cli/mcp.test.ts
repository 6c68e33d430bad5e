import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { getDefaultEnvironment, StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { LIGHT } from "../../../scripts/bundle.ts";
import { COMMAND } from "../../support/command.ts";
import { startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { callerOf, type Era } from "../mcp/pair.ts";
import { belay, startOnTerminal } from "./belay.ts";
import { belayHere } from "./in-process.ts";

// A client hands a server few variables: neither BELAY_HOME nor a key is inherited.

interface StartOptions {
  /** Arguments of node. */
  readonly node?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of the server. */
  readonly flags?: readonly string[];
  readonly era?: Era;
}

const MODERN = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

/** A server as a client starts it, in this folder. */
async function started(cwd: string, home: string, { node = [], env, flags = [], era = "legacy" }: StartOptions = {}) {
  const args = [...node, ...COMMAND, "mcp", "--store", home, ...flags];
  const given = env && { env: { ...getDefaultEnvironment(), ...env } };
  const transport = new StdioClientTransport({ command: process.execPath, args, cwd, stderr: "pipe", ...given });
  const client = new Client({ name: "test", version: "1.0.0" }, era === "modern" ? MODERN : {});
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, call: callerOf(client) };
}

test("a client loads in one process, and one of the next era finds its context and variables in another", async () => {
  const [cwd, home] = [folderWith({ "a.txt": "alpha beta alpha\n" }), folderWith({})];
  const first = await started(cwd, home);
  expect(await first.call("rlm_load", { path: cwd })).toMatchObject({ success: true, stats: { document_count: 1 } });
  expect(await first.call("rlm_exec", { code: "var kept = find('alpha').matches.length" })).toMatchObject({
    success: true,
  });
  await first.client.close();
  const second = await started(cwd, home, { era: "modern" });
  expect(second.client.getProtocolEra()).toBe("modern");
  expect(await second.call("rlm_exec", { code: "[kept, P.includes('beta')]" })).toMatchObject({
    result_json: [2, true],
  });
});

/** The modules of Belay among those that a process has loaded: chunks name the modules that they are made of. */
function modulesIn(file: string): readonly string[] {
  const chunks = readFileSync(file, "utf8")
    .split("\n")
    .filter((url) => url.startsWith("file:") && url.includes("/bundle/"));
  const code = chunks.map((url) => readFileSync(new URL(url), "utf8")).join("\n");
  return Array.from(code.matchAll(/^\/\/ ((?:src|builtins|runtime)\/\S+\.ts)$/gm), ([, module = ""]) => module);
}

test("what is listed is answered before anything that works with sessions is loaded", async () => {
  const [cwd, home] = [folderWith({ "a.txt": "alpha\n" }), folderWith({ loaded: "" })];
  const file = join(home, "loaded");
  const hooks = fileURLToPath(new URL("../../support/loaded-modules.js", import.meta.url));
  const { client, call } = await started(cwd, home, { node: ["--import", hooks], env: { BELAY_TEST_LOADED: file } });
  await client.listTools();
  await client.listResources();
  const light = new Set(LIGHT.map((module) => `src/${module}.ts`));
  const heavy = (module: string) => /^src\/(?:context|models|session|store)\//.test(module) && !light.has(module);
  expect(modulesIn(file)).toContain("src/mcp/listed-tools.ts");
  expect(modulesIn(file).filter(heavy)).toEqual([]);
  await call("rlm_status");
  expect(modulesIn(file)).toEqual(expect.arrayContaining(["src/session/session.ts", "src/store/open.ts"]));
  // The engine, its cells and the search are loaded by the machine's thread alone. What takes types out of
  // a workflow's script, and says what is wrong with it, is small.
  const ofMachine = modulesIn(file).filter((module) => /^runtime\/(?:quickjs|cells)\//.test(module));
  expect(new Set(ofMachine)).toEqual(
    new Set([
      ...["checks", "declarations", "helper-script", "typescript"].map((name) => `runtime/cells/${name}.ts`),
      "runtime/quickjs/build.ts",
    ]),
  );
  expect(modulesIn(file)).not.toContain("src/context/search/search.ts");
});

test("on a terminal the server says what it is and how it is registered", async () => {
  const child = startOnTerminal("mcp");
  let shown = "";
  child.stdout.on("data", (chunk) => {
    shown += chunk;
  });
  const code = await new Promise((resolve) => child.on("close", resolve));
  expect(shown).toContain("belay mcp: an MCP client starts this server");
  expect(shown).toContain("try: belay mcp --print-config claude");
  expect(code).toBe(2);
});

test("wrong flags end the server with the usage", async () => {
  const run = await belay(["mcp", "--answer-bytes", "10"]);
  expect(run).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("from 4000 to 400000") });
});

test("the entry for a server over HTTP names a session of the client and the folder, and how the server is started", async () => {
  const flags = ["mcp", "--http", "--model", "local/m", "--print-config"];
  const { stdout, stderr } = await belayHere([...flags, "claude", "--port", "8123"]);
  const entry = {
    type: "http",
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8123\/mcp\/claude-[0-9a-f]{12}$/),
    headers: { Authorization: `Bearer \${BELAY_MCP_TOKEN}` },
  };
  expect(JSON.parse(stdout)).toEqual({ mcpServers: { belay: entry } });
  expect(stderr).toContain("belay mcp --http --port 8123 --model local/m\n");
  expect(stderr).toContain("BELAY_MCP_TOKEN");
  const named = await belayHere([...flags, "pi", "--session", "a b"]);
  expect(named.stdout).toContain("http://127.0.0.1:7431/mcp/a%20b");
  expect(await belayHere([...flags, "pi", "--port", "0"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--port"),
  });
});

test("each call of a client has the budget of the settings, and its session so many of them in all", async () => {
  const server = await startModelServer(() => ({ text: "yes" }));
  onTestFinished(() => server.close());
  const [cwd, home] = [folderWith({ "a.txt": "alpha\n" }), folderWith({})];
  const model = ["--model", "local/m", "--base-url", server.url];
  const flags = [...model, "--max-sub-calls", "2", "--max-session-budgets", "2"];
  const { call } = await started(cwd, home, { flags });
  await call("rlm_load", { path: cwd });
  const code = `let left = []; for (let i = 0; i < 2; i++) {
    try { await llm_query("look", { tools: [] }) } catch (e) { left.push(e.code) }
  } result = left`;
  expect(await call("rlm_exec", { code })).toMatchObject({ result_json: [], warnings: [] });
  expect(await call("rlm_status")).toMatchObject({ budget: { remaining_sub_calls: 2, session: { sub_calls: 2 } } });
  expect(await call("rlm_exec", { code })).toMatchObject({ result_json: [], warnings: [] });
  expect(await call("rlm_exec", { code })).toMatchObject({
    result_json: Array(2).fill("budget_exceeded"),
    warnings: [expect.stringMatching(/^limit_met: sub_calls of the session; rlm_load with reset: true, or /)],
  });
  await call("rlm_load", { path: cwd, reset: true });
  expect(await call("rlm_exec", { code })).toMatchObject({ result_json: [] });
});
