import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSession, openStore, type SessionOptions } from "../../../../src/index.ts";
import { askScene, cell } from "../../../support/ask/scene.ts";
import { TEXT } from "../../../support/ask/tree.ts";
import type { ModelScript, ScriptedAnswer } from "../../../support/model-server.ts";
import { folderWith } from "../../../support/tree.ts";

const scene = (script: ModelScript, options: SessionOptions = {}) => askScene(script, TEXT, options);
const FIND = 'const { matches } = find("code is \\\\d+"); print(peek(...matches[0]))';
const ANSWER = "answer(peek(...matches[0]).slice(8), { cite: matches })";

test("a model finds a needle by cells and cites it", async () => {
  const { session, server } = await scene([cell(FIND), cell(ANSWER)]);
  const envelope = await session.ask("What is the code?", { trajectory: true });
  expect(envelope).toMatchObject({
    ...{ success: true, answer: "4711", answered_by: "answer" },
    ...{ citations: [{ valid: true, doc: "notes.txt", line: 138, quote: "code is 4711" }], turns: 2, cells: 2 },
    ...{ sub_calls: 0, children: 0, depth_reached: 0, warnings: [], resumed: 0, replayed_turns: 0 },
  });
  expect(envelope.trajectory).toMatchObject([
    { turn: 1, cells: [{ code: FIND, observation: "code is 4711" }] },
    { turn: 2, cells: [{ success: true }] },
  ]);
  const [first, second] = server.requests.map(({ body }) => body.messages);
  expect(second?.slice(0, first?.length)).toEqual(first);
  expect(second?.at(-1)?.content).toContain("code is 4711\n[turn 1 of 20 done; left: ");
});

test("the cells of an ask run in the session, and a resume after it gives its record", async () => {
  const { session, server } = await scene([cell(FIND), cell(ANSWER)]);
  const envelope = await session.ask("What is the code?");
  expect(envelope).not.toHaveProperty("trajectory");
  const again = await session.resume({ trajectory: true });
  expect(again).toMatchObject({
    how: "replayed",
    envelope: { answer: "4711", trajectory: [{ turn: 1 }, { turn: 2 }] },
  });
  expect((await session.resume())?.envelope).toEqual(envelope);
  expect(envelope.budget.remaining_tokens).toBeLessThan(5_000_000);
  expect(await session.exec("matches.length")).toMatchObject({ result_json: 1 });
  expect(server.requests).toHaveLength(2);
});

test("an ask without a context, or with an empty question, is refused", async () => {
  const session = await openSession();
  onTestFinished(() => session.close());
  await expect(session.ask("What?")).rejects.toMatchObject({ code: "context_not_loaded" });
  await expect(session.ask(" ")).rejects.toMatchObject({ code: "invalid_argument" });
  await session.load({ text: "x", name: "x" });
  await expect(session.ask("What?")).rejects.toMatchObject({ code: "no_model_configured" });
  expect(session.unfinished()).toBeNull();
});

/** The model's window: requests with more characters are refused, as Anthropic says it. */
const WINDOW = 30_000;
const windowed =
  (script: (turn: number) => ScriptedAnswer): ModelScript =>
  ({ body }) => {
    const message = "prompt is too long: 9000 tokens > 7500 maximum";
    if (JSON.stringify(body.messages).length > WINDOW)
      return { status: 400, body: JSON.stringify({ error: { message } }) };
    return script(body.messages.filter(({ role }) => role === "assistant").length);
  };

test("a request that the provider finds too long is asked again without its oldest observations", async () => {
  const script = windowed((turn) => (turn < 8 ? cell(`print(${turn}, "x".repeat(8000))`) : { text: "It is 4711." }));
  const { session, server } = await scene(script);
  const envelope = await session.ask("What is the code?");
  expect(envelope).toMatchObject({ success: true, answer: "It is 4711.", warnings: ["history_elided"] });
  const sizes = server.requests.map(({ body }) => JSON.stringify(body.messages).length);
  const refused = sizes.flatMap((size, at) => (size > WINDOW ? [at] : []));
  expect(refused.length).toBeGreaterThan(1);
  for (const at of refused) expect(sizes[at + 1]).toBeLessThan(0.6 * (sizes[at] ?? 0));
  expect(envelope.turns).toBe(9 + refused.length);
  expect(server.requests.at(-1)?.prompt).toContain("x".repeat(8000));
});

test("a request that stays too long leaves the ask open, and the cure is named", async () => {
  const { session, server } = await scene(windowed(() => cell("1")));
  const paused = await session.ask(`What? ${"y".repeat(WINDOW)}`);
  expect(paused).toMatchObject({ success: false, error_code: "provider_error", resumable: true });
  expect(paused).toMatchObject({ suggestion: "Give it up with `discard()`, and ask a model with a larger window." });
  expect(server.requests).toHaveLength(1);
});

