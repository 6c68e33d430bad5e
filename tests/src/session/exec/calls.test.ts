import { expect, test } from "vitest";
import type { PendingCall } from "../../../../runtime/index.ts";
import type { CallProgress, SessionEvent } from "../../../../src/session/events.ts";
import { openCalls, openOnce } from "../../../../src/session/exec/calls.ts";
import { EMPTY_ACCOUNT } from "../../../../src/session/journal/account.ts";
import { begun, type ExecRecords, grown } from "../../../../src/session/journal/exec-records.ts";
import type { Suspend } from "../../../../src/session/journal/records.ts";
import type { OnRestart } from "../../../../src/session/option-types.ts";
import { openBudget } from "../../../../src/session/sub-calls/budget.ts";
import { openTime } from "../../../../src/session/sub-calls/call-time.ts";
import type { Answered, Answers, CallContext } from "../../../../src/session/sub-calls/port.ts";
import { FREE } from "../../../../src/session/sub-calls/port.ts";

const BUDGET = { max_tokens: 1000, max_sub_calls: 10, max_time_ms: 1000, max_cost_usd: null };
const clock = { now: () => 0, monotonic: () => 0, after: () => () => {} };
const plain: PendingCall = { id: "x.1", name: "llm_query", args: ["plain"] };
const withContext: PendingCall = { id: "x.2", name: "llm_query", args: ["part", { context: [0, 9] }] };
const ANSWERED: Answered = { settlement: { ok: true, value: "answer" }, record: FREE, cacheKey: null };
const { signal } = new AbortController();

function scene(
  onRestart: OnRestart,
  interrupted: readonly string[],
  answer: (context: CallContext) => void = () => {},
  suspended: Suspend | null = null,
  running: readonly string[] = [],
) {
  const effects = running.length > 0 ? "once" : undefined;
  const progress: CallProgress[] = [];
  const answers: Answers = {
    facts: {},
    async answer(_, context) {
      answer(context);
      return ANSWERED;
    },
    repeatable: ({ name }) => name !== "functions.pay",
    resumes: ({ args }) => args.length > 1,
    effectsOf: ({ name }) => (name === "functions.pay" ? "once" : undefined),
  };
  const emit = (event: SessionEvent) => event.kind === "calls" && progress.push(event);
  const setup = Object.assign(Object.create(null), {
    answers,
    rules: { onRestart },
    job: null,
    env: { emit },
    row: {},
  });
  const last = interrupted.reduce<ExecRecords>(
    (records, call_id) =>
      grown(records, Object.assign(Object.create(null), { record: "rlm_tool_call", call_id, effects })),
    begun(Object.create(null)),
  );
  const recorder = Object.assign(Object.create(null), {
    state: () => ({ account: { ...EMPTY_ACCOUNT, last }, context: null }),
  });
  const from =
    interrupted.length === 0 ? null : { at: null, replay: [], recorded: new Set(interrupted), suspended, running };
  const once = openOnce({ setup, recorder }, from);
  const calls = openCalls({
    ...{ setup, recorder, from, once },
    exec_id: "x",
    waits: false,
    takenOver: { answer: () => undefined, lack: () => null },
    isForModel: false,
    budget: openBudget({ budget: BUDGET, question: null }, EMPTY_ACCOUNT),
    time: openTime(clock, 0, 1000),
    history: null,
    suspend: undefined,
  });
  return { calls, once, progress };
}

test("with onRestart fail a plain call that was in flight fails, and one that a child answers goes on", async () => {
  const { calls } = scene("fail", ["x.1", "x.2"]);
  const failed = await calls.answer(plain, signal, async () => signal);
  expect(failed.settlement).toMatchObject({ ok: false, error: { code: "process_restarted" } });
  expect(await calls.answer(withContext, signal, async () => signal)).toBe(ANSWERED);
});

test("calls are running from their first place to their answer; one that needs none never is", async () => {
  const { calls, progress } = scene("send", [], (context) => context.begun());
  await calls.answer(plain, signal, async () => signal);
  await calls.answer(withContext, signal, async () => signal);
  calls.answered(plain, true);
  calls.answered(withContext, true);
  expect(progress.map(({ running, done }) => [running, done])).toEqual([
    [1, 0],
    [2, 0],
    [1, 1],
    [0, 2],
  ]);
  // What the records have is open, and what is not running waits.
  const open = scene("send", ["x.1", "x.2", "x.3"], (context) => context.begun());
  open.calls.made();
  await open.calls.answer(withContext, signal, async () => signal);
  expect(open.progress.map(({ running, waiting }) => [running, waiting])).toEqual([
    [0, 3],
    [1, 2],
  ]);
  const cached = scene("send", []);
  await cached.calls.answer(plain, signal, async () => signal);
  cached.calls.answered(plain, true);
  expect(cached.progress.map(({ running, done }) => [running, done])).toEqual([[0, 1]]);
});

test("calls that a child answers may take longer to end than plain ones, as long as they are open", async () => {
  const { calls } = scene("send", []);
  await calls.answer(plain, signal, async () => signal);
  expect(calls.callOffMs?.()).toBeUndefined();
  await calls.answer(withContext, signal, async () => signal);
  expect(calls.callOffMs?.()).toBeGreaterThan(1000);
  calls.answered(withContext, true);
  expect(calls.callOffMs?.()).toBeUndefined();
});

test("what an earlier process has begun is not run again, and what nobody has begun is", async () => {
  const pay = (n: number): PendingCall => ({ id: `x.${n}`, name: "functions.pay", args: [] });
  const left: Suspend = {
    record: "rlm_suspend",
    ...{ exec_id: "x", still_running: ["x.1"], waited_ms: 10_000, at: 0 },
  };
  // x.1 was running when the process before was stopped, and x.3 when the one before that was killed.
  const { calls } = scene("send", ["x.1", "x.2", "x.3"], () => {}, left, ["x.3", "x.1"]);
  const answers = await Promise.all([1, 2, 3].map((n) => calls.answer(pay(n), signal, async () => signal)));
  const said = answers.map(({ settlement }) => (settlement.ok ? "answered" : settlement.error.message));
  expect(said).toEqual([
    "Process was restarted: pay still ran 10 s after it was to stop",
    "answered",
    "Process was restarted: it ended before pay had answered",
  ]);
});
