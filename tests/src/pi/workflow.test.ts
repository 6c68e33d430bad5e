import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fauxAssistantMessage, fauxToolCall } from "@mariozechner/pi-ai";
import { expect, test } from "vitest";
import { offersWorkflows } from "../../../src/pi/opened/opened.ts";
import { doing, scriptedAgent, startsIn } from "../../support/agents/agents.ts";
import { grow } from "../../support/tree.ts";
import { type FakePi, fakePi, never, recovered, resultsOn, until } from "./fake-pi.ts";

const META = 'export const meta = { name: "audit", description: "looks", phases: [{ title: "Find" }] };\n';
const SCRIPT = `${META}phase("Find");
return await parallel(args.map((one) => () => agent("Look at " + one, { label: one, tools: [] })));`;
const CALL = { script: SCRIPT, args: ["a", "b"] };

/** Pi whose user has set `agents`, and the log of their starts. */
function lending(agents: object = {}): { pi: FakePi; log: string } {
  const pi = fakePi();
  const home = join(pi.folder, "../home");
  grow(home, { "config.json": JSON.stringify({ agents }) });
  const log = join(home, "log");
  process.env.BELAY_AGENT_LOG = log;
  return { pi, log };
}

const said = (text: string) => fauxAssistantMessage(text);

test("the tool is offered to users who have set agents, which may be empty, and to no others", () => {
  const { pi } = lending();
  const env = (home: string) => ({ HOME: pi.folder, BELAY_HOME: home, PI_CODING_AGENT_DIR: join(pi.folder, "agent") });
  expect(offersWorkflows(env(join(pi.folder, "../home")))).toBe(true);
  expect(offersWorkflows(env(join(pi.folder, "none")))).toBe(false);
});

test("Pi's own model answers agents, with the tools that Pi lends once the user allows it; rows count them by phase", async () => {
  const { pi } = lending();
  grow(join(pi.folder, "../agent"), { "belay.json": '{ "allowed_tool_overrides": ["bash"] }' });
  const life = await pi.start();
  const shown = new Set<string>();
  const leave = life.lifecycle.board.subscribe(({ running }) => {
    for (const { phase, made, done } of running?.calls?.phases ?? []) shown.add(`${phase} ${done} of ${made}`);
  });
  pi.faux.setResponses([said("one"), said("two")]);
  expect(await life.call("rlm_workflow", CALL)).toMatchObject({ success: true, result_json: ["one", "two"] });
  leave();
  expect([...shown]).toEqual(expect.arrayContaining(["Find 1 of 2", "Find 2 of 2"]));
  const bash = fauxAssistantMessage(fauxToolCall("bash", { command: "echo" }), { stopReason: "toolUse" });
  pi.faux.setResponses([bash, said("ran it")]);
  const script = `${META}return await agent("Run it", { tools: ["bash"] });`;
  expect(await life.call("rlm_workflow", { script })).toMatchObject({ result_json: "ran it" });
  expect(pi.asked).toEqual(["A sub-agent wants bash"]);
});

test("each agent of the user's is asked about once in a session, and one that is refused is not started", async () => {
  const { pi, log } = lending({ first: scriptedAgent(), second: scriptedAgent("text") });
  const answers = [true, false, true];
  const life = await pi.start({ confirms: async () => answers.shift() ?? false });
  const by = (agent: string) => `() => agent("it is ${agent}", { agentType: "${agent}" })`;
  const script = `${META}return await parallel([${by("first")}, ${by("first")}]);`;
  const both = ["answer to: it is first", "answer to: it is first"];
  expect(await life.call("rlm_workflow", { script })).toMatchObject({ success: true, result_json: both });
  expect(await life.call("rlm_workflow", { script: `${script}\n` })).toMatchObject({ result_json: both });
  expect(pi.asked).toEqual(["A workflow wants to run the agent first"]);
  const other = `${META}return await agent("it is second", { agentType: "second" });`;
  expect(await life.call("rlm_workflow", { script: other })).toMatchObject({ success: false });
  expect(startsIn(log).size).toBe(4);
  expect(await life.call("rlm_workflow", { script: `${other}\n` })).toMatchObject({ success: true });
  expect(pi.asked).toHaveLength(3);
  // No other cell reaches an agent.
  await life.call("rlm_load", { path: pi.folder });
  const cell = await life.call("rlm_exec", { code: `await llm_query("x", { agent: "first" })` });
  expect(cell).toMatchObject({ success: false, error_code: "policy_violation" });
  expect(startsIn(log).size).toBe(5);
});

test("a workflow that is killed is finished by the next process, which asks no answer again", async () => {
  const { pi } = lending();
  const life = await pi.start();
  const held = never();
  pi.faux.setResponses([said("one"), held.step]);
  void life.begin("rlm_workflow", CALL, "w");
  await until(held.isAsked);
  await life.die();
  pi.faux.setResponses([said("two")]);
  const before = pi.faux.state.callCount;
  const next = await pi.start();
  await recovered(next.lifecycle);
  expect(resultsOn(pi.branch).w).toMatchObject({ success: true });
  expect(pi.faux.state.callCount - before).toBe(1);
  expect(pi.told).toEqual([
    "rlm_workflow was interrupted, and is finished now: 1 of 2 sub-calls had their answers already",
  ]);
});

test("a user who quits is told of the agents that work on", async () => {
  const { pi, log } = lending({ first: scriptedAgent() });
  const life = await pi.start();
  const script = `${META}return await agent(${JSON.stringify(doing({ ms: 1500, says: "a" }))}, { agentType: "first" });`;
  void life.begin("rlm_workflow", { script }, "w");
  await until(() => startsIn(log).size === 1);
  await life.leave();
  expect(pi.told).toEqual(["RLM: 1 agent of a workflow works on; its answer is taken when Pi opens the session again"]);
  const next = await pi.start();
  await recovered(next.lifecycle);
  expect(resultsOn(pi.branch).w).toMatchObject({ success: true, result_json: "a" });
  expect(startsIn(log).size).toBe(1);
  await next.leave();
  expect(pi.told.filter((line) => line.includes("works on"))).toHaveLength(1);
});

test("a workflow that waits for the user goes on by the same call, also in a later process; other calls do not wait", async () => {
  const { pi } = lending();
  const life = await pi.start();
  const refused = fauxAssistantMessage("", { stopReason: "error", errorMessage: "401 bad key" });
  pi.faux.setResponses([said("one"), refused]);
  const open = await life.call("rlm_workflow", CALL);
  expect(open).toMatchObject({ success: false, error_code: "auth_failed", resumable: true });
  expect(await life.call("rlm_memory_put", { key: "k", value: 1 })).toMatchObject({ success: true });
  await life.leave();
  const next = await pi.start();
  pi.branch.splice(pi.branch.findLastIndex(({ customType }) => customType === "rlm_start"));
  pi.faux.setResponses([said("two")]);
  const before = pi.faux.state.callCount;
  expect(await next.call("rlm_workflow", CALL)).toMatchObject({ success: true, resumed: 1 });
  expect(pi.faux.state.callCount - before).toBe(1);
});

test("a saved workflow of the user's runs by its name", async () => {
  const { pi } = lending();
  const folder = join(pi.folder, "../home/workflows");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "mine.js"), `${META.replace("audit", "mine")}return args;`);
  const life = await pi.start();
  expect(await life.call("rlm_workflow", { name: "mine", args: 7 })).toMatchObject({ success: true, result_json: 7 });
  expect(await life.call("rlm_workflow", { name: "other" })).toMatchObject({ error_code: "invalid_argument" });
});