test("an ask that is discarded is over, and keeps the variables of its last cell", async () => {
  const bad = { status: 401, body: '{"error":{"message":"bad key"}}' };
  const { session } = await scene([cell(FIND), bad]);
  await session.ask("What is the code?");
  await session.discard();
  expect(session.unfinished()).toBeNull();
  expect(await session.exec("matches.length")).toMatchObject({ result_json: 1 });
});

test("a session whose ask was interrupted in a turn is listed as unfinished, with what it has spent", async () => {
  const store = join(folderWith(), "store");
  const suspend = new AbortController();
  const script = ({ index }: { index: number }) => {
    if (index === 1) suspend.abort();
    return cell(FIND);
  };
  const { session } = await scene(script, { store, session: "main" });
  await session.ask("What is the code?", { suspend: suspend.signal });
  await session.close();
  await using sessions = await openStore(store);
  const [listed] = await sessions.list();
  expect(listed).toMatchObject({ status: "unfinished", execs: 4, last: { kind: "turn", input: "turn 2" } });
  expect(listed?.tokens).toBeGreaterThan(0);
});

test("a text that a cell answers with fits a schema of texts as it is, and as JSON one of objects", async () => {
  const text = { type: "string", pattern: "^[0-9]+$" };
  const first = await scene([cell(FIND), cell(ANSWER)]);
  expect(await first.session.ask("What is the code?", { schema: text })).toMatchObject({ answer: "4711", turns: 2 });
  const object = { type: "object", properties: { code: { type: "string" } }, required: ["code"] };
  const second = await scene([cell(FIND), cell("answer(JSON.stringify({ code: '4711' }))")]);
  expect(await second.session.ask("What is the code?", { schema: object })).toMatchObject({ answer: { code: "4711" } });
});

test("an answer that fits the schema is its value; one that does not goes back", async () => {
  const schema = { type: "object", properties: { code: { type: "integer" } }, required: ["code"] };
  const { session } = await scene([cell(FIND), { text: "4711" }, { text: 'It is {"code": 4711}.' }]);
  expect(await session.ask("What is the code?", { schema })).toMatchObject({ answer: { code: 4711 }, turns: 3 });
});

test("a text that is nearly JSON is mended, which is told; a value that a cell gives is taken as it is", async () => {
  const schema = { type: "object", properties: { code: { type: "integer" } }, required: ["code"] };
  const draft = "It may be {\"code\": 17}.\nNo, the output has\n{'code': '4711'}";
  const mended = await scene([cell(FIND), { text: draft }]);
  expect(await mended.session.ask("What is the code?", { schema })).toMatchObject({
    ...{ answer: { code: 4711 }, turns: 2 },
    warnings: ["replies_mended: 1 (punctuation, figures in quotes, a draft beside it)"],
  });
  const given = await scene([cell(FIND), cell("answer({ code: '4711' })"), cell("answer({ code: 4711 })")]);
  expect(await given.session.ask("What is the code?", { schema })).toMatchObject({ turns: 3, warnings: [] });
});

test("a figure that JavaScript cannot hold ends an ask", async () => {
  const schema = { type: "object", properties: { code: { type: "integer" } }, required: ["code"] };
  const { session } = await scene([cell(FIND), { text: '{"code": 12345678901234567890}' }, { text: '{"code": 1e19}' }]);
  expect(await session.ask("What is the code?", { schema })).toMatchObject({
    ...{ success: false, error_code: "schema_mismatch", turns: 2, suggestion: "Ask for such a figure as a text." },
    error_message: expect.stringContaining("12345678901234567890 has more digits"),
  });
});

test("a budget for one turn is kept for the answer", async () => {
  const { session } = await scene([{ text: "No idea." }], { budget: { max_tokens: 6000 } });
  expect(await session.ask("What is the code?")).toMatchObject({ answered_by: "closing", turns: 1 });
});

test("sub-calls of cells ask the model that the ask names for them", async () => {
  const llm = cell('print(await llm_query("2+2?"))');
  const { session, server } = await scene(({ body, index }) => {
    if (body.model === "small") return { text: "four" };
    return index === 0 ? llm : { text: "It is four." };
  });
  const envelope = await session.ask("What is 2+2?", { subModel: "local/small" });
  expect(envelope).toMatchObject({ answer: "It is four.", sub_calls: 1, turns: 2 });
  expect(server.requests.map(({ body }) => body.model)).toEqual(["root", "small", "root"]);
});
