import { expect, test } from "vitest";
import { describeSession } from "../../../src/history/index.ts";
import type { ModelAnswer, ModelRequest } from "../../../src/models/index.ts";
import { openScripted, promptOf, using } from "../../support/scripted-session.ts";

const cell = (code: string) => using("rlm_exec", { code });

/** The root asks a child over the first 100 characters of P, and answers what the child says. */
const ROOT = [
  "const { matches } = find('beta'); print(matches.length)",
  "print(await llm_query('How long is it?', { context: [0, 100] }))",
  "answer('done')",
];

function script(request: ModelRequest): ModelAnswer | string {
  const isChild = JSON.stringify(request.messages[0]).includes("How long is it?");
  const turn = request.messages.filter(({ role }) => role === "assistant").length;
  if (isChild) return turn === 0 ? cell("print(await llm_query('plain', []))") : "100 characters";
  return promptOf(request) === "plain" ? "yes" : cell(ROOT[turn] ?? "");
}

test("a call is described with the session that answers it, as far as that is asked for", async () => {
  const { session, store } = await openScripted(script);
  await session.load({ text: `${"alpha ".repeat(400)}beta`, name: "words" });
  const envelope = await session.ask("How long?", { trajectory: true });
  expect(envelope).toMatchObject({ success: true, answer: "done", children: 1, depth_reached: 1 });
  const calls = envelope.trajectory?.flatMap(({ cells }) => cells.flatMap(({ calls }) => calls));
  expect(calls).toMatchObject([{ status: "ok", child: { sub_calls: 1, turns: 2, depth_reached: 1 } }]);

  const told = await describeSession(store, session.id, { children: 1 });
  const [, ask, ...execs] = told.execs;
  expect([ask, ...execs].map((exec) => `${exec?.kind} ${exec?.parent}`)).toEqual([
    ...["ask null", "turn 2", "cell 3", "turn 2", "cell 5", "turn 2", "cell 7"],
  ]);
  const asks = execs[3];
  const [call] = asks?.calls ?? [];
  expect(call).toMatchObject({ name: "llm_query", status: "ok", answer: "100 characters" });
  expect(call?.sent_at).toBeGreaterThanOrEqual(call?.asked_at ?? Number.NaN);
  expect(call?.sent_at).toBeLessThanOrEqual(call?.ended_at ?? Number.NaN);
  const child = call?.child?.description;
  expect(child).toMatchObject({ id: call?.child?.session, origin: "child", context: { chars: expect.any(Number) } });
  expect(child?.execs.map(({ kind }) => kind)).toEqual(["load", "ask", "turn", "cell", "turn"]);
  // What the child spent stands at its call, and so in the ask.
  expect(call?.tokens).toBe(child?.execs[1]?.tokens);
  expect(ask?.tokens).toBe(envelope.usage.input + envelope.usage.output);
  expect(asks?.coverage?.ranges).toMatchObject({ shown: [[0, 100]], found: [], given: [] });

  const without = await describeSession(store, session.id);
  expect(without.execs[5]?.calls[0]?.child).toEqual({ ...call?.child, description: null });
  expect(without.execs[6]).toEqual(told.execs[6]);
});

test("a call whose child has not ended is described with it, though no record tells of the child", async () => {
  const suspend = new AbortController();
  const { session, store } = await openScripted((request) => {
    const answer = script(request);
    if (answer === "100 characters") suspend.abort();
    return answer;
  });
  await session.load({ text: "alpha ".repeat(400), name: "words" });
  const open = await session.exec("await llm_query('How long is it?', { context: [0, 100] })", {
    suspend: suspend.signal,
  });
  expect(open).toMatchObject({ success: false, resumable: true });
  const { execs } = await describeSession(store, session.id, { children: 5 });
  const [call] = execs[1]?.calls ?? [];
  expect(call).toMatchObject({
    status: "pending",
    child: { sub_calls: null, turns: null, description: { origin: "child" } },
  });
  const own = call?.child?.description?.execs.map(({ kind, status }) => `${kind} ${status}`);
  expect(own).toEqual(["load ok", "ask unfinished", "turn ok", "cell ok", "turn unfinished"]);
});
