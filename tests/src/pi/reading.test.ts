import { join } from "node:path";
import { type Context, type FauxResponseStep, fauxAssistantMessage, fauxToolCall } from "@mariozechner/pi-ai";
import { expect, test } from "vitest";
import { systemClock } from "../../../runtime/index.ts";
import { objectId } from "../../../src/context/index.ts";
import { grow } from "../../support/tree.ts";
import { type FakePi, fakePi, mirrorOn, recovered, resultsOn, until } from "./fake-pi.ts";
import { stoppingAt } from "./stopping-store.ts";

const user = (content: string) => ({ type: "message", message: { role: "user", content } });
const found = (answer: string) =>
  fauxAssistantMessage(JSON.stringify({ answer, confidence: "high", evidence: ["so"] }));
const cell = (code: string) => fauxAssistantMessage(fauxToolCall("rlm_exec", { code }), { stopReason: "toolUse" });
/** Answers with the text that stands in the prompt. */
const echo = ({ messages }: Context) =>
  found(/<text>\\n(.*?)(?:\\n)?\\n<\/text>/.exec(JSON.stringify(messages))?.[1] ?? "no text");
const answers = (count: number) => Array.from({ length: count }, () => echo);

/** A branch on which the user has said so many short things, and their ids. */
function said(count: number): { readonly pi: FakePi; readonly ids: readonly string[] } {
  const pi = fakePi();
  const texts = Array.from({ length: count }, (_, at) => `fact ${at + 1}`);
  pi.branch.push(...texts.map(user));
  return { pi, ids: texts.map(objectId) };
}

test("rlm_query with a target has one model read that text: by id, its beginning, a document's id, of what was said or of P", async () => {
  const { pi, ids } = said(2);
  const life = await pi.start();
  await life.call("rlm_load", { path: pi.folder });
  pi.faux.setResponses(answers(4));
  const asked = (target: string) => life.call("rlm_query", { prompt: "What is it?", target });
  const first = { object: ids[0], name: "history/0001-user", answer: "fact 1" };
  expect(await asked(ids[0] ?? "")).toMatchObject({ success: true, ...first, confidence: "high", evidence: ["so"] });
  expect(await asked((ids[0] ?? "").slice(8, 16))).toMatchObject(first);
  expect(await asked("history/0002-user")).toMatchObject({ answer: "fact 2" });
  const last = await life.call("rlm_query", { instructions: "What is it?", target: "a.txt", model: "faux/s" });
  expect(last).toMatchObject({ name: "P: a.txt", answer: "alpha beta alpha", budget: { remaining_sub_calls: 46 } });
  expect(last).not.toHaveProperty("sections");
  const query = ["rlm_start query", "rlm_tool_call", "rlm_tool_result", "rlm_complete query"];
  expect(mirrorOn(pi.branch).slice(-4)).toEqual(query);
});

test.each<[string, object, string, string]>([
  ["both names of the question", { prompt: "a", instructions: "b" }, "invalid_argument", "two names"],
  ["no question", { target: "history/0001-user" }, "invalid_argument", "prompt is missing"],
  ["max_sections", { prompt: "a", target: "history/0001-user", max_sections: 3 }, "invalid_argument", "without target"],
  ["a model for sections", { prompt: "a", model: "faux/s" }, "invalid_argument", "with target"],
  ["no words", { prompt: " ", target: "history/0001-user" }, "invalid_argument", "empty"],
  ["a text of another branch", { prompt: "a", target: objectId("elsewhere") }, "object_not_found", "on this branch"],
  ["a beginning of nothing", { prompt: "a", target: "abc" }, "object_not_found", "too short"],
  ["an unknown model", { prompt: "a", target: "history/0001-user", model: "faux/x" }, "no_model_configured", "faux/x"],
])("rlm_query refuses %s before anything begins", async (_what, args, error_code, message) => {
  const { pi } = said(1);
  const life = await pi.start();
  const error_message = expect.stringContaining(message);
  const refusal = { success: false, error_code, error_message, answer: null, object: null };
  expect(await life.call("rlm_query", args)).toMatchObject(refusal);
  expect([mirrorOn(pi.branch), pi.faux.state.callCount]).toEqual([[], 0]);
});

