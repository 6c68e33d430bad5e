import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import * as limits from "../../runtime/limits.ts";
import { ROOT } from "../../scripts/process.ts";
import { textFromString } from "../../src/context/index.ts";
import { openTaskThread } from "../../src/models/tasks/task-thread.ts";
import type { HostedOptions, SessionFunction } from "../../src/session/index.ts";
import { openStoreQuota } from "../../src/session/store-quota.ts";
import { openTime } from "../../src/session/sub-calls/call-time.ts";
import { newState } from "../support/checkpoints.ts";
import { openMachineHere } from "../support/machine-here.ts";
import { openMovedClock } from "../support/moved-clock.ts";
import { meeting, openScripted, using } from "../support/scripted-session.ts";
import { empty, folderWith } from "../support/tree.ts";

/** By limit: the test that fails if nothing holds to it any more, as its file and a part of its title or text. */
const ELSEWHERE: Readonly<Record<string, readonly [file: string, part: string]>> = {
  "LIMITS.wholeResultBytes": ["tests/src/session/whole-result.test.ts", "a result over 100 MB is not delivered"],
  "LIMITS.sourceBytes": ["tests/src/session/limits.test.ts", "a source over 256 KB is refused by its size"],
  "LIMITS.memoryStoreBytes": ["tests/cells/memory__limit.js", "memory store.*5242880"],
  "LIMITS.helpersBytes": ["tests/cells/helpers__limit.js", "helper_limit_exceeded"],
  "LIMITS.files": ["tests/src/context/load/load.test.ts", "more files than the limit are too many"],
  "LIMITS.mostContextMb": ["tests/src/session/options.test.ts", "maxContextMb must be a whole number from 1 to 16384"],
  "LIMITS.mostFiles": ["tests/src/session/options.test.ts", "maxFiles must be a whole number from 1 to 1000000"],
  "LIMITS.agentBytes": ["tests/src/models/agents/hostile.test.ts", "toBe(20 * 2 ** 20)"],
  "LIMITS.documentPlaces": ["tests/src/documents/conversions.test.ts", "a context has 100,000 places with a label"],
  "LIMITS.contextBytes": ["tests/src/context/load/load.test.ts", "more bytes than the limit are too much"],
  "LIMITS.directoryFileBytes": ["tests/src/context/load/load.test.ts", "what a folder's load skips is reported"],
  "LIMITS.searchIndexBytes": ["tests/src/context/search/search.test.ts", "search_too_large"],
  "LIMITS.serverWaitMs": ["tests/src/session/sub-calls/away.test.ts", "most_ms: 60_000"],
  "LIMITS.serverWaitMost": ["tests/src/session/sub-calls/away.test.ts", "waitForServerMs: 3_600_001"],
  "LIMITS.jobServerWaitMs": ["tests/src/runs/session-options.test.ts", "waitForServerMs: 600_000"],
  "LIMITS.localCallTimeoutMs": ["tests/src/session/sub-calls/away.test.ts", "a local server has more time"],
  "LIMITS.answerUnits": ["tests/src/models/sub-call/sub-call.test.ts", "200001 characters, the limit is 200000"],
  "LIMITS.replyBytes": ["tests/src/models/pi-ai/reply-bounds.test.ts", "without an end is cut by name"],
  "LIMITS.errorBodyBytes": ["tests/src/models/pi-ai/reply-bounds.test.ts", "an error without an end is read to 64 KB"],
  "LIMITS.maxDepth": ["tests/src/session/options.test.ts", "maxDepth must be a whole number from 0 to 5"],
  "LIMITS.guestsPerLevel": [
    "tests/src/session/sub-calls/places.test.ts",
    "guests have places of their own at each depth",
  ],
  "LIMITS.idleThreadMs": ["tests/runtime/threads/pool.test.ts", "a kept one ends if no machine takes it"],
  "LIMITS.callKeys": ["tests/src/session/journal/account.test.ts", "the newest 1,000 keys of calls are remembered"],
  "LIMITS.callKeyUnits": ["tests/src/tools/keyed-calls.test.ts", "must be a text of 1 to 256 characters"],
  "LIMITS.onceWaitMs": ["tests/src/session/sub-calls/functions.test.ts", "waiting up to 10 s for fetchPage"],
  "LIMITS.rateWaitMs": ["tests/src/runs/run-money.test.ts", "for more than two minutes the job is suspended"],
  "LIMITS.leadUnits": ["tests/src/session/sub-calls/lead.test.ts", "that are short"],
  "LIMITS.leadMs": ["tests/src/session/sub-calls/lead.test.ts", "or none for 15 seconds"],
  "LIMITS.workflowAtOnce": ["tests/src/workflow/parity.test.ts", "16 agents at once"],
  "LIMITS.workflowAgents": ["tests/src/workflow/parity.test.ts", "WORKFLOW_BUDGET.max_sub_calls).toBe(1000)"],
  "LIMITS.workflowItems": ["tests/src/workflow/parity.test.ts", "4097 items, the limit is 4096"],
  "DEFAULT_BUDGET.max_cost_usd": ["tests/src/session/sub-calls/sub-calls.test.ts", "dollars run out by the price list"],
  DEFAULT_JOB_MS: ["tests/src/runs/session-options.test.ts", "3_600_000"],
  TERMINATE_MS: ["tests/runtime/threads/thread.test.ts", "a guest has 500 ms more than its limit"],
  COMMAND_MS: ["tests/runtime/threads/thread.test.ts", "has a limit of its own"],
};

