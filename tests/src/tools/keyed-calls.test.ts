import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { run } from "../../../scripts/process.ts";
import { openSessionWith } from "../../../src/session/index.ts";
import { openStore, type Store } from "../../../src/store/index.ts";
import { openTools, type SessionTools } from "../../../src/tools/open-tools.ts";
import { TOOL_HOST } from "../../support/command.ts";
import { startModelServer } from "../../support/model-server.ts";
import { storeAround, WRITES } from "../../support/store-around.ts";
import { folderWith } from "../../support/tree.ts";

function callerOf(tools: SessionTools) {
  return (name: string, args: unknown, idempotencyKey?: string) => {
    const tool = tools.find((known) => known.name === name);
    if (!tool) throw new Error(`there is no ${name}`);
    return tool.execute(args, idempotencyKey === undefined ? {} : { idempotencyKey });
  };
}

async function scene() {
  const server = await startModelServer(({ prompt, index }) => {
    const delayMs = prompt === "slow once" && index === 0 ? 60_000 : 0;
    return { text: prompt.toUpperCase(), delayMs };
  });
  onTestFinished(() => server.close());
  const cwd = folderWith({ "a.txt": "alpha", "b.txt": "beta" });
  const kept = { store: folderWith(), session: "s", model: "local/m", baseUrl: server.url, apiKeyEnv: "K", cwd };
  process.env.K = "key";
  onTestFinished(() => void delete process.env.K);
  return { kept, sent: () => server.requests.length };
}

const CELL = { code: 'var n = (globalThis.n ?? 0) + 1; [n, await llm_query("x", { tools: [] })]' };
/** What differs is the budget that is left. */
const same = ({ budget: _left, ...answer }: Readonly<Record<string, unknown>>) => answer;

test("the same key gives the same answer, unpaid, in a later process too", async () => {
  const { kept, sent } = await scene();
  const first = await openTools(kept, { cwd: kept.cwd });
  const load = await callerOf(first)("rlm_load", { path: "a.txt" }, "run/1/0");
  const cell = await callerOf(first)("rlm_exec", CELL, "run/1/1");
  const failed = await callerOf(first)("rlm_exec", { code: "missing.field" }, "run/1/2");
  const query = await callerOf(first)("rlm_query", { prompt: "alpha?" }, "run/1/3");
  expect([cell, failed]).toMatchObject([{ result_json: [1, "X"] }, { success: false, error_code: "js_error" }]);
  const paid = sent();
  await first[Symbol.asyncDispose]();
  await using again = await openTools(kept, { cwd: kept.cwd });
  const call = callerOf(again);
  expect(await call("rlm_load", { path: "a.txt" }, "run/1/0")).toEqual(load);
  expect(same(await call("rlm_exec", CELL, "run/1/1"))).toEqual(same(cell));
  expect(same(await call("rlm_exec", { code: "missing.field" }, "run/1/2"))).toEqual(same(failed));
  expect(same(await call("rlm_query", { prompt: "alpha?" }, "run/1/3"))).toEqual(same(query));
  expect(sent()).toBe(paid);
  // Without a key, and with another one, it is another call.
  expect(await call("rlm_exec", CELL)).toMatchObject({ result_json: [2, "X"] });
  expect(await call("rlm_exec", CELL, "run/2/0")).toMatchObject({ result_json: [3, "X"] });
  // A load with this key has been made, and drops nothing again.
  expect(await call("rlm_load", { path: "b.txt", reset: true }, "run/3/0")).toMatchObject({ success: true });
  await call("rlm_exec", { code: "var later = 1" });
  expect(await call("rlm_load", { path: "b.txt", reset: true }, "run/3/0")).toMatchObject({ success: true });
  expect(await call("rlm_exec", { code: "later" })).toMatchObject({ result_json: 1 });
});

test("a key names one call", async () => {
  const { kept } = await scene();
  await using tools = await openTools(kept, { cwd: kept.cwd });
  const call = callerOf(tools);
  await call("rlm_load", { path: "a.txt" }, "run/1/0");
  const other = { success: false, error_code: "invalid_argument" };
  expect(await call("rlm_load", { path: "b.txt" }, "run/1/0")).toMatchObject({
    ...other,
    error_message:
      'the idempotency key "run/1/0" was given to a call with another tool or other arguments than this one of rlm_load',
  });
  expect(await call("rlm_exec", { code: "1" }, "run/1/0")).toMatchObject(other);
  for (const wrong of ["", "x".repeat(257)]) {
    expect(await call("rlm_exec", { code: "1" }, wrong)).toMatchObject({
      ...other,
      error_message: "the idempotency key must be a text of 1 to 256 characters",
    });
  }
  // Nothing was begun under these, and the order of arguments is no difference.
  const args = { limits_override: { max_output_bytes: 500 }, code: "'ran'" };
  expect(await call("rlm_exec", args, "x".repeat(256))).toMatchObject({ result_json: "ran" });
  const turned = { code: "'ran'", limits_override: { max_output_bytes: 500 } };
  expect(await call("rlm_exec", turned, "x".repeat(256))).toMatchObject({ result_json: "ran" });
});

