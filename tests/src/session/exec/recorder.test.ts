import { expect, test } from "vitest";
import type { Checkpoint, PendingCall, Waiting } from "../../../../runtime/index.ts";
import { openCalls, openOnce } from "../../../../src/session/exec/calls.ts";
import { openExecJournal } from "../../../../src/session/exec/recorder.ts";
import type { Recorder } from "../../../../src/session/exec/work.ts";
import { EMPTY_ACCOUNT, follow } from "../../../../src/session/journal/account.ts";
import type { JournalRecord } from "../../../../src/session/journal/records.ts";
import { openImageChain } from "../../../../src/session/machine/image-chain.ts";
import { openBudget } from "../../../../src/session/sub-calls/budget.ts";
import { openTime } from "../../../../src/session/sub-calls/call-time.ts";
import type { Answered, Answers, CallContext } from "../../../../src/session/sub-calls/port.ts";
import { newState } from "../../../support/checkpoints.ts";

const BUDGET = { max_tokens: 1000, max_sub_calls: 10, max_time_ms: 1000, max_cost_usd: null };
const clock = { now: () => 7, monotonic: () => 0, after: () => () => {} };
const call = (number: number): PendingCall => ({ id: `x.${number}`, name: "later", args: [number] });
const waiting = (calls: readonly PendingCall[], image: Checkpoint | null): Waiting => ({
  ...{ kind: "waiting", calls, state: newState(), image },
});
const imageOf = (id: string): Checkpoint => ({
  ...{ delta: { id, base: null, pages: [], meta: Object.create(null) }, answers: [], waiting: ["x.1"], ms: 0 },
  isSpent: false,
});

/** A journal over a store that is a list, and a machine of which only images can be asked. */
function scene(answer: (context: CallContext) => Promise<Answered> = () => Promise.reject(new Error("unused"))) {
  let account = EMPTY_ACCOUNT;
  const records: JournalRecord[] = [];
  const asked: string[] = [];
  const commit = (made: readonly JournalRecord[]) => {
    records.push(...made);
    account = made.reduce(follow, account);
  };
  const cell = { exec_id: "x", kind: "cell", input: "", cell: "", limits: {}, helpers_hash: null } as const;
  commit([{ record: "rlm_start", ...cell, rest: [], at: 0 }]);
  const images = openImageChain("baseline:0", null, () => "step");
  const sandbox = {
    async checkpoint({ id }: { readonly id: string }) {
      asked.push(id);
      return imageOf(id);
    },
  };
  const budget = openBudget({ budget: BUDGET, question: null }, account);
  const time = openTime(clock, 0, 1000);
  const recorder: Recorder = {
    state: () => ({ account, context: null }),
    noticed: () => {},
    hasFailed: () => false,
    commit: async (made) => commit(made),
    async capture(of, kind, image) {
      const capturing = { kind, exec_id: "x", after: null, commands: [], at: 0 };
      return { ...(await of.images.capture(sandbox, capturing, image)), since: 0 };
    },
    async keep(capture, kept) {
      commit(kept.records);
      capture.kept();
    },
  };
  const answers: Answers = { facts: {}, answer: (_, context) => answer(context), repeatable: () => true };
  const setup = Object.assign(Object.create(null), {
    ...{ answers, rules: { onRestart: "send" }, env: { emit: () => {}, clock }, options: {}, job: null },
  });
  const calls = openCalls({
    exec_id: "x",
    waits: false,
    takenOver: { answer: () => undefined, lack: () => null },
    isForModel: false,
    setup,
    recorder,
    budget,
    time,
    from: null,
    once: openOnce({ setup, recorder }, null),
    history: null,
    suspend: undefined,
  });
  const machine = Object.assign(Object.create(null), { images });
  const release = { machine: () => machine, kept: () => {} };
  const work = { setup, exec_id: "x", recorder, events: [] };
  const journal = openExecJournal(work, release, calls, time, { keep: async () => {} }, true);
  return { journal, calls, budget, records, asked };
}

test("calls without an image get one before their records are kept", async () => {
  const { journal, records, asked } = scene();
  await journal.keepStep(waiting([call(1)], null));
  expect(asked).toEqual(["step"]);
  expect(records.at(-1)).toMatchObject({ record: "rlm_tool_call", call_id: "x.1", checkpoint_id: "step" });
});

test("only calls that have no record are kept, with the image that was taken already", async () => {
  const { journal, records, asked } = scene();
  await journal.keepStep(waiting([call(1)], imageOf("a")));
  await journal.keepStep(waiting([call(1), call(2)], imageOf("b")));
  await journal.keepStep(waiting([call(1), call(2)], null));
  const kept = records.flatMap((record) => (record.record === "rlm_tool_call" ? [record] : []));
  expect(kept.map(({ call_id, checkpoint_id, call_count }) => ({ call_id, checkpoint_id, call_count }))).toEqual([
    { call_id: "x.1", checkpoint_id: "a", call_count: 1 },
    { call_id: "x.2", checkpoint_id: "b", call_count: 2 },
  ]);
  expect(asked).toEqual([]);
});

test("a kept result gives back what its call held, and counts what was spent once", async () => {
  const usage = { input: 10, output: 5, cache_read: 0, cache_write: 0, cost_usd: 0 };
  const { journal, calls, budget } = scene(async (context) => {
    const held = await context.budget.reserve({ input_tokens: 300, max_tokens: 200, cost_usd: 0 }, context.signal);
    if ("settle" in held) held.settle(usage);
    const record = { usage, attempts: [], model: "a/b", refused: false, cached: false, tool_override_event: null };
    return { settlement: { ok: true, value: "yes" }, record, cacheKey: null };
  });
  await journal.keepStep(waiting([call(1)], imageOf("a")));
  const { signal } = new AbortController();
  await journal.keepResult(call(1), await calls.answer(call(1), signal, async () => signal), signal);
  await journal.keepStep(waiting([call(2)], imageOf("b")));
  expect(budget.left()).toMatchObject({ remaining_tokens: 985, remaining_sub_calls: 8 });
  expect(budget.held().tokens).toBe(0);
});