const TOPICS = Array.from({ length: 60 }, (_, n) => `- [Topic ${n}](${n}.txt) — this topic`).join("\n");

/** A session whose model says `ok`, over so many documents. */
async function open(options: HostedOptions = {}, documents = 1) {
  const files = { ...empty(...Array.from({ length: documents }, (_, n) => `${n}.txt`)), "AGENTS.md": TOPICS };
  const words = Object.fromEntries(Object.keys(files).map((name) => [name, `word ${name}\n`]));
  const cwd = folderWith({ ...words, "AGENTS.md": TOPICS });
  const scripted = await openScripted(() => "ok", { cwd, ...options });
  await scripted.session.load(".");
  const result = async (code: string) => (await scripted.session.exec(code)).result_json;
  const message = async (code: string) => result(`${code}.then(() => "sent", (error) => error.message)`);
  return { ...scripted, result, message };
}

const lent: SessionFunction = {
  ...{ description: "f", parameters: {}, effects: "none" },
  run: () => "x".repeat(2 ** 20),
};

const wide = { budget: { max_sub_calls: 1e6, max_tokens: 1e9 } };

/** By limit: what crosses it, and is bounded. */
const HERE: Readonly<Record<string, () => Promise<void>>> = {
  async "LIMITS.guestHeapBytes"() {
    const { session } = await open();
    const done = await session.exec("const all = []; for (let n = 0; n < 140; n++) all.push(new ArrayBuffer(2 ** 20))");
    expect(done).toMatchObject({
      error_code: "memory_limit_exceeded",
      error_message: expect.stringContaining("128 MB"),
    });
  },
  async "LIMITS.sessionMb"() {
    const space = openStoreQuota({ id: "s", name: "s", bytes: 2048 * 2 ** 20 - 1, text_bytes: 0 }, null, {
      maxContextBytes: 0,
      hashes: [],
    });
    const context = { hash: "", parts: [], text: textFromString("") };
    space.take(context, 1);
    expect(() => space.take(context, 1)).toThrow(expect.objectContaining({ code: "store_full" }));
  },
  async "LIMITS.searchResults"() {
    expect(await (await open({}, 150)).result('search("word", 1000).length')).toBe(100);
  },
  async "LIMITS.routeResults"() {
    expect(await (await open()).result('find_routes("topic", 1000).length')).toBe(50);
  },
  async "LIMITS.listedDocuments"() {
    expect(await (await open({}, 1001)).result('list_docs("", { limit: 5000 }).length')).toBe(1000);
  },
  async "LIMITS.errorMessageUnits"() {
    const { session } = await open();
    const done = await session.exec('throw new Error("x".repeat(1e5))');
    expect(done).toMatchObject({ error_message: `Error: ${"x".repeat(8192)}…` });
  },
  async "LIMITS.batchPrompts"() {
    expect(await (await open(wide)).message('llm_query_batch(Array(1001).fill("q"))')).toMatch(/limit 1,000/);
  },
  async "LIMITS.promptBytes"() {
    expect(await (await open(wide)).message('llm_query("x".repeat(2 ** 20 + 1))')).toMatch(/limit 1 MB/);
  },
  async "LIMITS.functionCalls"() {
    const { session } = await open({ functions: { f: lent } });
    expect(session.budget().remaining_functions).toBe(1000);
  },
  async "LIMITS.functionBytes"() {
    const { message } = await open({ functions: { f: lent } });
    expect(await message('f({ x: "x".repeat(2 ** 20) })')).toMatch(/limit 1 MB/);
    expect(await message("f({})")).toMatch(/limit 1 MB/);
  },
  async "LIMITS.contextPlaces"() {
    const code = 'rlm_query("q", { context: Array(10_001).fill([0, 1]) })';
    expect(await (await open(wide)).message(code)).toMatch(/limit 10,000/);
  },
  async "LIMITS.askTurns"() {
    const { session } = await open();
    await expect(session.ask("q", { maxTurns: 101 })).rejects.toMatchObject({ code: "invalid_argument" });
  },
  async "LIMITS.childSubCalls"() {
    expect(await (await open(wide)).message('rlm_query("q", { max_sub_calls: 1001 })')).toMatch(/from 0 to 1000/);
  },
  async "LIMITS.childSubCallsDefault"() {
    const { session } = await open(wide);
    expect((await session.dryRun('await rlm_query("q")')).estimate.child_sub_calls).toBe(10);
  },
  async "LIMITS.subAgentTurns"() {
    const { session, seen } = await openScripted(() => using("list_dir", { path: "." }), { cwd: folderWith() });
    await session.exec('await llm_query("q")');
    expect(seen.prompts).toHaveLength(10);
  },
  async "LIMITS.subCallMaxTokens"() {
    expect(await (await requestOf()).maxTokens).toBe(4096);
  },
  async "LIMITS.subCallTimeoutMs"() {
    const { timeoutMs } = await requestOf();
    expect(timeoutMs).toBeLessThanOrEqual(120_000);
  },
  async "LIMITS.taskMs"() {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    await using thread = openTaskThread();
    const slow = { type: "string", pattern: "^(x{500}){6}y" };
    let end: unknown;
    const task = thread.run("value", [JSON.stringify("x".repeat(2e6)), slow, []], new AbortController().signal);
    const ended = task.catch((error: unknown) => {
      end = error;
    });
    while (vi.getTimerCount() === 0) await setImmediate();
    await vi.advanceTimersByTimeAsync(9999);
    expect(end).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await ended;
    expect(end).toMatchObject({ reason: "time" });
  },
  async "LIMITS.concurrency"() {
    const meet = meeting(5);
    const { session, seen } = await openScripted(() => meet().then(() => "ok"), wide);
    await session.exec('await Promise.all(Array.from({ length: 12 }, () => llm_query("q", { tools: [] })))');
    expect(seen.peak).toBe(5);
  },
  async "LIMITS.maxConcurrency"() {
    const meet = meeting(100);
    const { session, seen } = await openScripted(() => meet().then(() => "ok"), wide);
    await session.exec('await llm_query_batch(Array(150).fill("q"), { tools: [], max_concurrent: 1000 })');
    expect(seen.peak).toBe(100);
  },
  async "LIMITS.depth"() {
    const next: Readonly<Record<string, string>> = { Zero: "One", One: "Two", Two: "Three" };
    const { session } = await openScripted(({ messages: [first] }) => {
      const level = Object.keys(next).find((name) => JSON.stringify(first).includes(`Level ${name}`)) ?? "Zero";
      return using("rlm_exec", { code: `answer(await rlm_query("Level ${next[level]}").catch((e) => e.code))` });
    }, wide);
    await session.load({ text: "some text", name: "text" });
    expect(await session.ask("Level Zero")).toMatchObject({ answer: "depth_exceeded", depth_reached: 2 });
  },
  async "LIMITS.timeOverMs"() {
    const clock = openMovedClock();
    using time = openTime(clock, 0, 1000);
    clock.move(1000 + 4999);
    expect([time.over.aborted, time.out.aborted]).toEqual([true, false]);
    clock.move(1);
    expect(time.out.aborted).toBe(true);
  },
  async "LIMITS.idleMs"() {
    expect(await timersOf(async () => void (await (await open()).result("1")))).toContain(60_000);
  },
  async "DEFAULT_EXEC_LIMITS.max_output_bytes"() {
    const { session } = await open();
    const { stdout, truncated } = await session.exec('print("x".repeat(200_000))');
    expect([stdout.length <= 102_400, truncated]).toEqual([true, true]);
  },
  async "DEFAULT_EXEC_LIMITS.max_execution_ms"() {
    const { session } = await open();
    expect((await session.exec("1")).limits_applied.max_execution_ms).toBe(30_000);
  },
  async "DEFAULT_EXEC_LIMITS.max_find_results"() {
    const { session } = await open();
    await session.load({ text: "x".repeat(10_001), name: "x" });
    const { result_json } = await session.exec('const { matches, capped } = find("x"); [matches.length, capped]');
    expect(result_json).toEqual([10_000, true]);
  },
  async "DEFAULT_EXEC_LIMITS.max_result_bytes"() {
    const { session } = await open();
    const { result_json, warnings } = await session.exec('"x".repeat(2 ** 20)');
    expect([result_json, warnings]).toEqual([null, [expect.stringMatching(/^result_too_large: .* > 1 MB$/)]]);
  },
  async "LIMITS.agentSeconds"() {
    const print = ["sh", "-c", 'cat "$(dirname "$0")/job.json"', "{prompt_file}"];
    const { session } = await open({ agents: { own: { command: print } } });
    const { result_json } = await session.exec('JSON.parse(await llm_query("q", { agent: "own" }))', {
      workflow: true,
    });
    const { timeout_ms } = Object(result_json);
    expect([timeout_ms > 3_500_000, timeout_ms <= 3_600_000]).toEqual([true, true]);
  },
  "MAX_EXEC_LIMITS.max_output_bytes": () => mostOf("max_output_bytes", 1_048_576),
  "MAX_EXEC_LIMITS.max_execution_ms": () => mostOf("max_execution_ms", 120_000),
  "MAX_EXEC_LIMITS.max_find_results": () => mostOf("max_find_results", 100_000),
  "MAX_EXEC_LIMITS.max_result_bytes": () => mostOf("max_result_bytes", 1_048_576),
  async "DEFAULT_BUDGET.max_sub_calls"() {
    const { session, seen } = await open();
    await session.exec('await Promise.allSettled(Array.from({ length: 60 }, () => llm_query("q", { tools: [] })))');
    expect(seen.prompts).toHaveLength(50);
  },
  async "DEFAULT_BUDGET.max_tokens"() {
    const { message, seen } = await open();
    expect(await message('llm_query("q", { tools: [], max_tokens: 600_000 })')).toMatch(/token/);
    expect(seen.prompts).toEqual([]);
  },
  async "DEFAULT_BUDGET.max_time_ms"() {
    const timers = await timersOf(async () => void (await (await open()).result("1")));
    expect(timers.some((ms) => ms > 290_000 && ms <= 300_000)).toBe(true);
  },
  async DRAIN_MS() {
    // Each look at this clock takes a twentieth of a millisecond: 20,000 jobs take a second.
    let now = 0;
    const clock = { now: () => now, monotonic: () => (now += 0.05), after: () => () => {} };
    using here = await openMachineHere(clock);
    const { machine } = here;
    const source = "for (let i = 0; i < 20_000; i++) Promise.resolve().then(() => i); for (;;);";
    const state = { ...newState(), limits: { ...limits.DEFAULT_EXEC_LIMITS, max_execution_ms: 50 } };
    expect(machine.startCell({ source, state, facts: null })).toMatchObject({ end: { kind: "timeout" }, clean: false });
  },
  async DEFAULT_ASK_MS() {
    const timers = await timersOf(async () => {
      const { session } = await openScripted(() => "The answer.");
      await session.load({ text: "some text", name: "text" });
      await session.ask("q");
    });
    expect(timers.some((ms) => ms > 1_700_000 && ms <= 1_800_000)).toBe(true);
  },
};

