import { dirname, join } from "node:path";
import { fauxAssistantMessage } from "@mariozechner/pi-ai";
import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../../runtime/index.ts";
import { messagesOf } from "../../../src/pi/externalize/message.ts";
import { leftRuns } from "../../../src/pi/runs/left.ts";
import { openSigner } from "../../../src/settings/signed-settings.ts";
import type { Store } from "../../../src/store/index.ts";
import { listed } from "../../support/listed.ts";
import { grow } from "../../support/tree.ts";
import {
  type FakePi,
  fakePi,
  type Life,
  mirrorOn,
  never,
  recovered,
  resultsOn,
  type StartOptions,
  startedPi,
  until,
} from "./fake-pi.ts";
import { stoppingAt } from "./stopping-store.ts";

test("state follows the branch: variables are those of the entry where it stands, whichever process goes on", async () => {
  const pi = fakePi();
  const first = await pi.start();
  expect(await first.call("rlm_load", { path: pi.folder })).toMatchObject({ success: true });
  expect(await first.call("rlm_exec", { code: "let n = 1; result = n" })).toMatchObject({ result_json: 1 });
  const fork = pi.branch.length;
  expect(await first.call("rlm_exec", { code: "n = 2; memory.put('k', n); result = n" })).toMatchObject({
    result_json: 2,
  });
  const later = pi.branch.slice(fork);
  const { session } = first.lifecycle.board.current();

  pi.branch.splice(fork);
  expect(await first.call("rlm_exec", { code: "result = [n, memory.get('k')]" })).toMatchObject({
    result_json: [1, null],
  });
  expect(first.lifecycle.board.current().session).not.toBe(session);
  await first.leave();

  pi.branch.splice(fork, Number.POSITIVE_INFINITY, ...later);
  const second = await pi.start();
  const context = { chars: 17 + "\n===== a.txt =====\n".length, documents: null };
  expect(second.lifecycle.board.current()).toMatchObject({ session, checkpoints: 3, context, running: null });
  expect(await second.call("rlm_exec", { code: "result = [n, memory.get('k')]" })).toMatchObject({
    result_json: [2, 2],
  });
  expect(second.lifecycle.board.current()).toMatchObject({ session, checkpoints: 4, context: { documents: 1 } });
});

test("a session keeps its settings with the user's signature, so that the command can go on with them", async () => {
  const pi = fakePi();
  const stores: Store[] = [];
  const life = await pi.start({
    store(store) {
      stores.push(store);
      return store;
    },
  });
  await life.call("rlm_load", { path: pi.folder });
  const rows = stores[0] ? await listed(stores[0]) : [];
  const user = dirname(pi.folder);
  const signer = openSigner(join(user, "home"), { HOME: user });
  expect(rows.map(({ id, settings }) => signer.doubt(settings, id))).toEqual([null]);
});

test("reads make no session that outlives them, and the entries of an exec are small", async () => {
  const { pi, life } = await startedPi();
  expect(await life.call("rlm_memory_list", {})).toEqual({ success: true, keys: [] });
  expect(pi.branch.some(({ type }) => type === "custom")).toBe(false);
  await life.call("rlm_load", { path: pi.folder });
  pi.faux.setResponses([fauxAssistantMessage("an answer")]);
  await life.call("rlm_exec", {
    code: `result = await llm_query(${JSON.stringify("long ".repeat(2_000))}, { tools: [] })`,
  });
  const cell = ["rlm_start cell", "rlm_tool_call", "rlm_tool_result", "rlm_complete cell"];
  expect(mirrorOn(pi.branch)).toEqual(["rlm_start load", "rlm_complete load", ...cell]);
  for (const entry of pi.branch.filter(({ type }) => type === "custom")) {
    expect(JSON.stringify(entry).length).toBeLessThan(2_048);
  }
  const { store } = await life.lifecycle.opened();
  expect(await listed(store)).toHaveLength(1);
});

test("a failed load leaves the branch where it was", async () => {
  const { pi, life } = await startedPi();
  await life.call("rlm_load", { path: pi.folder });
  await life.call("rlm_exec", { code: "let kept = 7" });
  expect(await life.call("rlm_load", { path: `${pi.folder}/gone` })).toMatchObject({ error_code: "path_not_found" });
  expect(await life.call("rlm_exec", { code: "result = kept" })).toMatchObject({ result_json: 7 });
});