test("a call that was cancelled is made again under its key", async () => {
  const { kept, sent } = await scene();
  await using tools = await openTools(kept, { cwd: kept.cwd });
  const exec = tools.find(({ name }) => name === "rlm_exec");
  await callerOf(tools)("rlm_load", { path: "a.txt" });
  const slow = { code: 'await llm_query("slow once", { tools: [] })' };
  const stop = new AbortController();
  const cancelled = exec?.execute(slow, { idempotencyKey: "k", signal: stop.signal });
  await vi.waitFor(() => expect(sent()).toBe(1), { timeout: 30_000 });
  stop.abort();
  expect(await cancelled).toMatchObject({ error_code: "cancelled" });
  expect(await exec?.execute(slow, { idempotencyKey: "k" })).toMatchObject({ success: true, result_json: "SLOW ONCE" });
});

test("a key is on disk with the start of its exec: a kill while it runs, or before its answer is told, pays nothing twice", async () => {
  const stuck = Promise.withResolvers<void>();
  const server = await startModelServer(({ prompt, index }) => {
    if (prompt !== "two" || index > 1) return { text: prompt.toUpperCase() };
    stuck.resolve();
    return { end: "stuck" };
  });
  onTestFinished(() => server.close());
  const cwd = folderWith({ "a.txt": "alpha" });
  const env = { ...process.env, K: "key" };
  const typed = (calls: readonly unknown[]) => [...TOOL_HOST, join(cwd, "store"), server.url, JSON.stringify(calls)];
  const code =
    'var ran = (globalThis.ran ?? 0) + 1; [ran, await llm_query("one", { tools: [] }), await llm_query("two", { tools: [] })]';
  const exec = ["rlm_exec", { code }, { idempotencyKey: "run/1/1" }];
  const load = ["rlm_load", { path: "a.txt" }, { idempotencyKey: "run/1/0" }];
  const host = spawn(process.execPath, typed([load, exec]), { cwd, env, stdio: "ignore" });
  await stuck.promise;
  host.kill("SIGKILL");
  await once(host, "exit");
  // Another call comes first; then the same key, twice.
  const calls = [["rlm_exec", { code: "ran" }, { idempotencyKey: "run/1/2" }], exec, exec];
  const later = await run(process.execPath, typed(calls), { cwd, env });
  const answers = later.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const done = [1, "ONE", "TWO"];
  expect(answers, later.output).toMatchObject([{ result_json: 1 }, { result_json: done }, { result_json: done }]);
  expect(server.requests.map(({ prompt }) => prompt)).toEqual(["one", "two", "two"]);
});

test("a death after each commit of a call leaves one exec for its key", async () => {
  const server = await startModelServer(({ prompt }) => ({ text: prompt.toUpperCase() }));
  onTestFinished(() => server.close());
  process.env.K = "key";
  onTestFinished(() => void delete process.env.K);
  await using kept = await openStore(null);
  const options = { session: "agent", model: "local/m", baseUrl: server.url, apiKeyEnv: "K" };
  /** Makes a call over this store, in a session that is opened for it. */
  const call = async (store: Store, args: unknown, key: string) => {
    await using session = await openSessionWith(options, { store });
    await using tools = await openTools(session);
    return await callerOf(tools)("rlm_exec", args, key);
  };
  /** The store, until so many of its operations have written. */
  const dying = (operation: number) => {
    const seen = { writes: 0, isDead: false };
    const store = storeAround(kept, async (name, run) => {
      if (name === "release") return run();
      if (seen.isDead) throw new Error("the process is gone");
      const done = await run();
      seen.isDead = WRITES.has(name) && ++seen.writes === operation;
      if (seen.isDead) throw new Error("the process is gone");
      return done;
    });
    return { store, seen };
  };
  await using first = await openSessionWith(options, { store: kept });
  await first.load({ text: "alpha", name: "a.txt" });
  await first.close();
  let deaths = 0;
  for (let operation = 1; ; operation++) {
    const code = `var n = (globalThis.n ?? 0) + 1; [n, await llm_query("${operation}", { tools: [] })]`;
    const { store, seen } = dying(operation);
    await call(store, { code }, `run/${operation}`).catch(() => {});
    // A lease goes with its process.
    const row = await kept.find("agent");
    if (row?.busy) await kept.release(row.id);
    const later = await call(kept, { code }, `run/${operation}`);
    expect(later).toMatchObject({ result_json: [operation, String(operation)] });
    if (!seen.isDead) break;
    deaths += 1;
  }
  // The lease, and the commits of the start, the call, its answer and the end.
  expect(deaths).toBeGreaterThanOrEqual(4);
  const times = Map.groupBy(server.requests, ({ prompt }) => prompt);
  expect(Math.max(...[...times.values()].map(({ length }) => length))).toBeLessThanOrEqual(2);
}, 120_000);
