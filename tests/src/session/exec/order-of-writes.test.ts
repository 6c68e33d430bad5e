import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { openAsyncSession } from "../../../support/async-session.ts";

test("a call is in the journal before it is sent, its answer before the guest goes on", async () => {
  const { session, story } = await openAsyncSession({ beforeCommit: () => setImmediate() });
  await session.exec("const a = await later(1); await later(a + 1)");
  expect(story()).toEqual([
    "rlm_start cell",
    "rlm_tool_call id-2.1",
    "checkpoint step",
    "sent id-2.1",
    "answered id-2.1",
    "rlm_tool_result id-2.1",
    "rlm_tool_call id-2.2",
    "checkpoint step",
    "sent id-2.2",
    "answered id-2.2",
    "rlm_tool_result id-2.2",
    "rlm_complete cell",
    "checkpoint end",
  ]);
});

test("records hold what a replay needs", async () => {
  const { session, happenings } = await openAsyncSession();
  await session.exec('print("hi"); await later({ a: [1] })');
  const records = happenings.flatMap((happening) => (happening.event === "committed" ? [happening.record] : []));
  expect(records).toMatchObject([
    { record: "rlm_start", exec_id: "id-2", kind: "cell", input: 'print("hi"); await later({ a: [1] })' },
    { record: "rlm_tool_call", exec_id: "id-2", call_id: "id-2.1", name: "later", args: [{ a: [1] }] },
    { record: "rlm_tool_result", exec_id: "id-2", call_id: "id-2.1", success: true, value: { a: [1] } },
    {
      ...{ record: "rlm_complete", exec_id: "id-2", kind: "cell", success: true, error_code: null, context_hash: null },
      state: { exec_id: "id-2", cell: 1, next_call: 2, output: { stdout: "hi\n" } },
    },
  ]);
});

test("every kind of exec begins and ends in the journal", async () => {
  const { session, story } = await openAsyncSession();
  await session.load({ text: "abc", name: "a.txt" });
  await session.loadAppend({ text: "def", name: "b.txt" });
  await session.memory.put("k", 1);
  await session.helpers.add("h", "const one = 1;");
  await session.memory.get("k");
  await session.exec("nope");
  expect(story().filter((line) => line.startsWith("rlm_"))).toEqual([
    "rlm_start load",
    "rlm_complete load",
    "rlm_start append",
    "rlm_complete append",
    "rlm_start memory",
    "rlm_complete memory",
    "rlm_start helpers",
    "rlm_complete helpers",
    "rlm_start cell",
    "rlm_complete cell",
  ]);
});

test("a failed exec says so in its rlm_complete", async () => {
  const { session, happenings } = await openAsyncSession();
  await session.exec("throw new Error('x')");
  await session.exec("import 'x'");
  await session.exec("for (;;);", { limits: { max_execution_ms: 30 } });
  await session.memory.put("", 1).catch(() => {});
  await session.load("/no/such/path").catch(() => {});
  const ends = happenings.flatMap(({ ...it }) =>
    it.event === "committed" && it.record.record === "rlm_complete" ? [[it.record.success, it.record.error_code]] : [],
  );
  expect(ends).toEqual([
    [false, "js_error"],
    [false, "sandbox_violation"],
    [false, "js_timeout"],
    [false, "js_error"],
    [false, "path_outside_sandbox"],
  ]);
});

test("calls are spent from the budget, by the journal, until the next load", async () => {
  const { session } = await openAsyncSession();
  const done = await session.exec(
    "const before = budget().sub_calls; await later(1); await later(2); [before, budget().sub_calls]",
  );
  expect(done).toMatchObject({ result_json: [50, 48], budget: { remaining_sub_calls: 48 } });
  expect(session.budget().remaining_sub_calls).toBe(48);
  await session.load({ text: "x", name: "x" });
  expect(session.budget()).toEqual({ remaining_tokens: 500_000, remaining_sub_calls: 50, remaining_time_ms: 300_000 });
});

test("a store that fails at call time: no call is sent, the exec fails, the next cell is clean", async () => {
  let broken = false;
  const { session, story } = await openAsyncSession({
    async beforeCommit(records) {
      if (broken && records[0]?.record === "rlm_tool_call") throw new Error("disk full");
    },
  });
  await session.exec("let kept = 1");
  broken = true;
  const failed = await session.exec("globalThis.leak = 0; await later(1).catch(() => {}); leak = 1; await later(2)");
  expect(failed).toMatchObject({ error_code: "checkpoint_failed", suggestion: expect.stringMatching(/./) });
  expect(story().filter((line) => line.startsWith("sent"))).toEqual([]);
  broken = false;
  const next = await session.exec('await later("next")');
  expect(next).toMatchObject({ success: true, result_json: "next" });
  expect(next.warnings.filter((text) => text.startsWith("unawaited"))).toEqual([]);
  expect(await session.exec("typeof leak === 'number' ? leak : 0")).toMatchObject({ result_json: 0 });
});

test("a store that fails at the start runs nothing", async () => {
  let broken = true;
  const { session } = await openAsyncSession({
    async beforeCommit() {
      if (broken) throw new Error("disk full");
    },
  });
  await expect(session.exec("globalThis.ran = 1")).rejects.toThrow("disk full");
  broken = false;
  expect(await session.exec("typeof ran")).toMatchObject({ result_json: "undefined" });
});

test("a session's spent budget is read from its journal", async () => {
  const { session, happenings } = await openAsyncSession({ options: { budget: { max_time_ms: 50 } } });
  await session.exec("const until = Date.now() + 80; while (Date.now() < until);");
  const refused = await session.exec("1");
  expect(refused).toMatchObject({ success: false, error_code: "budget_exceeded", budget: { remaining_time_ms: 0 } });
  expect(happenings.filter(({ event }) => event === "committed")).toHaveLength(4);
});