test.for([
  { hasUI: false, asked: 0, granted: false },
  { hasUI: true, asked: 1, granted: true },
])("a sub-agent's wish for bash, which the settings allow, is confirmed by the user, with UI: $hasUI", async (row) => {
  const pi = fakePi({ "a.txt": "x" });
  writeAgentFile(pi, { allowed_tool_overrides: ["bash"] });
  const life = await pi.start({ hasUI: row.hasUI });
  await life.call("rlm_load", { path: pi.folder });
  pi.faux.setResponses([fauxAssistantMessage("it is done")]);
  const answer = await life.call("rlm_exec", { code: "result = await llm_query('do it', { tools: ['bash'] })" });
  expect(answer).toMatchObject(
    row.granted
      ? { success: true, result_json: "it is done", tool_override_events: [{ granted_tools: ["bash"] }] }
      : { success: false, error_code: "policy_violation", tool_override_events: [{ denied_tools: ["bash"] }] },
  );
  expect(pi.asked).toEqual(Array(row.asked).fill("A sub-agent wants bash"));
});

const CELL = {
  code: "let n = 40; n += (await llm_query('one', { tools: [] })).length; n += (await llm_query('two', { tools: [] })).length; result = n",
};

test.for([
  // tests/e2e/pi-crash.test.ts kills real processes at every point.
  { record: "rlm_tool_result", answers: ["b"] },
  { record: "rlm_complete", answers: [] },
])("a cell whose process dies after the store has $record is finished by the next", async ({ record, answers }) => {
  const pi = fakePi();
  const before = await pi.start();
  await before.call("rlm_load", { path: pi.folder }, "load");
  await before.leave();

  const { isReached, around } = stoppingAt(record);
  const dying = await pi.start({ store: around });
  pi.faux.setResponses([fauxAssistantMessage("a"), fauxAssistantMessage("b")]);
  void dying.begin("rlm_exec", CELL, "cell");
  await until(isReached);
  await dying.die();

  const asked = pi.faux.state.callCount;
  pi.faux.setResponses(answers.map((answer) => fauxAssistantMessage(answer)));
  const after = await pi.start();
  expect(pi.told).toEqual([
    expect.stringMatching(/^rlm_exec (was interrupted, and is finished now|had ended before Pi did)/),
  ]);
  expect(resultsOn(pi.branch).cell).toMatchObject({ success: true, result_json: 42 });
  expect(pi.faux.state.callCount - asked).toBe(answers.length);
  const ends = mirrorOn(pi.branch).filter((line) => line.startsWith("rlm_complete"));
  expect(ends).toEqual(["rlm_complete load", "rlm_complete cell"]);
  expect(await after.call("rlm_exec", { code: "result = n" })).toMatchObject({ result_json: 42 });
});

test("loads, changes of memory and helpers, and queries are recovered as cells are", { timeout: 30_000 }, async () => {
  const pi = fakePi({ "a.txt": "one TODO\n" });
  const put = { op: "put", key: "a", value: 1 };
  const { step, isAsked } = never();
  pi.faux.setResponses([step, fauxAssistantMessage("a note"), fauxAssistantMessage("an answer")]);
  const beforeEnd = stoppingAt("rlm_complete", 1, "before");
  const afterEnd = stoppingAt("rlm_complete");
  let isTold = false;
  const dying: readonly [tool: string, args: object, isReached: () => boolean, around?: (store: Store) => Store][] = [
    ["rlm_load", { path: pi.folder }, beforeEnd.isReached, beforeEnd.around],
    ["rlm_memory_batch", { ops: [put, { op: "get", key: "a" }] }, afterEnd.isReached, afterEnd.around],
    ["rlm_helpers_add", { name: "one", code: "const one = 1;" }, () => isTold],
    ["rlm_query", { prompt: "what is TODO?", search_strategy: "regex" }, isAsked],
  ];
  for (const [tool, args, isReached, around] of dying) {
    const life = await pi.start(around ? { store: around } : {});
    isTold = false;
    const told = () => {
      isTold = true;
    };
    void life.begin(tool, args, tool).then(told, told);
    await until(isReached);
    await life.die();
    await (await pi.start()).leave();
  }
  expect(resultsOn(pi.branch)).toMatchObject({
    rlm_load: { success: true, stats: { document_count: 1 } },
    rlm_memory_batch: { success: true, results: [{ ok: true }, { value: 1 }] },
    rlm_helpers_add: { success: true },
    rlm_query: { success: true, answer: expect.any(String) },
  });
  const ends = mirrorOn(pi.branch).filter((line) => line.startsWith("rlm_complete"));
  expect(ends).toHaveLength(dying.length);
  const last = await pi.start();
  const look = "result = [memory.list(), one, find('TODO').matches.length]";
  expect(await last.call("rlm_exec", { code: look })).toMatchObject({ result_json: [["a"], 1, 1] });
});

