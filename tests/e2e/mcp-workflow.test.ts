import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { agentsOf, doing, loggedIn, scriptedAgent, startsIn } from "../support/agents/agents.ts";
import { COMMAND, COMPILED } from "../support/command.ts";
import { commandHere } from "../support/command-here.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { folderWith } from "../support/tree.ts";

// A real client over stdio, a real server and real processes of agents.

const META = 'export const meta = { name: "audit", description: "looks at files", phases: [{ title: "Find" }] };\n';
const SCRIPT = `${META}phase("Find");
return await parallel(args.prompts.map((prompt, at) => () => agent(prompt, { label: "file " + at })));`;

interface Scene {
  readonly work: string;
  readonly log: string;
  readonly env: Record<string, string>;
  readonly models: ModelServer;
}

async function scene(): Promise<Scene> {
  const folder = folderWith({ "work/a.txt": "alpha\n", "home/": "" });
  const models = await startModelServer(({ prompt }) => ({ text: `the model: ${prompt}` }));
  onTestFinished(() => models.close());
  const agents = { first: scriptedAgent(), second: scriptedAgent("text") };
  writeFileSync(join(folder, "home/config.json"), JSON.stringify({ agents, agent_models: { quick: "local/q" } }));
  const log = join(folder, "log");
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    BELAY_HOME: join(folder, "home"),
    BELAY_AGENT_LOG: log,
    XDG_CONFIG_HOME: join(folder, "config"),
    NODE_COMPILE_CACHE: COMPILED,
    K: "key",
  };
  return { work: join(folder, "work"), log, env, models };
}

const modelOf = ({ models }: Scene) => ["--model", "local/m", "--base-url", models.url, "--api-key-env", "K"];

/** Runs the command, in this process. */
const belay = ({ work, env }: Scene, ...words: readonly string[]) =>
  commandHere(words, { cwd: work, home: env.BELAY_HOME ?? "", env });