test("a large text is explored by a child with cells, and the branch has nothing of it", async () => {
  const pi = fakePi();
  pi.branch.push(user(`${"filler\n".repeat(35_000)}the code word is heron`));
  const life = await pi.start();
  pi.faux.setResponses([
    cell("print(find('word is .*').matches.map(([start, end]) => peek(start, end)))"),
    cell("answer({ answer: 'heron', confidence: 'high', evidence: ['word is heron'] })"),
  ]);
  const told = await life.call("rlm_query", { prompt: "Which word?", target: "history/0001-user" });
  expect(told).toMatchObject({ answer: "heron", evidence: ["word is heron"] });
  expect(pi.faux.state.callCount).toBe(2);
  expect(mirrorOn(pi.branch)).toEqual(["rlm_start query", "rlm_tool_call", "rlm_tool_result", "rlm_complete query"]);
});

test("a child that reads a text has no tools beside its cells, whatever the user lends to cells", async () => {
  const pi = fakePi();
  pi.branch.push(user("filler\n".repeat(10_000)));
  const settings = { allowed_tool_overrides: ["bash"], require_approval: false };
  grow(join(pi.folder, "../agent"), { "belay.json": JSON.stringify(settings) });
  const life = await pi.start();
  pi.faux.setResponses([
    cell("var code = await llm_query('Run it', { tools: ['bash'] }).catch((error) => error.code); print(code)"),
    cell("answer({ answer: code, confidence: 'high', evidence: [] })"),
  ]);
  expect(await life.call("rlm_query", { prompt: "What is it?", target: "history/0001-user" })).toMatchObject({
    answer: "policy_violation",
  });
});

test("rlm_query with several targets has one model read them together, of what was said and of P", async () => {
  const { pi, ids } = said(2);
  const life = await pi.start();
  await life.call("rlm_load", { path: pi.folder });
  const prompts: string[] = [];
  pi.faux.setResponses([
    ({ messages }) => {
      prompts.push(JSON.stringify(messages));
      return found("both");
    },
  ]);
  const args = { prompt: "Do they agree?", target: [ids[0], "history/0002-user", "a.txt"] };
  expect(await life.call("rlm_query", args)).toMatchObject({
    ...{ success: true, object: expect.stringMatching(`^${ids[0]}, ${ids[1]}, rlm-obj-`) },
    ...{ name: "history/0001-user, history/0002-user, P: a.txt", answer: "both", confidence: "high" },
    budget: { remaining_sub_calls: 49 },
  });
  expect(prompts).toEqual([
    expect.stringContaining("[history/0001-user]\\nfact 1\\n\\n[history/0002-user]\\nfact 2\\n\\n[P: a.txt]\\nalpha"),
  ]);
  const told = await life.call("rlm_query", { ...args, target: [ids[0], "none.txt"] });
  expect(told).toMatchObject({ error_code: "object_not_found", answer: null });
  expect(pi.faux.state.callCount).toBe(1);
});

test.each([
  ["of what was said", "history/0002-user"],
  ["of what was said and of P", "a.txt"],
])("several texts that are large together are explored by one child with cells: %s", async (_what, other) => {
  const pi = fakePi();
  const large = "filler\n".repeat(8_000);
  pi.branch.push(user(`${large}the code word is heron`), user(`${large}no code word`));
  const life = await pi.start();
  await life.call("rlm_load", { path: pi.folder });
  pi.faux.setResponses([
    cell(
      "print(find('word is .*').matches.map(([start, end]) => peek(start, end)), find('no code|alpha').matches.length)",
    ),
    cell("answer({ answer: 'heron', confidence: 'high', evidence: [] })"),
  ]);
  const target = ["history/0001-user", other];
  expect(await life.call("rlm_query", { prompt: "Which word?", target })).toMatchObject({ answer: "heron" });
  expect(pi.faux.state.callCount).toBe(2);
});

