import { join } from "node:path";
import { type FauxResponseStep, fauxAssistantMessage, fauxToolCall } from "@mariozechner/pi-ai";
import { expect, test } from "vitest";
import { mirrored } from "../../../src/pi/branch/mirror.ts";
import type { Lease, Store } from "../../../src/store/index.ts";
import { grow } from "../../support/tree.ts";
import { type FakePi, fakePi, type Life, mirrorOn, never, recovered, resultsOn, until } from "./fake-pi.ts";

const QUESTION = { question: "How many alphas are there?" };
const cell = (code: string) => fauxAssistantMessage(fauxToolCall("rlm_exec", { code }), { stopReason: "toolUse" });
const LOOK = cell(
  "var found = find('alpha').matches; var said = await llm_query('look', { tools: [] }); print(found.length)",
);
const SAID = fauxAssistantMessage("seen");
const ANSWER = cell("answer(found.length, { cite: found })");
const BAD_KEY = fauxAssistantMessage("", { stopReason: "error", errorMessage: "401 bad key" });
const ANSWERED = { success: true, answer: 2, answered_by: "answer", turns: 2, cells: 2, sub_calls: 1 };
const OF_ASK = ["rlm_start load", "rlm_complete load", "rlm_start ask", "rlm_complete ask"];
const LOOKED = { code: "result = [typeof found, typeof said]" };
const SEEN = { success: true, result_json: ["object", "string"] };

async function loaded(pi: FakePi = fakePi(), script: FauxResponseStep[] = []): Promise<{ pi: FakePi; life: Life }> {
  const life = await pi.start();
  await life.call("rlm_load", { path: pi.folder }, "load");
  pi.faux.setResponses(script);
  return { pi, life };
}

test("an ask is one exec of the branch, which stands after it where its last cell left the session", async () => {
  const asked: string[] = [];
  const by = (answer: typeof SAID): FauxResponseStep => {
    return (_context, _options, _state, { id }) => {
      asked.push(id);
      return answer;
    };
  };
  const pi = fakePi();
  grow(join(pi.folder, "../agent"), { "belay.json": '{ "sub_model": "faux/s" }' });
  const life = await pi.start();
  await life.call("rlm_load", { path: pi.folder });
  pi.faux.setResponses([by(LOOK), by(SAID), by(ANSWER)]);
  const shown: string[] = [];
  const leave = life.lifecycle.board.subscribe(({ running }) => {
    if (running?.turn) shown.push(`${running.exec_id} turn ${running.turn.turn} of ${running.turn.of}`);
  });
  const answer = await life.call("rlm_ask", { ...QUESTION, max_turns: 7 });
  leave();
  const citations = [{ doc: "a.txt", line: 1, quote: "alpha" }, { valid: true }];
  expect(answer).toMatchObject({ ...ANSWERED, citations });
  expect(answer).not.toHaveProperty("trajectory");
  expect(asked).toEqual(["f", "s", "f"]);
  expect([...new Set(shown)]).toEqual([1, 2].map((turn) => `${answer.ask_id} turn ${turn} of 7`));
  expect(mirrorOn(pi.branch)).toEqual(OF_ASK);
  for (const entry of pi.branch.filter(({ type }) => type === "custom")) {
    expect(JSON.stringify(entry).length).toBeLessThan(2_048);
  }
  const { session } = life.lifecycle.board.current();
  expect(await life.call("rlm_exec", LOOKED)).toMatchObject(SEEN);
  expect(life.lifecycle.board.current().session).toBe(session);
});

test("before an ask the branch does not have its variables; after it a fork has them, and nothing unfinished", async () => {
  const { pi, life } = await loaded(fakePi(), [LOOK, SAID, ANSWER]);
  const before = pi.branch.length;
  await life.call("rlm_ask", QUESTION);
  const after = pi.branch.length;
  await life.call("rlm_exec", { code: "found = 0" });
  const later = pi.branch.splice(after);
  const { session } = life.lifecycle.board.current();
  expect(await life.call("rlm_exec", LOOKED)).toMatchObject(SEEN);
  expect(life.lifecycle.board.current().session).not.toBe(session);
  expect(mirrorOn(pi.branch).filter((line) => line.includes("ask"))).toEqual(["rlm_start ask", "rlm_complete ask"]);

  pi.branch.splice(before);
  expect(await life.call("rlm_exec", LOOKED)).toMatchObject({ result_json: ["undefined", "undefined"] });
  pi.branch.push(...later);
  expect(await life.call("rlm_exec", { code: "result = found" })).toMatchObject({ result_json: 0 });
});