test.for([true, false])("Pi that can append messages: %s; its model is sent the result, always", async (appends) => {
  const pi = fakePi();
  const { isReached, around } = stoppingAt("rlm_complete", 2);
  const dying = await pi.start({ store: around });
  await dying.call("rlm_load", { path: pi.folder }, "load");
  void dying.begin("rlm_exec", { code: "result = 5" }, "cell");
  await until(isReached);
  await dying.die();

  for (const round of [1, 2]) {
    const life = await pi.start({ appends });
    const messages = pi.branch.flatMap(({ message }) => (isMessage(message) ? [message] : []));
    const sent = life.lifecycle.messages(messages);
    const results = sent
      .filter(({ role }) => role === "toolResult")
      .map((message) => Reflect.get(message, "toolCallId"));
    expect(results, `round ${round}`).toEqual(["load", "cell"]);
    await life.leave();
  }
  expect("cell" in resultsOn(pi.branch)).toBe(appends);
});

function isMessage(value: unknown): value is { role: string } {
  return typeof value === "object" && value !== null && "role" in value;
}

test("Pi leaves while a cell waits: it is suspended, no result is given, and the next process finishes it", async () => {
  const pi = fakePi();
  const leaving = await pi.start();
  await leaving.call("rlm_load", { path: pi.folder });
  const { step, isAsked } = never();
  pi.faux.setResponses([step]);
  let isSettled = false;
  void leaving.begin("rlm_exec", { code: "result = await llm_query('q', { tools: [] })" }, "cell").finally(() => {
    isSettled = true;
  });
  await until(isAsked);
  await leaving.leave();
  expect(isSettled).toBe(false);
  expect(mirrorOn(pi.branch).at(-1)).toBe("rlm_tool_call");
  pi.faux.setResponses([fauxAssistantMessage("late")]);
  await pi.start();
  expect(resultsOn(pi.branch).cell).toMatchObject({ success: true, result_json: "late", resumed: 1 });
});

/** A cell of two sub-calls, which Pi aborts on its way out while it waits for the second. */
async function departing(pi: FakePi, options: StartOptions = {}) {
  const life = await pi.start(options);
  await life.call("rlm_load", { path: pi.folder });
  const { promise: answered, resolve: answer } = Promise.withResolvers<ReturnType<typeof fauxAssistantMessage>>();
  let asked = 0;
  const second = () => {
    asked += 1;
    return answered;
  };
  pi.faux.setResponses([fauxAssistantMessage("one"), second, second]);
  const stop = new AbortController();
  const code = "var got = []; for (const q of ['a', 'b']) got.push(await llm_query(q, { tools: [] })); result = got";
  const cell = life.call("rlm_exec", { code }, "cell", stop.signal);
  await until(() => asked === 1);
  life.lifecycle.departs();
  stop.abort();
  expect(await cell).toMatchObject({ success: false, error_code: "exec_unfinished" });
  // As Pi ends the turn.
  pi.branch.push({ type: "message", message: { role: "assistant", stopReason: "aborted", content: [] } });
  return { life, answer: () => answer(fauxAssistantMessage("two")), asked: () => asked };
}

/** What the model is sent for the cell. */
function sentFor({ branch }: FakePi, { lifecycle }: Life): unknown {
  const results = lifecycle.messages(messagesOf(branch)).filter(({ role }) => role === "toolResult");
  const cells = results.filter((message) => Reflect.get(message, "toolCallId") === "cell");
  return cells.map((message) => JSON.parse(JSON.parse(JSON.stringify(message)).content[0].text));
}

const BOTH = { success: true, result_json: ["one", "two"] };

test("what Pi aborts when it leaves a session is suspended, if the settings say so, and finished when it comes back", async () => {
  const pi = fakePi();
  writeAgentFile(pi, { background: false });
  const { life, answer, asked } = await departing(pi);
  await life.leave("new");
  expect(mirrorOn(pi.branch).at(-1)).toBe("rlm_tool_call");
  answer();
  const next = await pi.start();
  expect(asked()).toBe(2);
  expect(pi.told).toEqual([
    "rlm_exec was interrupted, and is finished now: 1 of 2 sub-calls had their answers already",
  ]);
  expect(sentFor(pi, next)).toMatchObject([BOTH]);
  expect(await next.call("rlm_exec", { code: "result = got" })).toMatchObject(BOTH);
  // Pi's own result stays in its session; the model is sent the real one for good.
  const sent = sentFor(pi, next);
  await next.leave();
  expect(sentFor(pi, await pi.start())).toEqual(sent);
  expect(asked()).toBe(2);
});