test("rlm_batch answers for an id that nothing has in the place of its answer; if it finds none, it fails", async () => {
  const { pi, ids } = said(2);
  const life = await pi.start();
  pi.faux.setResponses(answers(2));
  const args = { instructions: "What is it?" };
  expect(
    await life.call("rlm_batch", { ...args, targets: [ids[1], "rlm-obj-000000", "none.txt", ids[0]] }),
  ).toMatchObject({
    success: true,
    answered: 2,
    failed: 2,
    results: [
      { object: ids[1], answer: "fact 2" },
      {
        object: "rlm-obj-000000",
        error: { code: "object_not_found", message: expect.stringContaining("not found on this branch") },
      },
      { object: "none.txt", error: { code: "object_not_found", retriable: false } },
      { object: ids[0], answer: "fact 1" },
    ],
    budget: { remaining_sub_calls: 48 },
  });
  const none = await life.call("rlm_batch", { ...args, targets: ["none.txt", "no.txt"] });
  expect(none).toMatchObject({ success: false, error_code: "object_not_found", results: [] });
  expect(pi.faux.state.callCount).toBe(2);
});

const ELEVEN = { instructions: "What is it?" };

test("rlm_batch of 11 asks the user, who is told what it takes, and answers in order", async () => {
  const { pi, ids } = said(11);
  const told: string[] = [];
  const confirms = async (message: string) => told.push(message) > 0;
  const life = await pi.start({ confirms });
  pi.faux.setResponses(answers(11));
  const targets = ids.toReversed();
  const batch = await life.call("rlm_batch", { ...ELEVEN, targets });
  expect(pi.asked).toEqual(["Have models read 11 objects?"]);
  expect(told).toEqual([
    `At most 11 calls · 11k tokens in, 45k out · no price · faux/f\n\n${Array.from({ length: 8 }, (_, at) => `history/${String(11 - at).padStart(4, "0")}-user`).join(", ")} and 3 more\n\nWhat is it?`,
  ]);
  expect(batch).toMatchObject({ success: true, answered: 11, failed: 0 });
  const { results } = JSON.parse(JSON.stringify(batch));
  expect(results.map(({ object, answer }: Record<string, string>) => [object, answer])).toEqual(
    targets.map((id, at) => [id, `fact ${11 - at}`]),
  );
  expect(batch).not.toHaveProperty("estimate");
  pi.faux.setResponses(answers(10));
  expect(await life.call("rlm_batch", { ...ELEVEN, targets: ids.slice(1) })).toMatchObject({ answered: 10 });
  expect(pi.asked).toHaveLength(1);
});

test.each<[string, Parameters<FakePi["start"]>[0], string]>([
  ["no", { confirms: async () => false }, "the user does not want it"],
  [
    "nothing for 120 s",
    {
      confirms: (_message, signal) =>
        new Promise((resolve) => signal?.addEventListener("abort", () => resolve(true), { once: true })),
      clock: { ...systemClock, after: (ms, run) => systemClock.after(ms === 120_000 ? 0 : ms, run) },
    },
    "nobody answered within 120 s",
  ],
])("if the user says %s, nothing is sent, charged or recorded", async (_what, options, why) => {
  const { pi, ids } = said(11);
  const life = await pi.start(options);
  expect(await life.call("rlm_batch", { ...ELEVEN, targets: ids })).toMatchObject({
    success: false,
    error_code: "declined",
    error_message: `the objects were not read: ${why}`,
    results: [],
  });
  expect([mirrorOn(pi.branch), pi.faux.state.callCount]).toEqual([[], 0]);
});

test("a call that is cancelled while the user is asked sends nothing", async () => {
  const { pi, ids } = said(11);
  const stop = new AbortController();
  const life = await pi.start({
    async confirms() {
      stop.abort();
      return true;
    },
  });
  expect(await life.call("rlm_batch", { ...ELEVEN, targets: ids }, "batch", stop.signal)).toMatchObject({
    error_code: "cancelled",
  });
  expect([mirrorOn(pi.branch), pi.faux.state.callCount]).toEqual([[], 0]);
});

test("without a user interface the texts are read, and the answer says what it could have taken", async () => {
  const { pi, ids } = said(11);
  const life = await pi.start({ hasUI: false });
  pi.faux.setResponses(answers(11));
  expect(await life.call("rlm_batch", { ...ELEVEN, targets: ids })).toMatchObject({
    answered: 11,
    estimate: { calls: 11, input_tokens: 11_022, output_tokens: 11 * 4096, cost_usd: null },
  });
  expect(pi.asked).toEqual([]);
});

