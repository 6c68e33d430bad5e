import { expect, onTestFinished, test } from "vitest";
import { heldClock } from "../../support/held-clock.ts";
import { type ScriptedAnswer, startModelServer } from "../../support/model-server.ts";
import { ERAS, openPair, type PairOptions, project } from "./pair.ts";

const cell = (code: string): ScriptedAnswer => ({ tools: [{ id: "u", name: "rlm_exec", arguments: { code } }] });
const LOOK = cell("var found = find('alpha').matches; print(peek(...found[0]))");
const ANSWER = cell("answer(found.length, { cite: found })");
const BAD_KEY: ScriptedAnswer = { status: 401, body: '{"error":{"message":"bad key"}}' };
const QUESTION = "How many alphas are there?";

/** A server over a loaded project, whose root model gives these answers; each `hold` waits to be let go. */
async function scene(script: readonly (ScriptedAnswer | "hold")[], options: PairOptions = {}) {
  const of = project();
  const held = Promise.withResolvers<void>();
  const models = await startModelServer(async ({ index }) => {
    const answer = script[index] ?? { status: 418 };
    if (answer !== "hold") return answer;
    held.resolve();
    await new Promise(() => {});
    return {};
  });
  onTestFinished(() => models.close());
  const open = (more: PairOptions = {}) => openPair(of, { modelUrl: models.url, ...more });
  const pair = await open(options);
  await pair.call("rlm_load", { path: of.folder });
  return { ...pair, open, models, held: held.promise };
}

test.each(ERAS)("%s: an ask is answered with its places, and without what its turns said", async (era) => {
  const { call, client } = await scene([LOOK, ANSWER], { era });
  const answer = await call("rlm_ask", { question: QUESTION, max_turns: "5" });
  const citations = [{ valid: true, line: 1, quote: "alpha" }, { valid: true }];
  expect(answer).toMatchObject({ success: true, answer: 2, answered_by: "answer", citations, turns: 2, cells: 2 });
  expect(answer).not.toHaveProperty("trajectory");
  expect(await call("rlm_exec", { code: "found.length" })).toMatchObject({ result_json: 2 });
  expect(await call("rlm_wait", { exec_id: answer.ask_id })).toEqual({ ...answer, budget: expect.anything() });
  const [whole] = (await client.readResource({ uri: `belay://exec/${answer.ask_id}` })).contents;
  const { trajectory } = JSON.parse(whole && "text" in whole ? String(whole.text) : "null");
  expect(trajectory).toMatchObject([{ cells: [{ observation: "alpha" }] }, { turn: 2 }]);
});

test("an ask that a client left goes on when it is asked again, and no turn is paid for twice", async () => {
  const { call, close, open, models, held } = await scene([LOOK, "hold", ANSWER]);
  void call("rlm_ask", { question: QUESTION }).catch(() => {});
  await held;
  await close();
  const next = await open();
  expect(await next.call("rlm_status")).toMatchObject({ unfinished: { kind: "ask", input: QUESTION } });
  expect(await next.call("rlm_ask", { question: QUESTION })).toMatchObject({ success: true, answer: 2, resumed: 1 });
  const [, cut, again] = models.requests.map(({ body }) => body.messages);
  expect(again).toEqual(cut);
  expect(await next.call("rlm_status")).toMatchObject({ unfinished: null });
});

test.each([
  ["rlm_wait", {}, { answer: 2, turns: 3 }],
  ["rlm_exec", { code: "found.length" }, { result_json: 2, warnings: [expect.stringMatching(/^finished: /)] }],
] as const)("%s finishes an ask whose provider failed", async (name, args, expected) => {
  const { call } = await scene([LOOK, BAD_KEY, ANSWER]);
  const open = await call("rlm_ask", { question: QUESTION });
  expect(open).toMatchObject({ success: false, error_code: "auth_failed", resumable: true, answer: null });
  expect(open.suggestion).toMatch(/rlm_ask with the same question goes on where it stopped\.$/);
  expect(await call(name, args)).toMatchObject(expected);
});

test("an ask that takes too long is answered with its turn, goes on, and is given up by rlm_status", async () => {
  const time = heldClock();
  const { call, held } = await scene([LOOK, "hold"], { clock: time.clock, limits: { answerMs: 50_000 } });
  const told = call("rlm_ask", { question: QUESTION });
  await held;
  time.pass();
  const running = await told;
  expect(running).toMatchObject({ success: true, running: true, turn: 2, exec_id: expect.stringMatching(/^\w{26}$/) });
  expect(await call("rlm_exec", { code: "1" })).toMatchObject({ error_code: "exec_running" });
  expect(await call("rlm_wait", { discard: true })).toMatchObject({ running: null, unfinished: null });
  expect(await call("rlm_wait", { exec_id: running.exec_id })).toMatchObject({ error_code: "cancelled", answer: null });
  expect(await call("rlm_exec", { code: "found.length" })).toMatchObject({ result_json: 2 });
});
