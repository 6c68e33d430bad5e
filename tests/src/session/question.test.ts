import { ulid } from "ulid";
import { expect, test } from "vitest";
import type { Host } from "../../../src/session/env.ts";
import type { SessionOptions } from "../../../src/session/option-types.ts";
import { openSessionWith } from "../../../src/session/session.ts";
import { openStore } from "../../../src/store/index.ts";
import { lengthAnswers } from "../../support/length-answers.ts";

// A call can have a budget of its own; a host says which calls belong to one question of a person.

async function opened(options: SessionOptions, host: Pick<Host, "questions"> = {}) {
  const store = await openStore(null);
  return openSessionWith(options, { store, answers: lengthAnswers(), ...host });
}

const ASKS = (times: number) => `let left = [];
for (let i = 0; i < ${times}; i++) try { await llm_query("four") } catch (e) { left.push(e.code) }
result = [left.length, budget().sub_calls]`;

test("a call has the budget that it names, within the session's, which stays the session's", async () => {
  await using session = await opened({ budget: { max_sub_calls: 5 } });
  const own = await session.exec(ASKS(3), { budget: { max_sub_calls: 2 } });
  expect(own).toMatchObject({ result_json: [1, 0], warnings: ["limit_met: sub_calls"] });
  expect(own.budget).toMatchObject({ remaining_sub_calls: 0, remaining_tokens: 499_996 });
  expect(own.budget).not.toHaveProperty("session");
  expect(session.budget().remaining_sub_calls).toBe(3);
  // Nothing that a call names raises what the session has.
  expect(await session.exec(ASKS(4), { budget: { max_sub_calls: 100 } })).toMatchObject({ result_json: [1, 0] });
  expect(session.budget().remaining_sub_calls).toBe(0);
  await expect(session.exec("1", { budget: { max_calls: 1 } as never })).rejects.toThrow(
    "unknown option budget.max_calls",
  );
});

test("calls of one question share its budget, the next one has all of it, and a load renews none", async () => {
  let question = "first";
  const questions = { id: () => question, most: null };
  await using session = await opened({ budget: { max_sub_calls: 2 } }, { questions });
  expect(await session.exec(ASKS(1))).toMatchObject({ result_json: [0, 1] });
  await session.load({ text: "P", name: "p.txt" });
  expect(session.budget().remaining_sub_calls).toBe(1);
  expect(await session.exec(ASKS(2))).toMatchObject({ result_json: [1, 0] });
  question = "second";
  expect(session.budget()).toMatchObject({ remaining_sub_calls: 2, session: { sub_calls: 1 } });
  expect(await session.exec(ASKS(2))).toMatchObject({ result_json: [0, 0], budget: { session: { sub_calls: 3 } } });
});

test("a session of a server has so many budgets in all, and says when these are spent", async () => {
  let calls = 0;
  const questions = { id: () => `${++calls}`, most: 3 };
  await using session = await opened({ budget: { max_sub_calls: 1 } }, { questions });
  const seen = [];
  for (let i = 0; i < 4; i++) seen.push(await session.exec(ASKS(2)));
  expect(seen.map(({ result_json }) => result_json)).toEqual([...Array(3).fill([1, 0]), [2, 0]]);
  expect(seen.slice(0, 2).map(({ warnings }) => warnings)).toEqual(Array(2).fill(["limit_met: sub_calls"]));
  expect(seen[3]?.warnings).toEqual([
    "limit_met: sub_calls of the session; load the context again, which begins the session's budget anew",
  ]);
  await session.load({ text: "P", name: "p.txt" });
  expect(await session.exec(ASKS(1))).toMatchObject({ result_json: [0, 0] });
});

test("an exec of a store that names no question is bounded by the settings all the same", async () => {
  await using store = await openStore(null);
  const answers = lengthAnswers();
  const library = await openSessionWith({ session: "s", budget: { max_sub_calls: 9 } }, { store, answers });
  await library.exec(ASKS(3));
  await library.close();
  const questions = { id: () => "q", most: null };
  const options = { session: "s", budget: { max_sub_calls: 2 } };
  await using session = await openSessionWith(options, { store, answers, questions });
  const recorded = await session.resume();
  expect(recorded?.envelope).toMatchObject({ budget: { remaining_sub_calls: 0, session: { sub_calls: 3 } } });
});

test("an interrupted exec of a store that only claims to be a workflow has the budget of any question", async () => {
  const questions = { id: () => "own", most: null, workflow: { max_sub_calls: 1000 } };
  const store = await openStore(null);
  const host = { store, answers: lengthAnswers(), questions };
  const allowed: number[] = [];
  for (const [kind, workflow] of [
    ["cell", true],
    ["cell", undefined],
    ["ask", true],
  ] as const) {
    const id = ulid();
    await store.create({ id, name: null, origin: "command", settings: null, at: 1 });
    const asked = { kind, input: "1", cell: "1", question: { id: "own" }, limits: {}, helpers_hash: null, rest: [] };
    const start = { record: "rlm_start", exec_id: "E", ...asked, ...(workflow ? { workflow } : {}), at: 1 };
    await store.commit(id, { records: [start] });
    await store.release(id);
    await using session = await openSessionWith({ session: id }, host);
    allowed.push(session.budget().remaining_sub_calls);
  }
  expect(allowed).toEqual([50, 50, 50]);
  // One that began here has the larger one.
  await using session = await openSessionWith({}, host);
  expect(await session.exec("budget().sub_calls", { workflow: true })).toMatchObject({ result_json: 1000 });
});