test("a call that Pi leaves for another session runs on, and its result waits for Pi; none of it is asked again", async () => {
  const pi = fakePi();
  const { life, answer, asked } = await departing(pi);
  await life.leave("resume");
  expect(leftRuns().map(({ tool }) => tool)).toEqual(["rlm_exec"]);
  // Back before it is over, recovery waits for it.
  const back = await pi.start({ hurries: true });
  const waits = back.lifecycle.prompted();
  answer();
  await waits;
  await recovered(back.lifecycle);
  expect([leftRuns(), asked()]).toEqual([[], 1]);
  expect(pi.told).toEqual(["rlm_exec ended after Pi had left it; its result is in place"]);
  expect(sentFor(pi, back)).toMatchObject([BOTH]);
  expect(await back.call("rlm_exec", { code: "result = got" })).toMatchObject(BOTH);
});

test("if Pi quits, what runs on is suspended; a cell that is cancelled while it runs on is over", async () => {
  const pi = fakePi();
  const { life, answer } = await departing(pi);
  await life.leave("new");
  const other = await pi.start({ hurries: true });
  await other.lifecycle.left("quit");
  expect(leftRuns()).toEqual([]);
  expect(mirrorOn(pi.branch).at(-1)).toBe("rlm_tool_call");
  answer();
  expect(sentFor(pi, await pi.start())).toMatchObject([BOTH]);

  const second = fakePi();
  const left = await departing(second);
  await left.life.leave("fork");
  const back = await second.start({ hurries: true });
  expect(back.lifecycle.cancel()).toBe(true);
  await recovered(back.lifecycle);
  expect(await back.call("rlm_exec", { code: "result = got" })).toMatchObject({ result_json: ["one"] });
});

test("a call that Pi aborts is cancelled if Pi then stays, and the same cell takes over its answers", async () => {
  const pi = fakePi();
  const soon: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms === 5_000 ? 20 : ms, run) };
  const { life, answer, asked } = await departing(pi, { clock: soon });
  await until(() => mirrorOn(pi.branch).at(-1) === "rlm_complete cell failed");
  answer();
  const code = "var got = []; for (const q of ['a', 'b']) got.push(await llm_query(q, { tools: [] })); result = got";
  // The conversation has grown meanwhile.
  pi.branch.push({ type: "message", message: { role: "user", content: "again" } });
  expect(await life.call("rlm_exec", { code })).toMatchObject(BOTH);
  expect(asked()).toBe(2);
});

test("cancelling ends a cell for good: it is not taken up again", async () => {
  const { pi, life } = await startedPi();
  await life.call("rlm_load", { path: pi.folder });
  const stop = new AbortController();
  const { step, isAsked } = never();
  pi.faux.setResponses([step]);
  const cell = life.call("rlm_exec", { code: "let v = 1; await llm_query('q', { tools: [] })" }, "cell", stop.signal);
  await until(isAsked);
  stop.abort();
  expect(await cell).toMatchObject({ success: false, error_code: "cancelled" });
  await life.leave();
  const next = await pi.start();
  expect(pi.told).toEqual([]);
  expect(await next.call("rlm_exec", { code: "result = v" })).toMatchObject({ result_json: 1 });
});

test("calls that are not ours, or that never began, are left alone", async () => {
  const { pi, life } = await startedPi();
  await life.call("rlm_load", { path: pi.folder });
  await life.leave();
  const content = [
    { type: "toolCall", id: "x", name: "bash", arguments: {} },
    { type: "toolCall", id: "y", name: "rlm_exec", arguments: { code: "1" } },
  ];
  pi.branch.push({ type: "message", message: { role: "assistant", stopReason: "toolUse", content } });
  await pi.start();
  expect(Object.keys(resultsOn(pi.branch))).toEqual(["call_1"]);
  expect(pi.told).toEqual([]);
});

test("a session that a living process holds is left to it, and new calls work on a fork", async () => {
  const pi = fakePi();
  const holder = await pi.start();
  await holder.call("rlm_load", { path: pi.folder });
  await holder.call("rlm_exec", { code: "let n = 1" });
  const { step, isAsked } = never();
  pi.faux.setResponses([step]);
  void holder.begin("rlm_exec", { code: "n = 2; await llm_query('q', { tools: [] })" }, "cell");
  await until(isAsked);
  const second = await pi.start();
  expect(pi.told).toEqual([expect.stringContaining(`process ${process.pid}`)]);
  expect(await second.call("rlm_exec", { code: "result = n" })).toMatchObject({ result_json: 1 });
});