test("confirm_calls 0 asks always, and a project may have it so", async () => {
  const { pi, ids } = said(1);
  grow(pi.folder, { ".pi/belay.json": '{ "confirm_calls": 0 }' });
  const life = await pi.start({ confirms: async () => false });
  expect(await life.call("rlm_query", { prompt: "?", target: ids[0] })).toMatchObject({ error_code: "declined" });
  expect(pi.asked).toEqual(["Have models read 1 object?"]);
});

/** A model that answers the first calls, and none of those that follow. */
function answering(count: number, pi: FakePi): { readonly isOut: () => boolean } {
  let asked = 0;
  const step: FauxResponseStep = (context) => {
    asked += 1;
    return asked > count ? new Promise<never>(() => {}) : echo(context);
  };
  pi.faux.setResponses(Array.from({ length: 20 }, () => step));
  return { isOut: () => asked > count };
}

test("a batch that is killed goes on: nobody is asked again, and no answered text is sent again", async () => {
  const { pi, ids } = said(11);
  const first = await pi.start();
  const { isOut } = answering(4, pi);
  void first.begin("rlm_batch", { ...ELEVEN, targets: ids }, "batch");
  await until(isOut);
  const answered = () => mirrorOn(pi.branch).filter((line) => line === "rlm_tool_result").length;
  await until(() => answered() === 4);
  await first.die();
  const before = pi.faux.state.callCount;
  pi.faux.setResponses(answers(20));
  const next = await pi.start({ confirms: () => Promise.reject(new Error("nobody is asked twice")) });
  await recovered(next.lifecycle);
  expect(pi.asked).toHaveLength(1);
  expect(resultsOn(pi.branch).batch).toMatchObject({ success: true, answered: 11, failed: 0, resumed: 1 });
  expect(pi.faux.state.callCount - before).toBe(7);
  expect(pi.told).toEqual([
    "rlm_batch was interrupted, and is finished now: 4 of 11 sub-calls had their answers already",
  ]);
});

test("a call that died before its exec was stored is run again, and nobody is asked again", async () => {
  const { pi, ids } = said(11);
  const first = await pi.start({
    store: (store) => ({ ...store, commit: () => Promise.reject(new Error("the process is gone")) }),
  });
  await first.begin("rlm_batch", { ...ELEVEN, targets: ids }, "batch").catch(() => {});
  await first.die();
  expect(mirrorOn(pi.branch)).toEqual(["rlm_start query"]);
  pi.faux.setResponses(answers(11));
  const next = await pi.start();
  await recovered(next.lifecycle);
  expect(pi.asked).toHaveLength(1);
  expect(resultsOn(pi.branch).batch).toMatchObject({ answered: 11 });
});

test("a batch whose end was recorded and not told has its answers put in place", async () => {
  const { pi, ids } = said(3);
  const first = await pi.start();
  pi.faux.setResponses(answers(3));
  const told = await first.call("rlm_batch", { ...ELEVEN, targets: ids }, "batch");
  await first.leave();
  pi.branch.splice(pi.branch.findIndex(({ customType }) => customType === "rlm_complete"));
  const next = await pi.start();
  await recovered(next.lifecycle);
  expect(resultsOn(pi.branch).batch).toMatchObject({ results: told.results ?? [], answered: 3 });
});

const EXTRACT = { instructions: "What is it?", target: "history/0001-user", name: "fact" };
const KEPT = { name: "history/0001-user", answer: "fact 1", confidence: "high", evidence: ["so"] };
const EXECS = ["rlm_start query", "rlm_complete query", "rlm_start memory", "rlm_complete memory"];
const execsOn = (pi: FakePi) => mirrorOn(pi.branch).filter((line) => !line.startsWith("rlm_tool"));

test("rlm_extract keeps the answer in the memory, where cells find it", async () => {
  const { pi } = said(1);
  const life = await pi.start();
  pi.faux.setResponses(answers(1));
  const extracted = await life.call("rlm_extract", EXTRACT);
  expect(extracted).toMatchObject({ success: true, key: "artifact/fact", ...KEPT });
  expect(execsOn(pi)).toEqual(EXECS);
  const code = "result = memory.get('artifact/fact')";
  expect(await life.call("rlm_exec", { code })).toMatchObject({ result_json: KEPT });
});

