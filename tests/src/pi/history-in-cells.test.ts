import { fauxAssistantMessage, fauxToolCall } from "@mariozechner/pi-ai";
import { expect, test } from "vitest";
import { objectId } from "../../../src/context/index.ts";
import type { Store } from "../../../src/store/index.ts";
import { listed } from "../../support/listed.ts";
import { type FakePi, fakePi, recovered, resultsOn, startedPi, until } from "./fake-pi.ts";
import { stoppingAt } from "./stopping-store.ts";

const user = (content: unknown) => ({ type: "message", message: { role: "user", content } });
/** The messages that Pi would send. */
const messagesOf = ({ branch }: FakePi) =>
  branch.flatMap(({ message }) => (message ? [Object.assign(Object.create(null), message)] : []));

const FACT = "the code word is heron";

/** Hashes of the conversations that execs began with. */
async function conversationsIn(store: Store): Promise<string[]> {
  const rows = await listed(store);
  const journals = await Promise.all(rows.map(({ id }) => store.journal(id)));
  return journals.flat().flatMap(({ record }) => {
    const { history_hash } = JSON.parse(JSON.stringify(record));
    return typeof history_hash === "string" ? [history_hash] : [];
  });
}

test("a cell reads the conversation without a P, in the words of the builtins of P", async () => {
  const pi = fakePi();
  pi.branch.push(user(FACT), { type: "compaction", summary: "small talk" }, user("what was it?"));
  const life = await pi.start();
  const id = objectId(FACT);
  const code = `
    const [match] = history.find("code \\\\w+", "", { docs: true }).matches;
    const [hit] = history.search("heron", 1);
    result = {
      docs: history.list_docs().map(({ id, object, of }) => [id, object, of]),
      users: history.list_docs("history/0001").length,
      match: [match.id, match.line, match.of, history.peek(match.start, match.end)],
      ranges: history.find(/heron/).matches,
      hit: [hit.doc_id, hit.of],
      byObject: history.peek_doc("${id.slice(0, 14)}", 17),
      byDocument: history.peek_doc("history/0002-user"),
      missing: history.peek_doc("rlm-obj-000000"),
      stats: history.stats().docs,
    };`;
  expect(await life.call("rlm_exec", { code })).toMatchObject({
    success: true,
    result_json: {
      docs: [
        ["history/0001-user", id, "history"],
        ["history/0002-user", objectId("what was it?"), "history"],
        ["history/0003-assistant", expect.stringMatching(/^rlm-obj-/), "history"],
      ],
      ...{ users: 1, match: ["history/0001-user", 1, "history", "code word"] },
      ranges: expect.arrayContaining([[17, 22, "history"]]),
      ...{ hit: [expect.stringMatching(/^history\//), "history"], byObject: "heron", byDocument: "what was it?" },
      ...{ missing: "", stats: 3 },
    },
  });
  expect(await life.call("rlm_exec", { code: "peek(0, 1)" })).toMatchObject({ error_code: "context_not_loaded" });
});

test("the conversation is stored once a cell has touched it, and not before", async () => {
  const pi = fakePi();
  pi.branch.push(user(FACT));
  const life = await pi.start();
  const { store } = await life.lifecycle.opened();
  await life.call("rlm_exec", { code: "1 + 1" });
  await life.call("rlm_exec", { code: "result = history.stats().docs" });
  const [untouched = "", touched = ""] = await conversationsIn(store);
  expect([await store.hasContext(untouched), await store.hasContext(touched)]).toEqual([false, true]);
});

test("a variable that holds history sees the conversation of each later call", async () => {
  const { life } = await startedPi();
  const code = "const docs = () => history.stats().docs; result = docs()";
  expect(await life.call("rlm_exec", { code })).toMatchObject({ result_json: 1 });
  expect(await life.call("rlm_exec", { code: "result = docs()" })).toMatchObject({ result_json: 3 });
});

test("a closure over history that is resumed behind new messages sees its own conversation, and the next cell the new one", async () => {
  const code = `
    const docs = () => history.list_docs().map(({ id }) => id);
    const before = docs();
    await llm_query("go on?", { tools: [] });
    result = [before, docs()];`;
  // Behind a prompt the call would be left alone; what extensions say may come in between.
  const note = { type: "custom_message", customType: "note", content: "news" };
  const { pi, life } = await livesOn(code, ({ branch }) => void branch.push(note, note));
  const seen = ["history/0001-user", "history/0002-assistant"];
  expect(resultsOn(pi.branch).c1).toMatchObject({ success: true, result_json: [seen, seen] });
  const next = await life.call("rlm_exec", { code: "result = docs().length" });
  // Two messages more, the recovered result, and this call.
  expect(next).toMatchObject({ success: true, result_json: 6 });
});

test("texts go out and are read again although the store cannot be opened", async () => {
  const pi = fakePi();
  const life = await pi.start({
    store() {
      throw new Error("the store is broken");
    },
  });
  const text = "the quick brown fox\n".repeat(25_000);
  const timed = (role: string, content: string, timestamp: number) => ({
    type: "message",
    message: { role, content: [{ type: "text" as const, text: content }], timestamp },
  });
  pi.branch.push(timed("user", text, 1), timed("assistant", "read", 2), timed("user", "and now?", 3));
  expect(JSON.stringify(life.lifecycle.messages(messagesOf(pi))[0])).toContain(objectId(text));
  expect(pi.branch.filter(({ customType }) => customType === "rlm_externalize")).toHaveLength(1);
  const peeked = await life.call("rlm_peek", { id: objectId(text), offset: 20, length: 19 });
  expect(peeked).toMatchObject({ text: expect.stringMatching(/\nthe quick brown fox$/) });
  expect(await life.call("rlm_exec", { code: "1" })).toMatchObject({ success: false });
});

/** A process that dies while a cell waits for a sub-call, and what the next process makes of it. */
async function killedAtTheCall(...[code, meanwhile, options]: Parameters<typeof livesOn>) {
  const { pi } = await livesOn(code, meanwhile, options);
  return resultsOn(pi.branch).c1;
}

/** The next process, which has finished the cell. */
async function livesOn(
  code: string,
  meanwhile: (pi: FakePi) => void = () => {},
  { answers = [fauxAssistantMessage("yes"), fauxAssistantMessage("yes")], count = 1 } = {},
) {
  const pi = fakePi();
  pi.branch.push(user(FACT));
  pi.faux.setResponses(answers);
  const { isReached, around } = stoppingAt("rlm_tool_call", count);
  const first = await pi.start({ store: around });
  void first.begin("rlm_exec", { code }, "c1").catch(() => {});
  await until(isReached);
  await first.die();
  meanwhile(pi);
  const second = await pi.start();
  await recovered(second.lifecycle);
  return { pi, life: second };
}

const BEFORE_AND_AFTER = `
  const before = history.stats().context_hash;
  await llm_query("go on?", { tools: [] });
  result = [before === history.stats().context_hash, history.stats().docs];`;
const AFTER = `await llm_query("go on?", { tools: [] }); result = history.stats().docs;`;

test("a resumed cell sees the conversation that it had seen before", async () => {
  expect(await killedAtTheCall(BEFORE_AND_AFTER)).toMatchObject({ success: true, result_json: [true, 2] });
});

test("a conversation that was not touched before the death is made again from the branch", async () => {
  expect(await killedAtTheCall(AFTER)).toMatchObject({ success: true, result_json: 2 });
});

const edit = (pi: FakePi) => void pi.branch.splice(0, 1, user("another text"));

test("if the branch has another one, a touch fails, and what was stored is found all the same", async () => {
  expect(await killedAtTheCall(AFTER, edit)).toMatchObject({ success: false, error_code: "context_lost" });
  expect(await killedAtTheCall(BEFORE_AND_AFTER, edit)).toMatchObject({ success: true, result_json: [true, 2] });
});

const cell = (code: string) => fauxAssistantMessage(fauxToolCall("rlm_exec", { code }), { stopReason: "toolUse" });

test("places of the history are the context of a child, which sees nothing else of it", async () => {
  const pi = fakePi();
  pi.branch.push(user(FACT), user("small talk"));
  const life = await pi.start();
  await life.call("rlm_load", { path: pi.folder });
  pi.faux.setResponses([
    cell("const [doc] = list_docs(); const text = peek(doc.start, doc.end); print(text)"),
    cell("answer([doc.id, text], { cite: [doc] })"),
    cell("history.stats()"),
    fauxAssistantMessage("none is there"),
  ]);
  const code = `
    const [match] = history.find("heron").matches;
    const found = await llm_query("Which bird?", { context: match, cites: true });
    const [document] = history.list_docs("history/0002");
    const asked = await rlm_query("How many?", { context: document, max_turns: 1 });
    result = { said: JSON.parse(found.answer), cited: found.cites.map((cite) => [cite[2], history.peek(cite[0], cite[1])]), asked };`;
  expect(await life.call("rlm_exec", { code })).toMatchObject({
    result_json: { said: ["history/0001-user:17-22", "heron"], cited: [["history", "heron"]], asked: "none is there" },
  });
});

test.each([
  ["before the child is made", 1],
  ["when the child has a turn", 2],
] as const)("a child over the history that is killed %s goes on with the same history", async (_when, count) => {
  const code = `
    const found = await llm_query("Which bird?", { context: history.find("heron").matches, cites: true });
    result = [found.answer, history.peek(...found.cites[0])];`;
  const answers = [cell("print(P)"), cell("answer(list_docs()[0].id, { cite: list_docs() })")];
  const result_json = ["history/0001-user:17-22", "heron"];
  expect(await killedAtTheCall(code, edit, { answers, count })).toMatchObject({ success: true, result_json });
});
