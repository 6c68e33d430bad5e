import { describe, expect, test } from "vitest";
import type { AskOptions, SessionOptions } from "../../../../src/index.ts";
import { askScene, cell } from "../../../support/ask/scene.ts";
import type { ScriptedAnswer } from "../../../support/model-server.ts";

const LOOK = cell("print(P.length)");
const TEXT: ScriptedAnswer = { text: "It is 4." };
const always = (answer: ScriptedAnswer) => Array.from({ length: 30 }, () => answer);

/** How an ask ends whose model answers so, and what the model was told in each turn. */
async function asked(replies: readonly ScriptedAnswer[], options: AskOptions = {}, session: SessionOptions = {}) {
  const scene = await askScene(replies, "four", session);
  const envelope = await scene.session.ask("How long?", options);
  const told = scene.server.requests.map(({ prompt }) => prompt);
  return { ...scene, envelope, told };
}

describe("replies that cannot be used", () => {
  const usage = { prompt: 100, completion: 50 };
  const cut = { ...cell("print(1); answer('half"), finish: "length", usage };
  test.each([
    ["empty", { text: "", usage }, "the answer is empty", "Your reply was empty"],
    ["cut", cut, "the answer was cut at 16000 tokens, in the call of a tool", "Your reply was cut at 16000 tokens"],
    ["filtered", { text: "x", finish: "content_filter", usage }, "filter withheld the answer", "withheld"],
  ])(
    "%s: they are not run, cost what they cost, and three of them end the ask",
    async (_what, reply, problem, note) => {
      const { envelope, told, server } = await asked(always(reply));
      expect(envelope).toMatchObject({ success: false, error_code: "no_answer", turns: 3, cells: 0 });
      expect(envelope).toMatchObject({
        error_message: expect.stringContaining(problem),
        usage: { input: 300, output: 150 },
      });
      expect(told[1]).toContain(note);
      expect(server.requests.at(-1)?.body.messages.every(({ role }) => role !== "assistant")).toBe(true);
    },
  );
});

test("replies that fill the window end the ask with its numbers", async () => {
  const full = { text: "so on", finish: "length", usage: { prompt: 32_000, completion: 768 } };
  const { envelope, told } = await asked(always(full));
  expect(envelope).toMatchObject({ success: false, error_code: "window_full", turns: 3, warnings: [] });
  expect(envelope).toMatchObject({
    error_message: expect.stringContaining(
      "the window of 32768 tokens is full: 32000 are the prompt and 768 the answer",
    ),
    suggestion: expect.stringContaining("larger window"),
  });
  expect(told[1]).toContain("Your reply filled your window");
});

describe("answers that are none", () => {
  test.each([
    ["in a cell that throws", "answer('x'); throw new Error('late')", "Error: late"],
    ["that is undefined", "answer(undefined)", "value is missing"],
    ["that is a promise", "answer(llm_query('x', { tools: [] }))", "is a Promise that was not awaited"],
    ["that holds a promise", "answer({ a: Promise.resolve(1) })", "argument 1.a is a Promise"],
    ["that is a function", "answer(() => 1)", "is a function"],
    ["with a cycle", "const o = {}; o.o = o; answer(o)", "is a cycle"],
    ["longer than a result may be", "answer('x'.repeat(5e6))", "bytes of JSON"],
    ["with an unknown option", "answer(1, { cites: [0, 1] })", 'has no option "cites"'],
  ])("one %s is told to the model, which goes on", async (_what, code, problem) => {
    const { envelope, told } = await asked([LOOK, cell(code), TEXT]);
    expect(envelope).toMatchObject({ answer: "It is 4.", answered_by: "text", turns: 3 });
    expect(told[2]).toContain(problem);
  });

  test("one of a megabyte is taken, and recorded whole", async () => {
    const { envelope, session } = await asked([LOOK, cell("answer('x'.repeat(1e6))")]);
    expect(envelope).toMatchObject({ answered_by: "answer", answer: "x".repeat(1e6) });
    expect(await session.resume()).toMatchObject({ how: "replayed", envelope: { answer: "x".repeat(1e6) } });
  });
});