/** A client of a server with these flags, which have the model too. */
async function connected(of: Scene, ...flags: readonly string[]) {
  const client = new Client({ name: "t", version: "1" });
  const args = [...COMMAND, "mcp", ...modelOf(of), ...flags];
  const transport = new StdioClientTransport({
    command: process.execPath,
    args,
    cwd: of.work,
    env: of.env,
    stderr: "ignore",
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    client,
    transport,
    async call(name: string, args: Record<string, unknown> = {}, options = {}): Promise<Record<string, unknown>> {
      const { content } = await client.callTool({ name, arguments: args }, options);
      const [block] = content;
      return JSON.parse(block?.type === "text" ? block.text : "{}");
    },
  };
}

test("agents are lent by the flag alone: the first answers, others by their names, and no cell of rlm_exec reaches one", async () => {
  const of = await scene();
  const { call } = await connected(of, "--tools", "workflow", "--agents", "second,first");
  const script = `${META}return await parallel([
    () => agent("one"), () => agent("two", { agentType: "first" }), () => agent("three", { agentType: "third" }),
  ]);`;
  const answer = await call("rlm_workflow", { script });
  expect(answer).toMatchObject({
    success: true,
    result_json: ["answer to: one", "answer to: two", "answer to: three"],
    stderr: expect.stringContaining("no agent third is configured"),
  });
  expect([...startsIn(of.log).values()]).toEqual([1, 1, 1]);
  await call("rlm_load", { path: of.work });
  const hostile = [
    `await llm_query("run me", { agent: "first" })`,
    `/* workflow audit: x */ result = await llm_query("run me", { agent: "second", label: "w", phase: "Find" })`,
    `await llm_query_batch(["run me"], { agent: "first" })`,
    `await rlm_query("run me", { agent: "first" })`,
  ];
  for (const code of hostile) {
    const refused = await call("rlm_exec", { code });
    expect(JSON.stringify(refused), code).toMatch(/policy_violation|do not go together/);
  }
  expect(loggedIn(of.log).filter(({ what }) => what === "BEGUN")).toHaveLength(3);
  expect(await belay(of, "mcp", "--agents", "first")).toMatchObject({ code: 2 });
});

test("agents work on while their server is killed and a client leaves, and none starts twice; a cancelled call ends them", {
  timeout: 120_000,
}, async () => {
  const of = await scene();
  const lending = ["--tools", "workflow", "--agents", "first"];
  const first = await connected(of, ...lending);
  const prompts = [doing({ ms: 300, says: "a" }), doing({ ms: 6000, says: "b" })];
  const call = { script: SCRIPT, args: { prompts } };
  void first.call("rlm_workflow", call).catch(() => {});
  await expect.poll(() => startsIn(of.log).size, { timeout: 30_000 }).toBe(2);
  process.kill(first.transport.pid ?? 0, "SIGKILL");
  const second = await connected(of, ...lending);
  expect(await second.call("rlm_exec", { code: "1" })).toMatchObject({ error_code: "exec_unfinished" });
  void second.call("rlm_workflow", call).catch(() => {});
  await expect.poll(() => second.call("rlm_status")).toMatchObject({ running: { tool: "rlm_workflow" } });
  await second.client.close();
  const last = await connected(of, ...lending);
  const notes: string[] = [];
  const onprogress = ({ message = "" }) => void notes.push(message);
  const answer = await last.call("rlm_workflow", call, { onprogress });
  expect(answer).toMatchObject({ success: true, result_json: ["a", "b"] });
  expect([...startsIn(of.log).values()]).toEqual([1, 1]);

  const leaves = new AbortController();
  const hanging = { script: SCRIPT, args: { prompts: [doing({ says: "c" }), doing({ hangs: true })] } };
  void last.call("rlm_workflow", hanging, { signal: leaves.signal }).catch(() => {});
  await expect.poll(() => loggedIn(of.log).filter(({ what }) => what === "ENDED").length, { timeout: 30_000 }).toBe(3);
  const running = () => [...startsIn(of.log).keys()].flatMap(agentsOf);
  await expect.poll(running, { timeout: 30_000 }).toHaveLength(1);
  leaves.abort();
  await expect.poll(running, { timeout: 30_000 }).toEqual([]);
  await expect.poll(() => last.call("rlm_status")).toMatchObject({ running: null, unfinished: null });
  expect(await last.call("rlm_wait")).toMatchObject({ success: false, error_code: "cancelled" });
  expect(notes.join()).toMatch(/Find \d of 2 · \d+ tokens/);
});

test("without the flag the model answers, in a run of belay workflow too: the client leaves it as it is, and resume finishes it", async () => {
  const of = await scene();
  writeFileSync(join(of.work, "a.js"), SCRIPT);
  const args = JSON.stringify({ prompts: [doing({ ms: 2500, says: "a" })] });
  const words = ["workflow", "a.js", "--agent", "first", "--session", "RUN", ...modelOf(of), "--args", args];
  const child = spawn(process.execPath, [...COMMAND, ...words], { cwd: of.work, env: of.env, stdio: "ignore" });
  const gone = once(child, "exit");
  await expect.poll(() => startsIn(of.log).size, { timeout: 30_000 }).toBe(1);
  child.kill("SIGKILL");
  await gone;
  const { call, client } = await connected(of, "--tools", "workflow", "--session", "RUN");
  expect(await call("rlm_exec", { code: "1" })).toMatchObject({ error_code: "exec_unfinished" });
  const told = await call("rlm_wait");
  expect(told).toMatchObject({ success: false, resumable: true, error_code: "policy_violation" });
  const [, flag, cure = ""] = /`--agents (.*?)`.*`belay (.*?)`/.exec(String(told.suggestion)) ?? [];
  expect([flag, cure]).toEqual(["first", "resume RUN"]);
  await client.close();
  expect(await belay(of, ...cure.split(" "))).toMatchObject({ code: 0 });
  const again = await connected(of, "--tools", "workflow", "--session", "RUN");
  expect(await again.call("rlm_wait")).toMatchObject({ result_json: ["a"] });
  await again.call("rlm_load", { path: of.work });
  const asking = await again.call("rlm_exec", { code: `await llm_query("run me", { agent: "first" })` });
  expect(asking).toMatchObject({ success: false, error_code: "policy_violation" });
  const script = `${META}return await agent("two", { agentType: "first" });`;
  expect(await again.call("rlm_workflow", { script })).toMatchObject({ result_json: "the model: two" });
  expect([...startsIn(of.log).values()]).toEqual([1]);
});
