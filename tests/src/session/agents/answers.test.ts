import { expect, test } from "vitest";
import { readJournal } from "../../../../src/session/journal/records.ts";
import { openSession } from "../../../../src/session/session.ts";
import { childOptions } from "../../../../src/session/sub-calls/child-options.ts";
import { openStore } from "../../../../src/store/index.ts";
import { loggedIn, scriptedAgent, startsIn } from "../../../support/agents/agents.ts";
import { call, openPlace, openRun, outboxesIn, told } from "./support.ts";

test("a call of a workflow is answered by its agent, and the outbox goes with the record", async () => {
  const place = openPlace();
  await using session = await openRun(place);
  expect(session.agents()).toEqual(["fake"]);
  const source = `[await ${call({ says: "done", tokens: [7, 3], usd: 0.25 }, { label: "one", phase: "Find" })}]`;
  const envelope = await session.exec(source, { workflow: true });
  expect(told(envelope)).toEqual(["done"]);
  expect(envelope.budget.remaining_sub_calls).toBe(49);
  await session.close();
  expect(outboxesIn(place)).toEqual([]);
  await using store = await openStore(place.store);
  const records = await readJournal(store, session.id);
  const result = records.find((record) => record.record === "rlm_tool_result");
  expect(result).toMatchObject({ model: "agent:fake/default", usage: { input: 7, output: 3, cost_usd: 0.25 } });
});

test("cells that are no workflow have no agents, however the session was opened", async () => {
  const place = openPlace();
  await using session = await openRun(place);
  const source = `await ${call({ says: "done" })}.catch((error) => [error.name, error.code, error.message])`;
  expect(told(await session.exec(source))).toEqual([
    "PolicyViolationError",
    "policy_violation",
    "only cells of workflows have agents",
  ]);
  expect(loggedIn(place.log)).toEqual([]);
});

test("an ask and a child of a workflow have no agents", async () => {
  const place = openPlace();
  const cell = `answer(await ${call({ says: "done" })}.catch((error) => error.message))`;
  const complete = async () => ({ text: `\`\`\`js\n${cell}\n\`\`\`` });
  const options = { complete, agents: { fake: scriptedAgent() } };
  await using session = await openSession({ ...options, store: place.store, session: "run" });
  await session.load({ text: "a text", name: "a.txt" });
  expect(await session.ask("Why?", { protocol: "fence" })).toMatchObject({
    answer: "only cells of workflows have agents",
  });
  const source = `await llm_query("Why?", { context: "a text" })`;
  expect(told(await session.exec(source, { workflow: true }))).toBe("only cells of workflows have agents");
  expect(loggedIn(place.log)).toEqual([]);
});

test("a schema is asked for, and an answer that does not fit is asked for once more", async () => {
  const place = openPlace();
  await using session = await openRun(place);
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  expect(told(await session.exec(`await ${call({ value: { n: 3 } }, { schema })}`, { workflow: true }))).toEqual({
    n: 3,
  });
  const source = `await ${call({ value: { n: "three" } }, { schema })}.catch((error) => error.code)`;
  expect(told(await session.exec(source, { workflow: true }))).toBe("schema_mismatch");
  const starts = [...startsIn(place.log)].map(([key, starts]) => [key.split(".").length, starts]);
  expect(starts).toEqual([
    [2, 1],
    [2, 1],
    [3, 1],
  ]);
});

test("an agent that is not lent leaves the run unfinished, and says where it goes on", async () => {
  const place = openPlace();
  const source = `await ${call({ says: "done" })}`;
  {
    await using session = await openSession({ store: place.store, session: "run", agents: { other: scriptedAgent() } });
    const envelope = await session.exec(source, { workflow: true });
    expect(envelope).toMatchObject({ success: false, resumable: true, error_code: "policy_violation" });
    expect(told(envelope)).toContain("the agent fake is not lent here: agents here are other");
    expect(envelope).toMatchObject({ suggestion: "Name it in `agents: { fake }`." });
  }
  await using session = await openRun(place);
  expect((await session.resume())?.envelope).toMatchObject({ success: true, result_json: "done" });
});

test("agents of one command run at once as its entry says", async () => {
  const place = openPlace();
  await using session = await openRun(place, {
    agents: { fake: scriptedAgent("json", { at_once: 2 }) },
    concurrency: 16,
  });
  const calls = Array.from({ length: 5 }, (_, n) => call({ ms: 100, says: `${n}` }));
  expect(told(await session.exec(`await Promise.all([${calls}])`, { workflow: true }))).toEqual([
    "0",
    "1",
    "2",
    "3",
    "4",
  ]);
  let running = 0;
  const most = loggedIn(place.log).map(({ what }) => (running += what === "BEGUN" ? 1 : -1));
  expect(Math.max(...most)).toBeLessThanOrEqual(2);
});

test("a worktree in which an agent has changed something is named by the record of its call", async () => {
  const { execFileSync } = await import("node:child_process");
  const place = openPlace();
  const repository = `${place.store}-repository`;
  const git = (...args: string[]) => execFileSync("git", ["-C", repository, ...args]);
  execFileSync("git", ["init", "-q", repository]);
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first");
  await using session = await openRun(place, { cwd: repository });
  const source = `await ${call({ writes: ["a.txt", "changed"], says: "done" }, { isolation: "worktree" })}`;
  expect(told(await session.exec(source, { workflow: true }))).toBe("done");
  await using store = await openStore(place.store);
  const result = (await readJournal(store, session.id)).find((record) => record.record === "rlm_tool_result");
  expect(result?.worktrees).toHaveLength(1);
  expect(result?.worktrees?.[0]).toMatch(/\/agents\/.*\/tree$/);
});

test("a child takes over no option that nobody has decided on", async () => {
  const place = openPlace();
  const options = { agents: { fake: scriptedAgent() }, waitsForUser: true, reuse: { session: "x" }, agentsDir: "/x" };
  const shared = childOptions({ ...options, store: place.store, session: "run", maxFiles: 3, cwd: "/y" });
  expect(shared).toEqual({ maxFiles: 3, cwd: "/y" });
  // One that a later build knows is not handed down either.
  expect(childOptions(Object.assign({ maxFiles: 3 }, { later: true }))).toEqual({ maxFiles: 3 });
});