/** What a session gets that asks for more than it may have. */
async function mostOf(name: keyof limits.ExecLimits, most: number): Promise<void> {
  const { session } = await open();
  const { limits_applied } = await session.exec("1", { limits: { [name]: 100 * 2 ** 20 } });
  expect(limits_applied[name]).toBe(most);
}

/** What a call without options asks the model for. */
async function requestOf() {
  const asked: { maxTokens: number; timeoutMs: number }[] = [];
  const { session } = await openScripted((request) => {
    asked.push(request);
    return "ok";
  });
  await session.exec('await llm_query("q", { tools: [] })');
  return asked[0] ?? { maxTokens: 0, timeoutMs: Number.POSITIVE_INFINITY };
}

/** The times, ms, after which something was to happen that the work has set a timer for. */
async function timersOf(work: () => Promise<void>): Promise<number[]> {
  const spy = vi.spyOn(globalThis, "setTimeout");
  onTestFinished(() => spy.mockRestore());
  await work();
  return spy.mock.calls.map(([, ms]) => ms ?? 0);
}

/** Names of all limits: numbers of the module, and of its objects. */
const NAMES = Object.entries(limits).flatMap(([name, value]) => {
  if (typeof value === "object") return Object.keys(value).map((key) => `${name}.${key}`);
  return typeof value === "number" ? [name] : [];
});

test("each limit has a test that fails if nothing holds to it", () => {
  const canaries = [...Object.keys(ELSEWHERE), ...Object.keys(HERE)];
  expect(
    NAMES.filter((name) => !canaries.includes(name)),
    "limits without a canary",
  ).toEqual([]);
  expect(canaries.toSorted()).toEqual(NAMES.toSorted());
  for (const [file, part] of Object.values(ELSEWHERE)) expect(readFileSync(join(ROOT, file), "utf8")).toContain(part);
});

test.each(Object.entries(HERE))("%s is live", async (_name, cross) => cross());