/** A cell that was suspended while a model took its time, in a process that does not wait until it is finished. */
async function interrupted(pi: ReturnType<typeof fakePi>) {
  const waiting: ((message: ReturnType<typeof fauxAssistantMessage>) => void)[] = [];
  const slow = () =>
    new Promise<ReturnType<typeof fauxAssistantMessage>>((resolve) => {
      waiting.push(resolve);
    });
  pi.faux.setResponses([slow, slow]);
  const first = await pi.start();
  await first.call("rlm_load", { path: pi.folder });
  void first.begin("rlm_exec", { code: "result = await llm_query('q', { tools: [] })" }, "cell");
  await until(() => waiting.length === 1);
  await first.leave();
  const next = await pi.start({ hurries: true });
  await until(() => waiting.length === 2);
  return { next, answer: (text: string) => waiting[1]?.(fauxAssistantMessage(text)) };
}

test.for([
  { settings: {}, goesOn: false },
  { settings: { auto_continue: true }, goesOn: true },
])("a call is finished behind a prompt that waits, or the turn goes on: $settings", async ({ settings, goesOn }) => {
  const pi = fakePi({ "a.txt": "x" });
  writeAgentFile(pi, settings);
  const { next, answer } = await interrupted(pi);
  expect(next.lifecycle.board.current().running).toMatchObject({ tool: "rlm_exec", phase: "recovering" });
  const prompt = goesOn ? undefined : next.lifecycle.prompted();
  if (prompt) await until(() => pi.told.length > 0);
  expect(resultsOn(pi.branch).cell).toBeUndefined();
  answer("late");
  await prompt;
  await recovered(next.lifecycle);
  expect(resultsOn(pi.branch).cell).toMatchObject({ result_json: "late" });
  expect(next.lifecycle.answer("cell")).toMatchObject({ role: "toolResult", toolCallId: "cell" });
  expect(pi.sent).toEqual(goesOn ? [{ customType: "rlm_recovered", triggerTurn: true }] : []);
  expect(pi.told).toEqual([
    ...(goesOn ? [] : [expect.stringContaining("the prompt waits for it, 120 s at the most")]),
    "rlm_exec was interrupted, and is finished now: 0 of 1 sub-calls had their answers already",
  ]);
});

test("a prompt that has waited long enough goes out; the result that comes later is not put behind it", async () => {
  const pi = fakePi({ "a.txt": "x" });
  writeAgentFile(pi, { prompt_wait_s: 0 });
  const { next, answer } = await interrupted(pi);
  await next.lifecycle.prompted();
  expect(pi.told.at(-1)).toContain("the prompt goes out without its result");
  const impatient = AbortSignal.abort();
  expect(await next.call("rlm_exec", { code: "1" }, "impatient", impatient)).toMatchObject({ error_code: "cancelled" });
  pi.branch.push({ type: "message", message: { role: "user", content: "go on" } });
  answer("late");
  await recovered(next.lifecycle);
  expect(resultsOn(pi.branch).cell).toBeUndefined();
  const call = { role: "assistant", content: [{ type: "toolCall", id: "cell", name: "rlm_exec", arguments: {} }] };
  const roles = next.lifecycle.messages([call, { role: "user" }]).map(({ role }) => role);
  expect(roles).toEqual(["assistant", "toolResult", "user"]);
});

test("settings that are wrong are told by the tools and, where something is to be recovered, by a line", async () => {
  const pi = fakePi({ "a.txt": "x" });
  const first = await pi.start();
  await first.call("rlm_load", { path: pi.folder });
  await first.leave();
  writeAgentFile(pi, { sub_modle: "a/b" });
  const next = await pi.start();
  expect(pi.told).toEqual([expect.stringContaining("unknown key sub_modle; did you mean sub_model?")]);
  expect(await next.call("rlm_exec", { code: "1" })).toMatchObject({ success: false, error_code: "invalid_config" });
  writeAgentFile(pi, { sub_model: "faux/f" });
  expect(await next.call("rlm_exec", { code: "result = 1" })).toMatchObject({ success: true });
});

function writeAgentFile({ folder }: FakePi, settings: object): void {
  grow(join(folder, "../agent"), { "belay.json": JSON.stringify(settings) });
}
