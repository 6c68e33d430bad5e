import { expect, test } from "vitest";
import type { PendingCall } from "../../../../runtime/index.ts";
import type { CallProgress, OnRestart, SessionEvent } from "../../../../src/session/api.ts";
import { openCalls } from "../../../../src/session/exec/calls.ts";
import { openTime } from "../../../../src/session/exec/time.ts";
import { EMPTY_ACCOUNT } from "../../../../src/session/journal/account.ts";
import { EMPTY_LEDGER } from "../../../../src/session/journal/ledger.ts";
import { openBudget } from "../../../../src/session/sub-calls/budget.ts";
import { FREE } from "../../../../src/session/sub-calls/plan.ts";
import type { Answered, Answers, CallContext } from "../../../../src/session/sub-calls/port.ts";

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
) {
  const progress: CallProgress[] = [];
  const answers: Answers = {
    facts: {},
    async answer(_, context) {
      answer(context);
      return ANSWERED;
    },
    repeatable: () => true,
    resumes: ({ args }) => args.length > 1,
  };
  const emit = (event: SessionEvent) => event.kind === "calls" && progress.push(event);
  const calls = openCalls({
    isForModel: false,
    setup: Object.assign(Object.create(null), { answers, rules: { onRestart }, job: null, env: { emit } }),
    recorder: Object.assign(Object.create(null), { state: () => ({ account: EMPTY_ACCOUNT, context: null }) }),
    budget: openBudget(BUDGET, EMPTY_LEDGER),
    time: openTime(clock, 0, 1000),
    from: interrupted.length === 0 ? null : { at: null, replay: [], recorded: new Set(interrupted) },
    history: null,
    suspend: undefined,
  });
  return { calls, progress };
}

test("with onRestart fail a plain call that was in flight fails, and one that a child answers goes on", async () => {
  const { calls } = scene("fail", ["x.1", "x.2"]);
  const failed = await calls.answer(plain, signal);
  expect(failed.settlement).toMatchObject({ ok: false, error: { code: "process_restarted" } });
  expect(await calls.answer(withContext, signal)).toBe(ANSWERED);
});

test("calls are running from their first place to their answer; one that needs none never is", async () => {
  const { calls, progress } = scene("send", [], (context) => context.begun());
  await calls.answer(plain, signal);
  await calls.answer(withContext, signal);
  calls.answered(plain, true);
  calls.answered(withContext, true);
  expect(progress.map(({ running, done }) => [running, done])).toEqual([
    [1, 0],
    [2, 0],
    [1, 1],
    [0, 2],
  ]);
  const cached = scene("send", []);
  await cached.calls.answer(plain, signal);
  cached.calls.answered(plain, true);
  expect(cached.progress.map(({ running, done }) => [running, done])).toEqual([[0, 1]]);
});

test("calls that a child answers may take longer to end than plain ones, as long as they are open", async () => {
  const { calls } = scene("send", []);
  await calls.answer(plain, signal);
  expect(calls.callOffMs?.()).toBeUndefined();
  await calls.answer(withContext, signal);
  expect(calls.callOffMs?.()).toBeGreaterThan(1000);
  calls.answered(withContext, true);
  expect(calls.callOffMs?.()).toBeUndefined();
});
