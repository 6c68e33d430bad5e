import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { historyContext } from "../../../src/context/index.ts";
import type { ModelAnswer, ModelRequest } from "../../../src/models/index.ts";
import { type ObjectToRead, type ReadingOptions, readingEstimate } from "../../../src/query/index.ts";
import type { QueryEnvelope } from "../../../src/session/index.ts";
import { openScripted, promptOf, USAGE } from "../../support/scripted-session.ts";

const TERMS = { inlineTokens: 12_000, maxTokens: 4096 };
const found = (answer: string, confidence = "high") =>
  JSON.stringify({ answer, confidence, evidence: [`“${answer}”`] });

function cell(code: string): ModelAnswer {
  const toolUses = [{ id: `use-${code.length}`, name: "rlm_exec", arguments: { code } }];
  return { ok: true, usage: USAGE, charged: true, turn: { text: "", toolUses, stop: "tools", raw: null } };
}

/** Documents `d1`, `d2` and so on, of so many characters each, all of the letter that has its place in the alphabet. */
async function openOver(
  sizes: readonly number[],
  script: Parameters<typeof openScripted>[0],
  options: Parameters<typeof openScripted>[1] = {},
) {
  const opened = await openScripted(script, options);
  for (const [at, size] of sizes.entries()) {
    const source = { text: letter(at).repeat(size), name: `d${at + 1}` };
    await (at === 0 ? opened.session.load(source) : opened.session.loadAppend(source));
  }
  const listed = (await opened.session.exec("list_docs()")).result_json;
  const documents: { readonly id: string; readonly start: number; readonly end: number }[] = JSON.parse(
    JSON.stringify(listed),
  );
  const objects = documents.map(
    ({ id, start, end }): ObjectToRead => ({ id: `rlm-obj-${id}`, name: `P: ${id}`, of: "P", start, end }),
  );
  return { ...opened, objects };
}

const letter = (at: number) => String.fromCharCode(97 + at);
/** The text of the object in a prompt, by its letter. */
const textIn = (request: ModelRequest) => /<text>\n(.*)\n<\/text>/s.exec(promptOf(request))?.[1];
const codes = ({ results = [] }: QueryEnvelope) => results.map((read) => ("error" in read ? read.error.code : "ok"));

test("an object of at most inline_tokens stands in one prompt, and a larger one is explored with cells", async () => {
  const questions: string[] = [];
  const { session, objects, seen, journal } = await openOver([44_000, 240_000], (request) => {
    const text = textIn(request);
    if (text !== undefined) return found(`${text.length} ${text[0]}`);
    questions.push(request.messages.map((message) => ("text" in message ? message.text : "")).join("\n"));
    return questions.length === 1
      ? cell("print(list_docs()[0].size, P.at(-1))")
      : cell("answer({ answer: String(find('b').matches.length), confidence: 'medium', evidence: ['b'] })");
  });
  const read = await session.readObjects("How many letters?", objects, TERMS);
  expect(read).toMatchObject({
    success: true,
    answer: "[P: d1]\n44000 a\n\n[P: d2]\n10000",
    results: [
      { object: "rlm-obj-d1", name: "P: d1", answer: "44000 a", confidence: "high", evidence: ["“44000 a”"] },
      { object: "rlm-obj-d2", answer: "10000", confidence: "medium", evidence: ["b"] },
    ],
  });
  expect(seen.prompts).toHaveLength(3);
  expect(questions[0]).toContain("About P: d2:\n\nHow many");
  expect(questions[1]).toContain("240000 b");
  const answered = (await journal()).filter((record) => record.record === "rlm_tool_result");
  expect(answered.map(({ child }) => child?.turns ?? 0).sort()).toEqual([0, 2]);
  expect(read.budget.remaining_sub_calls).toBe(48);
});

test("depth 2 at concurrency 1 ends, and the ledger has each request once", async () => {
  const { session, objects, seen, journal } = await openOver(
    [400],
    (request) => {
      const text = request.messages.map((message) => ("text" in message ? message.text : "")).join("\n");
      if (text.includes("of a part")) return cell("answer(P.slice(-2))");
      return text.includes("turn 1 of")
        ? cell("answer({ answer: part, confidence: 'high', evidence: [] })")
        : cell("var part = await llm_query('What of a part?', { context: [30, 90], max_sub_calls: 0 })");
    },
    { concurrency: 1 },
  );
  const read = await session.readObjects("Which letters?", objects, { ...TERMS, inlineTokens: 99 });
  expect(read).toMatchObject({ success: true, answer: "aa" });
  const { input, output } = USAGE;
  expect(seen.prompts).toHaveLength(3);
  expect(read.budget.remaining_tokens).toBe(500_000 - 3 * (input + output));
  const [result] = (await journal()).filter((record) => record.record === "rlm_tool_result");
  expect(result).toMatchObject({ usage: { input: 3 * input }, child: { turns: 2, sub_calls: 1, depth_reached: 2 } });
  expect(read.budget.remaining_sub_calls).toBe(48);
});

test("what does not fit is asked for once more, and then taken as it is", async () => {
  const { session, objects, seen } = await openOver([8], () => "It has eight letters.");
  const [result] = (await session.readObjects("How many letters?", objects, TERMS)).results ?? [];
  expect(result).toMatchObject({ answer: "It has eight letters.", confidence: "low", evidence: [] });
  expect(seen.prompts).toHaveLength(2);
});