test.each([
  ["in its first turn", [], [LOOK, SAID, ANSWER], "0 of 1 sub-calls"],
  ["in a cell of it", [LOOK], [SAID, ANSWER], "1 turn and 0 of 1 sub-calls"],
  ["in its last turn", [LOOK, SAID], [ANSWER], "1 turn and 1 of 1 sub-calls"],
] as const)("an ask that is killed %s is finished by the next process", async (_when, given, left, kept) => {
  const held = never();
  const { pi, life } = await loaded(fakePi(), [...given, held.step]);
  void life.begin("rlm_ask", QUESTION, "ask");
  await until(held.isAsked);
  await life.die();
  const asked = pi.faux.state.callCount;
  pi.faux.setResponses([...left]);
  const next = await pi.start();
  expect(pi.told).toEqual([`rlm_ask was interrupted, and is finished now: ${kept} had their answers already`]);
  expect(resultsOn(pi.branch).ask).toMatchObject(ANSWERED);
  expect(pi.faux.state.callCount - asked).toBe(left.length);
  expect(mirrorOn(pi.branch)).toEqual(OF_ASK);
  expect(await next.call("rlm_exec", LOOKED)).toMatchObject(SEEN);
});

test("an ask whose end was kept and not told has its answer put in place", async () => {
  const { pi, life } = await loaded(fakePi(), [LOOK, SAID, ANSWER]);
  await life.call("rlm_ask", QUESTION, "ask");
  await life.leave();
  // As if the process had died before the entry of the end and the result were on the branch.
  const cut = pi.branch.findIndex(({ customType, data }) => customType === "rlm_complete" && kindOf(data) === "ask");
  pi.branch.splice(cut);
  const next = await pi.start();
  expect(pi.told).toEqual(["rlm_ask had ended before Pi did; its result is in place"]);
  expect(resultsOn(pi.branch).ask).toMatchObject({ ...ANSWERED, citations: [{ valid: true }, { valid: true }] });
  expect(mirrorOn(pi.branch)).toEqual(OF_ASK);
  expect(await next.call("rlm_exec", LOOKED)).toMatchObject(SEEN);
});

const kindOf = (data: unknown): unknown => Reflect.get(Object(data), "kind");

test("an ask whose provider failed goes on when it is asked again, also in a later process", async () => {
  const { pi, life } = await loaded(fakePi(), [LOOK, SAID, BAD_KEY]);
  const open = await life.call("rlm_ask", QUESTION);
  expect(open).toMatchObject({ success: false, error_code: "auth_failed", resumable: true });
  expect(open.suggestion).toMatch(/rlm_ask with the same question goes on where it stopped\.$/);
  await life.leave();

  const held = never();
  const second = await pi.start();
  pi.faux.setResponses([held.step]);
  void second.begin("rlm_ask", QUESTION, "again");
  await until(held.isAsked);
  await second.die();

  pi.faux.setResponses([ANSWER]);
  const third = await pi.start();
  await recovered(third.lifecycle);
  expect(resultsOn(pi.branch).again).toMatchObject({ success: true, answer: 2, turns: 3, cells: 2 });
  expect(mirrorOn(pi.branch)).toEqual([...OF_ASK.slice(0, 3), ...OF_ASK.slice(2)]);
  expect(await third.call("rlm_exec", LOOKED)).toMatchObject(SEEN);
});

test("another question, and any other call, leave an ask that is open where it is", async () => {
  const { pi, life } = await loaded(fakePi(), [LOOK, SAID, BAD_KEY]);
  await life.call("rlm_ask", QUESTION);
  const asked = pi.branch.length;
  expect(await life.call("rlm_exec", LOOKED)).toMatchObject({ result_json: ["undefined", "undefined"] });
  pi.branch.splice(asked);
  pi.faux.setResponses([LOOK, SAID, ANSWER]);
  expect(await life.call("rlm_ask", { question: "How many?" })).toMatchObject({ ...ANSWERED, question: "How many?" });
});

test("cancelling ends an ask, and the variables of its cells stay", async () => {
  const held = never();
  const { pi, life } = await loaded(fakePi(), [LOOK, SAID, held.step]);
  const stop = new AbortController();
  const ask = life.call("rlm_ask", QUESTION, "ask", stop.signal);
  await until(held.isAsked);
  stop.abort();
  expect(await ask).toMatchObject({ success: false, error_code: "cancelled", answer: null });
  expect(mirrorOn(pi.branch).at(-1)).toBe("rlm_complete ask failed");
  expect(await life.call("rlm_exec", LOOKED)).toMatchObject(SEEN);
});

