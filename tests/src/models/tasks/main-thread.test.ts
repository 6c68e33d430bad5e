import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import type { Model, ModelRequest, ModelTurn } from "../../../../src/models/port.ts";
import { threadedTools } from "../../../../src/models/sub-call/in-thread.ts";
import { placeholderAnswer, runSubCall, type SubCall } from "../../../../src/models/sub-call/sub-call.ts";
import { openTaskThread } from "../../../../src/models/tasks/task-thread.ts";
import { folderWith } from "../../../support/tree.ts";

/** Matching this takes a step per character and state: 1.5 MB of `x` take most of a minute. */
const SLOW = "x{3000}[^x]";
const USAGE = { input: 1, output: 1, cache_read: 0, cache_write: 0, cost_usd: 0 };
const BOMB: Json = {
  allOf: Array.from({ length: 500 }, () => ({ $ref: "#/$defs/slow" })),
  $defs: { slow: { type: "string", pattern: SLOW } },
};
const A_WORD = { type: "object", properties: { a: { $ref: "#/$defs/words" } } };
const WORDS: Json = { ...A_WORD, $defs: { words: { enum: [1, 2] } } };

const call = (part: Partial<SubCall>): SubCall => ({
  ...{ prompt: "Q", system: null, tools: [], schema: null, or_text: false, max_tokens: 100, timeout_ms: 60_000 },
  ...{ model: null, thinking: "off" },
  ...part,
});

function modelOf(...turns: Partial<ModelTurn>[]): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  return {
    ...{ id: "test/model", price: null, window: null, requests },
    async complete(request) {
      requests.push({ ...request, messages: [...request.messages] });
      const turn = turns[Math.min(requests.length, turns.length) - 1];
      const stop = turn?.toolUses ? "tools" : "end";
      return { ok: true, turn: { text: "", toolUses: [], stop, raw: null, ...turn }, usage: USAGE, charged: true };
    },
  };
}

const grepFor = (pattern: string) => ({ toolUses: [{ id: "1", name: "grep", arguments: { pattern } }] });

async function answerOf(
  model: Model,
  part: Partial<SubCall>,
  { limitMs = 60_000, folder = "/", signal = new AbortController().signal } = {},
) {
  await using thread = openTaskThread({ limitMs });
  return await runSubCall(
    call(part),
    {
      models: { fallback: model.id, resolve: () => model, price: () => null },
      budget: { reserve: async () => ({ settle() {} }) },
      tools: threadedTools({ roots: [folder], cwd: folder }, thread),
      thread,
      conversation: "exec-1.1",
      maxTurns: 10,
      clock: { now: () => 0, monotonic: () => performance.now() },
      random: Math.random,
      sleep: (ms, aborted) => sleep(ms, undefined, { signal: aborted }).catch(() => {}),
    },
    signal,
  );
}

/** How often a timer fired while the work went on: a thread that is held lets it fire once or not at all. */
async function ticksDuring(work: () => Promise<unknown>): Promise<number> {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 5);
  await work();
  clearInterval(timer);
  return ticks;
}

const haystack = () => folderWith({ "big.txt": "x".repeat(1_500_000) });

test("a search that would take a minute ends with the call's time, and holds nobody up", async () => {
  const folder = haystack();
  const ticks = await ticksDuring(async () => {
    const outcome = await answerOf(modelOf(grepFor(SLOW)), { tools: ["grep"], timeout_ms: 400 }, { folder });
    expect(outcome).toMatchObject({ ok: false, error: { code: "timeout", message: "no answer within 400 ms" } });
  });
  expect(ticks).toBeGreaterThan(2);
});

test("a search that is cancelled ends at once", async () => {
  const stop = new AbortController();
  const model = modelOf(grepFor(SLOW));
  const answer = answerOf(model, { tools: ["grep"] }, { folder: haystack(), signal: stop.signal });
  await vi.waitFor(() => expect(model.requests).toHaveLength(1));
  stop.abort();
  const outcome = await answer;
  expect(outcome).toMatchObject({ ok: false, error: { code: "cancelled" } });
});

test("a tool that is ended for its time tells the model so, which goes on", async () => {
  const model = modelOf(grepFor(SLOW), grepFor("absent"), { text: "done" });
  const outcome = await answerOf(model, { tools: ["grep"] }, { folder: haystack(), limitMs: 1000 });
  expect(outcome).toMatchObject({ ok: true, value: "done" });
  expect(model.requests.at(-1)?.messages.flatMap((message) => (message.role === "tool" ? message.text : []))).toEqual([
    "grep failed: it took longer than 1 s and was ended. Search a smaller folder, or for a simpler pattern.",
    "No matches found",
  ]);
});

test("a schema that would compare for minutes fails as schema_mismatch, and holds nobody up", async () => {
  const model = modelOf({ text: JSON.stringify("x".repeat(150_000)) });
  const ticks = await ticksDuring(async () => {
    expect(await answerOf(model, { schema: BOMB }, { limitMs: 400 })).toMatchObject({
      ok: false,
      error: {
        code: "schema_mismatch",
        message: "the answer could not be compared with the schema: it took longer than 0.4 s and was ended",
        suggestion: "Simplify the schema: fewer patterns, alternatives and references.",
      },
    });
  });
  expect(ticks).toBeGreaterThan(2);
  expect(model.requests).toHaveLength(1);
});

test("within the call's time the call's own limit counts", async () => {
  const model = modelOf({ text: JSON.stringify("x".repeat(150_000)) });
  expect(await answerOf(model, { schema: BOMB, timeout_ms: 300 })).toMatchObject({ error: { code: "timeout" } });
});

test("one thread serves all calls, one after the other, and a new one takes its place when it was ended", async () => {
  await using thread = openTaskThread({ limitMs: 1000 });
  const never = new AbortController().signal;
  const slow = thread.run("value", [JSON.stringify("x".repeat(150_000)), BOMB, []], never);
  const waiting = thread.run("value", ['{"a":1}', WORDS, []], never);
  const aborted = thread.run("value", ["{}", WORDS, []], AbortSignal.abort());
  await expect(aborted).rejects.toMatchObject({ reason: "cancelled" });
  await expect(slow).rejects.toMatchObject({ reason: "time" });
  expect(await waiting).toEqual({ ok: true, value: { a: 1 } });
});

test("a dry run looks for a placeholder beside the main thread", async () => {
  await using thread = openTaskThread({ limitMs: 300 });
  const slow = { type: "string", minLength: 100_000, pattern: SLOW };
  const hard = { type: "array", minItems: 1000, uniqueItems: true, items: slow };
  let value: Json = null;
  const ticks = await ticksDuring(async () => {
    value = await placeholderAnswer({ schema: hard, assumed: 0 }, thread, new AbortController().signal);
  });
  expect(value).toEqual({});
  expect(ticks).toBeGreaterThan(2);
});