test("results stand in the order of the objects, and a failure is one of them", async () => {
  const { session, objects } = await openOver([8, 8, 8], (request) =>
    textIn(request)?.startsWith("b") ? "" : found(textIn(request) ?? ""),
  );
  const read = await session.readObjects("Which letter?", objects.toReversed(), TERMS);
  const results = [{ answer: "cccccccc" }, { name: "P: d2", error: { code: "empty_answer" } }, { answer: "aaaaaaaa" }];
  expect(read).toMatchObject({ success: true, results, warnings: [] });
});

test("if the budget ends, the answers until then stay; with none left nothing was read", async () => {
  const read = (max_sub_calls: number) =>
    openOver([8, 8, 8], () => found("yes"), { budget: { max_sub_calls } }).then(({ session, objects }) =>
      session
        .readObjects("Is it so?", objects, TERMS)
        .then(async (first) => [first, await session.readObjects("?", objects, TERMS)]),
    );
  const [first, second] = await read(2);
  expect(first && codes(first)).toEqual(["ok", "ok", "budget_exceeded"]);
  expect(second).toMatchObject({ success: false, error_code: "budget_exceeded", answer: null });
  expect(second && codes(second)).toEqual(["budget_exceeded", "budget_exceeded", "budget_exceeded"]);
});

test("eleven large objects share what is left of 50 sub-calls", async () => {
  const { session, objects, journal } = await openOver(
    Array.from({ length: 11 }, () => 100),
    () => cell("answer({ answer: 'x', confidence: 'high', evidence: [] })"),
  );
  const read = await session.readObjects("Which?", objects, { ...TERMS, inlineTokens: 1 });
  expect(codes(read)).toEqual(Array.from({ length: 11 }, () => "ok"));
  const made = (await journal()).filter((record) => record.record === "rlm_tool_call");
  expect(made.map(({ counts }) => counts)).toEqual(Array.from({ length: 11 }, () => 4));
});

test("where no level is left, small objects are read all the same", async () => {
  const { session, objects } = await openOver([8, 60], () => found("yes"), { maxDepth: 0 });
  const terms = { ...TERMS, inlineTokens: 10 };
  expect(codes(await session.readObjects("Is it so?", objects, terms))).toEqual(["ok", "depth_exceeded"]);
  expect(await session.readObjects("Is it so?", objects.slice(1), terms)).toMatchObject({
    ...{ success: false, error_code: "depth_exceeded", suggestion: expect.stringContaining("maxDepth") },
  });
});

test("names that cells took, helpers and variables do not reach the cell that reads", async () => {
  const { session, objects, journal } = await openOver([8], () => found("yes"));
  await session.exec("var history = 1, asked = 2, OBJECTS = 3; memory.put('k', 1)");
  await session.helpers.add("h", "const count = 4, SCHEMA = 5;");
  const texts = await historyContext([{ role: "user", tool: null, text: "said", calls: [], images: [] }], () =>
    setImmediate(),
  );
  const said: ObjectToRead = { id: "rlm-obj-1", name: "history/0001-user", of: "history", start: 0, end: 4 };
  const read = await session.readObjects("Is it so?", [...objects, said], { ...TERMS, history: texts });
  expect(codes(read)).toEqual(["ok", "ok"]);
  expect(await session.exec("[history, asked, OBJECTS, SCHEMA, memory.get('k')]")).toMatchObject({
    result_json: [1, 2, 3, 5, 1],
  });
  const starts = (await journal()).filter((record) => record.record === "rlm_start");
  expect(starts.find(({ kind }) => kind === "query")).toMatchObject({ history_hash: texts.hash });
});

test.each<[string, number, Partial<ReadingOptions>, string]>([
  ["", 8, {}, "the instructions are empty"],
  ["?", 0, {}, "there is no object to read"],
  ["?", 101, {}, "101 objects (limit 100)"],
  ["?", 1, { inlineTokens: 0 }, "inlineTokens must be a whole number from 1"],
])("instructions %j over %i objects are refused, and nothing begins", async (instructions, count, options, problem) => {
  const { session, objects, journal } = await openOver([8], () => found("yes"));
  const many = Array.from({ length: count }, () => objects).flat();
  const before = (await journal()).length;
  await expect(session.readObjects(instructions, many, { ...TERMS, ...options })).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining(problem),
  });
  expect((await journal()).length).toBe(before);
});

test("the estimate is that of the requests at the most, by the price list", () => {
  const objects = [
    { start: 10, end: 410 },
    { start: 0, end: 80_000 },
  ];
  expect(readingEstimate(objects, TERMS, { input: 1, output: 10 })).toEqual({
    calls: 11,
    input_tokens: 1_100 + 10 * 21_000,
    output_tokens: 11 * 4_096,
    cost_usd: (211_100 + 450_560) / 1e6,
  });
  expect(readingEstimate(objects, TERMS, null).cost_usd).toBeNull();
  // Together they are one reading, which is larger.
  const together = { ...TERMS, together: true };
  expect(readingEstimate(objects, together, null)).toMatchObject({ calls: 10, input_tokens: 10 * 21_100 });
});