const PART = "var part = await llm_query('Which word?', { context: [0, P.length] });";

test.each([
  ["rlm_ask", QUESTION, [cell(PART), cell("answer(part)")], { answer: "alpha", children: 1, depth_reached: 1 }],
  ["rlm_exec", { code: `${PART} result = part` }, [], { result_json: "alpha" }],
] as const)("%s with a child: the branch has nothing of it, people its turn", async (tool, args, turns, answer) => {
  const [first, ...others] = turns;
  const child = [cell("var word = find('alpha').matches[0]; print(word)"), cell("answer(peek(...word))")];
  const { pi, life } = await loaded(fakePi(), [...(first ? [first] : []), ...child, ...others]);
  const shown = new Set<string>();
  const leave = life.lifecycle.board.subscribe(({ running }) => {
    if (running?.child) shown.add(`${running.turn?.turn ?? "cell"}: ${running.child.turn} of ${running.child.of}`);
  });
  expect(await life.call(tool, args)).toMatchObject({ success: true, ...answer });
  leave();
  expect([...shown]).toEqual([1, 2].map((turn) => `${tool === "rlm_ask" ? 1 : "cell"}: ${turn} of 10`));
  const kinds = mirrorOn(pi.branch).filter((line) => /_(start|complete) /.test(line));
  const kind = tool === "rlm_ask" ? "ask" : "cell";
  expect(kinds).toEqual([...OF_ASK.slice(0, 2), `rlm_start ${kind}`, `rlm_complete ${kind}`]);
  expect(await life.call("rlm_exec", { code: "result = part" })).toMatchObject({ result_json: "alpha" });
});

test("nothing that a child does is told to the branch", async () => {
  const row = (id: string, origin: string) => JSON.parse(JSON.stringify({ id, origin, head: null }));
  const kept: string[] = [];
  const inner: Pick<Store, "create" | "lease" | "commit"> = {
    create: async ({ id, origin }): Promise<Lease> => row(id, origin),
    lease: async (id) => row(id, id),
    commit: async (session) => kept.push(session),
  };
  const told: string[] = [];
  const append = (type: string) => void told.push(type);
  const target = { toolCallId: () => "call", append, kept: (session: string) => void told.push(session) };
  const store = mirrored({ ...JSON.parse("{}"), ...inner }, target);
  await store.lease("child");
  await store.lease("pi");
  const start = { record: "rlm_start", exec_id: "E", kind: "ask", input: null, cell: null, limits: {} };
  const records = [{ ...start, helpers_hash: null, rest: [], at: 0 }];
  await store.commit("child", { records });
  expect(told).toEqual([]);
  await store.commit("pi", { records });
  expect([kept, told]).toEqual([
    ["child", "pi"],
    ["rlm_start", "pi"],
  ]);
});

test("each prompt of the user has the budget of the settings; calls of one prompt share it", async () => {
  const pi = fakePi();
  grow(join(pi.folder, "../agent"), { "belay.json": '{ "max_sub_calls": 2 }' });
  const life = await pi.start();
  const prompted = (id: string) => pi.branch.push({ type: "message", id, message: { role: "user", content: id } });
  const code = `let left = []; for (let i = 0; i < 2; i++) {
    try { await llm_query("look", { tools: [] }) } catch (e) { left.push(e.code) }
  } result = left`;
  pi.faux.setResponses(Array(6).fill(SAID));
  prompted("first");
  await life.call("rlm_load", { path: pi.folder });
  expect(await life.call("rlm_exec", { code })).toMatchObject({ result_json: [] });
  expect(life.lifecycle.board.current().budget).toMatchObject({ remaining_sub_calls: 0 });
  const refused = { result_json: Array(2).fill("budget_exceeded"), budget: { remaining_sub_calls: 0 } };
  expect(await life.call("rlm_exec", { code })).toMatchObject(refused);
  prompted("second");
  expect(await life.call("rlm_exec", { code })).toMatchObject({
    result_json: [],
    budget: { session: { sub_calls: 4 } },
  });
  await life.die();
  const next = await pi.start();
  expect(await next.call("rlm_exec", { code })).toMatchObject(refused);
});