test("what a model did not answer is not kept, and what cannot be kept is told", async () => {
  const { pi } = said(1);
  const life = await pi.start();
  pi.faux.setResponses([fauxAssistantMessage("", { stopReason: "error", errorMessage: "401 bad key" })]);
  expect(await life.call("rlm_extract", EXTRACT)).toMatchObject({ error_code: "auth_failed", key: null, answer: null });
  expect(execsOn(pi)).toEqual(["rlm_start query", "rlm_complete query failed"]);
  pi.faux.setResponses(answers(1));
  const full =
    "for (let i = 0; ; i++) { try { memory.put('k' + i, 'x'.repeat(4e6 >> i)); } catch { if (i > 30) break; } }";
  await life.call("rlm_exec", { code: full });
  const error_message = expect.stringContaining("the answer could not be kept");
  expect(await life.call("rlm_extract", EXTRACT)).toMatchObject({ success: false, error_message, key: null, ...KEPT });
});

test.each([
  ["when its answer is recorded", "rlm_complete", 1],
  ["when keeping it has begun", "rlm_start", 2],
  ["when it is kept", "rlm_complete", 2],
] as const)("rlm_extract that is killed %s is finished, and nothing is asked twice", async (_when, record, count) => {
  const { pi } = said(1);
  const { isReached, around } = stoppingAt(record, count);
  const first = await pi.start({ store: around });
  pi.faux.setResponses(answers(1));
  void first.begin("rlm_extract", EXTRACT, "extract").catch(() => {});
  await until(isReached);
  await first.die();
  const next = await pi.start();
  expect(resultsOn(pi.branch).extract).toMatchObject({ success: true, key: "artifact/fact", ...KEPT });
  expect(execsOn(pi)).toEqual(EXECS);
  expect(pi.faux.state.callCount).toBe(1);
  expect(await next.call("rlm_memory_get", { key: "artifact/fact" })).toMatchObject({ value: KEPT });
});

test("if the start of keeping is on the branch alone, it is kept once", async () => {
  const { pi } = said(1);
  let starts = 0;
  const first = await pi.start({
    store: (store) => ({
      ...store,
      async commit(session, step) {
        starts += step.records?.filter((one) => one.record === "rlm_start").length ?? 0;
        if (starts > 1) throw new Error("the process is gone");
        return store.commit(session, step);
      },
    }),
  });
  pi.faux.setResponses(answers(1));
  await first.begin("rlm_extract", EXTRACT, "extract").catch(() => {});
  await first.die();
  const next = await pi.start();
  expect(resultsOn(pi.branch).extract).toMatchObject({ success: true, key: "artifact/fact", ...KEPT });
  expect(pi.faux.state.callCount).toBe(1);
  expect(await next.call("rlm_memory_list", {})).toMatchObject({ keys: ["artifact/fact"] });
});

test("texts of the conversation go to another provider only if the user's own file names it", async () => {
  const { pi } = said(1);
  const target = { prompt: "?", target: "history/0001-user" };
  const elsewhere = { find: () => pi.faux.getModel(), getAll: () => pi.faux.models };
  const files = { ".pi/belay.json": '{ "sub_model": "other/x" }' };
  grow(pi.folder, files);
  const life = await pi.start();
  Object.assign(life.context.modelRegistry, elsewhere);
  const error_message = expect.stringContaining(`${join(pi.folder, ".pi/belay.json")} sets sub_model to other/x`);
  expect(await life.call("rlm_query", target)).toMatchObject({ error_code: "policy_violation", error_message });
  await life.call("rlm_load", { path: join(pi.folder, "a.txt") });
  pi.faux.setResponses(answers(3));
  expect(await life.call("rlm_query", { prompt: "?", target: "a.txt" })).toMatchObject({ success: true });
  await life.leave();

  grow(join(pi.folder, "../agent"), { "belay.json": '{ "sub_model": "other/x" }' });
  const own = await pi.start();
  Object.assign(own.context.modelRegistry, elsewhere);
  expect(await own.call("rlm_query", target)).toMatchObject({ success: true });
  const answer = await own.call("rlm_query", { ...target, model: "third/y" });
  expect(answer).toMatchObject({ error_code: "policy_violation", error_message: expect.stringContaining("third/y") });
  expect(await own.call("rlm_query", { ...target, model: "other/z" })).toMatchObject({ success: true });
});