test("after a cell that fills the memory the model is told what it has lost", async () => {
  const bomb = cell("kept = 8; const all = []; for (;;) all.push({})");
  const replies = [cell("globalThis.kept = 7; print(kept)"), bomb, cell("print('kept is', kept)"), TEXT];
  const { envelope, told } = await asked(replies, {}, { memoryMb: 16, limits: { max_execution_ms: 100_000 } });
  expect(envelope).toMatchObject({ answer: "It is 4.", cells: 3 });
  expect(told[2]).toContain("[error memory_limit_exceeded]");
  expect(told[2]).toContain(
    "state_restored: what the cell made was lost with its sandbox; variables are as they were before",
  );
  expect(told[3]).toContain("kept is 7");
});

test("a word of the schema is an answer, also if a variable has its name", async () => {
  const schema = { enum: ["ours", "theirs"] };
  const code = "const ours = find('o').matches.length; answer(ours > 0 ? 'ours' : 'theirs')";
  const { envelope } = await asked([LOOK, cell(code)], { schema });
  expect(envelope).toMatchObject({ answer: "ours", turns: 2, warnings: [] });
  const plain = await asked([LOOK, cell(code), cell(code)]);
  expect(plain.envelope).toMatchObject({ turns: 3, warnings: ["answer_unsure: ours is the name of a variable"] });
});

describe("citations", () => {
  test("places, hits and documents are mapped; what is not a place is listed and does not undo the answer", async () => {
    const cites = "['text', [3, 1], [0, 99], [1.5, 2], null, {}, { start: '0', end: 2 }, [0, 2], { start: 1, end: 3 }";
    const { envelope } = await asked([
      LOOK,
      cell(`answer(1, { cite: ${cites}, ...find('o').matches, ...list_docs()] })`),
    ]);
    expect(envelope).toMatchObject({ answer: 1, warnings: ["citation_invalid: 7"] });
    const { citations } = envelope.success ? envelope : { citations: [] };
    const seen = citations.map(({ valid, quote }) => (valid ? quote : null));
    expect(seen).toEqual([...Array.from({ length: 7 }, () => null), ...["fo", "ou", "o", "four"]]);
  });

  test("a quote is looked for in all of its place, whatever its spaces, marks and gaps", async () => {
    const text = `first line\n${"x".repeat(400)}\nHe said: “The lid – it is\nbroken.”`;
    const quotes = [
      "the lid - it  is broken",
      "first … lid",
      `He said: "The lid" ... broken.`,
      "the lid is whole",
      "first … gone",
    ];
    const cites = quotes.map((quote) => ({ start: 0, end: text.length, quote }));
    const scene = await askScene([LOOK, cell(`answer(1, { cite: ${JSON.stringify(cites)} })`)], text);
    const envelope = await scene.session.ask("What is broken?");
    const { citations, warnings } = envelope.success ? envelope : { citations: [], warnings: [] };
    expect(citations.map(({ valid }) => valid)).toEqual([true, true, true, false, false]);
    expect(warnings).toEqual(["citation_invalid: 2"]);
  });

  test("quotes with tens of thousands of gaps do not hold the process up", async () => {
    const text = `${"a".repeat(99_990)}z`;
    const cites = `Array(2).fill({ start: 0, end: ${text.length}, quote: "aaz...".repeat(75000) })`;
    const scene = await askScene([LOOK, cell(`answer(1, { cite: ${cites} })`)], text);
    const envelope = await scene.session.ask("What?");
    expect(envelope.success && envelope.citations.map(({ valid }) => valid)).toEqual([true, true]);
  });

  test("of 51 the first 50 are listed, and a warning says so", async () => {
    const many = "answer(1, { cite: Array.from({ length: 51 }, () => [0, 1]) })";
    const { envelope } = await asked([LOOK, cell(many)]);
    expect(envelope).toMatchObject({ answer: 1, warnings: ["citations_capped: 51"] });
    expect(envelope.success && envelope.citations).toHaveLength(50);
  });

  test("what JSON cannot hold is a place that is not valid, and does not undo the answer", async () => {
    const cites = ["[NaN, 2]", "[[0, 1], [0, Infinity], () => 1, 2n]", "new Uint8Array(2)"];
    const found = [[false], [true, false, false, false], [false]];
    for (const [at, cite] of cites.entries()) {
      const { envelope, told } = await asked([LOOK, cell(`answer(1, { cite: ${cite} })`)]);
      const invalid = found[at]?.filter((valid) => !valid).length;
      expect(envelope, told[2]).toMatchObject({ answer: 1, warnings: [`citation_invalid: ${invalid}`] });
      expect(envelope.success && envelope.citations.map(({ valid }) => valid)).toEqual(found[at]);
    }
  });
});
