import { describe, expect, test } from "vitest";
import type { ToolUse } from "../../../../src/models/index.ts";
import { type AskView, candidate, type Next, next, TOO_LONG, TOOLS_REFUSED } from "../../../../src/session/ask/next.ts";
import type { AddedMessage, AskSettings, RanCell, Round } from "../../../../src/session/ask/records.ts";
import { type RecordedReply, reading } from "../../../../src/session/ask/reply.ts";

const SETTINGS: AskSettings = {
  ...{ model: "m/root", sub_model: "m/sub", protocol: "auto", max_turns: 20, turn_tokens: 16_000, thinking: "off" },
  ...{ depth: 0, max_depth: 2, schema: null, history_chars: 400_000, prompt: 1 },
};
const FOOTER = "[turn 1 of 20 done]";

function stepAfter(rounds: readonly Round[], more: Partial<AskView> = {}, settings: Partial<AskSettings> = {}): Next {
  return next({
    ...{ settings: { ...SETTINGS, ...settings }, rounds, question: "Which?", footer: FOOTER, room: "turn" },
    scarce: "tokens",
    ...{ misfit: null, fitting: undefined, isRetry: false, ...more },
  });
}

const use = (code: unknown, id = "1", name = "rlm_exec"): ToolUse => ({
  ...{ id, name, arguments: JSON.parse(JSON.stringify({ code })) },
});
const ran = (source: string, more: Partial<RanCell> = {}): RanCell => ({
  ...{ source, success: true, full: null, observation: `ran ${source}`, answer: null },
  ...more,
});
const answering = (source: string, value: RanCell["observation"]) => ran(source, { answer: { value, cite: null } });
const failing = (source: string) => ran(source, { success: false, observation: "[error js_error]" });

function replyOf(text: string, toolUses: readonly ToolUse[]): RecordedReply {
  const turn = { text, toolUses, stop: toolUses.length > 0 ? "tools" : "end", raw: null } as const;
  return { ...turn, read: reading(turn, { protocol: "fence", hasCalled: false, shown: [] }) };
}

function round(
  text: string,
  toolUses: readonly ToolUse[],
  cells: readonly RanCell[],
  more: Partial<Round> = {},
): Round {
  return {
    ...{ turn: 1, closing: false, protocol: "tools", messages: [], elide: [] },
    ...{ outcome: { ok: true, reply: replyOf(text, toolUses) }, cells },
    ...more,
  };
}
const failed = (code: string): Round => round("", [], [], { outcome: { ok: false, code, message: `it was ${code}` } });
const looked = round("", [use("1")], [ran("1")]);

function messagesOf(step: Next): readonly AddedMessage[] {
  if (step.kind !== "turn") throw new Error(`${step.kind} is not a turn`);
  return step.messages;
}
const texts = (step: Next) => messagesOf(step).map(({ text }) => text);

test("an ask begins with a turn that asks the question", () => {
  const messages = [{ role: "user", text: "Which?" }];
  expect(stepAfter([])).toEqual({ kind: "turn", turn: 1, closing: false, protocol: "tools", messages, elide: [] });
});

describe("cells", () => {
  test("the cells of a reply run in order, then the model sees what came of each", () => {
    const uses = [use("a", "1"), use("b", "2")];
    expect(stepAfter([round("", uses, [])])).toEqual({ kind: "cell", source: "a" });
    expect(stepAfter([round("", uses, [ran("a")])])).toEqual({ kind: "cell", source: "b" });
    expect(stepAfter([round("", uses, [ran("a"), ran("b")])])).toMatchObject({
      kind: "turn",
      turn: 2,
      messages: [
        { role: "tool", use: { id: "1", name: "rlm_exec" }, text: "ran a", isError: false },
        { role: "tool", use: { id: "2", name: "rlm_exec" }, text: `ran b\n${FOOTER}`, isError: false },
      ],
    });
  });

  test("cells behind one that failed are not run, and the model is told so", () => {
    const step = stepAfter([round("", [use("a", "1"), use("b", "2")], [failing("a")])]);
    expect(messagesOf(step)).toMatchObject([
      { text: "[error js_error]", isError: true },
      { text: `not run: the cell before it failed\n${FOOTER}`, isError: true },
    ]);
  });

  test("an unknown tool and code that is not a text are answered, and what stands behind them is not run", () => {
    expect(texts(stepAfter([round("", [use("a", "1", "grep"), use("b", "2")], [])]))).toEqual([
      "not run: there is no tool grep: call rlm_exec",
      `not run: the cell before it failed\n${FOOTER}`,
    ]);
    expect(texts(stepAfter([round("", [use(5)], [])]))[0]).toContain("takes { code }");
  });

  test("a fenced block is a cell in either protocol, and is observed in a message of the user", () => {
    const fenced = round("Look:\n```js\npeek(0, 9)\n```\n", [], []);
    expect(stepAfter([fenced])).toEqual({ kind: "cell", source: "peek(0, 9)\n" });
    const step = stepAfter([{ ...fenced, cells: [ran("peek(0, 9)\n")] }]);
    expect(messagesOf(step)).toEqual([{ role: "user", text: `ran peek(0, 9)\n\n${FOOTER}` }]);
  });

  test("a block in another language is not run, and not taken for an answer", () => {
    expect(texts(stepAfter([looked, round("```python\nprint(1)\n```", [], [])]))[0]).toContain("python is not run");
  });
});

describe("answers", () => {
  test("what a cell gave to answer() ends the ask", () => {
    expect(stepAfter([looked, round("", [use("x")], [answering("x", "forty-two")])])).toEqual({
      ...{ kind: "end", ok: true, answered_by: "answer", answer: { value: "forty-two", cite: null }, warnings: [] },
    });
  });

  test("an answer that stands in the first cell's code is put back, once", () => {
    const blind = round("", [use('answer("42")')], [answering('answer("42")', "42")]);
    expect(texts(stepAfter([blind]))[0]).toContain("before you saw anything");
    expect(stepAfter([blind, blind])).toMatchObject({ kind: "end", answered_by: "answer" });
  });

  test("an answer that the first cell computed is taken", () => {
    expect(stepAfter([round("", [use("x")], [answering("answer(count())", "17")])])).toMatchObject({ kind: "end" });
  });

  test("a text after a cell that succeeded is the answer", () => {
    const said = { answered_by: "text", answer: { value: "It is 7." }, warnings: [] };
    expect(stepAfter([looked, round(" It is 7. ", [], [])])).toMatchObject({ kind: "end", ...said });
  });

  test("a text beside a tool call is not an answer", () => {
    expect(stepAfter([looked, round("It is 7, I look again.", [use("a")], [])])).toEqual({ kind: "cell", source: "a" });
  });

  test("a text before any cell is nudged once, then taken with a warning", () => {
    const text = round("It is 7.", [], []);
    expect(texts(stepAfter([text]))[0]).toContain("No cell was run");
    expect(stepAfter([text, text])).toMatchObject({ kind: "end", warnings: ["answered_without_looking"] });
    expect(texts(stepAfter([round("", [use("a")], [failing("a")]), text]))[0]).toContain("No cell was run");
  });

  test("an answer that does not fit goes back, whoever gave it", () => {
    const misfit = "/n is not a number";
    const cell = round("", [use("x")], [answering("x", "y")]);
    expect(texts(stepAfter([looked, cell], { misfit }))[0]).toContain(`The answer does not fit: ${misfit}`);
    expect(texts(stepAfter([looked, round("y", [], [])], { misfit }))[0]).toContain(misfit);
  });

  test("what the driver checks is the answer of the last round", () => {
    const value = { rounds: [looked, round("", [use("x")], [answering("x", "y")])] };
    expect(candidate(value)).toEqual({ value: "y", cite: null, isText: false });
    expect(candidate({ rounds: [looked, round(" y ", [], [])] })).toEqual({ value: "y", cite: null, isText: true });
    expect(candidate({ rounds: [looked] })).toBeNull();
    expect(candidate({ rounds: [failed("timeout")] })).toBeNull();
  });
});

describe("blocks in other languages", () => {
  const block = round("It reads:\n```python\nprint(1)\n```", [], []);
  const json = round('```json\n{"n": 1}\n```', [], []);

  test("one that is repeated after a look is part of the answer", () => {
    expect(texts(stepAfter([looked, block]))[0]).toContain("repeat the text if it was your answer");
    expect(stepAfter([looked, block, block])).toMatchObject({ kind: "end", answered_by: "text", warnings: [] });
    expect(stepAfter([block, block])).toMatchObject({ kind: "turn" });
  });

  test("with a schema, JSON in a block is an answer that fits or not", () => {
    const schema = { schema: { type: "object" } };
    expect(stepAfter([looked, json], { fitting: { n: 1 } }, schema)).toMatchObject({ answer: { value: { n: 1 } } });
    expect(texts(stepAfter([looked, json], { misfit: "/n is a number" }, schema))[0]).toContain("does not fit");
    expect(texts(stepAfter([looked, block], { misfit: "no JSON" }, schema))[0]).toContain("python is not run");
    expect(texts(stepAfter([json], { fitting: { n: 1 } }, schema))[0]).toContain("No cell was run");
    expect(stepAfter([json, json], { fitting: { n: 1 } }, schema)).toMatchObject({ kind: "end" });
  });

  test.each([
    ["a block in python", (at: number) => round(`\`\`\`python\nprint(${at})\n\`\`\``, [], [])],
    ["a call of an unknown tool", () => round("", [use("1", "1", "grep")], [])],
    ["code that is not a text", () => round("", [use(5)], [])],
  ])("five times %s leads to the closing turn", (_what, stubborn) => {
    const times = (n: number) => Array.from({ length: n }, (_, at) => stubborn(at));
    expect(stepAfter(times(4))).toMatchObject({ kind: "turn", closing: false });
    expect(stepAfter(times(5))).toMatchObject({ kind: "turn", closing: true });
    expect(stepAfter([...times(3), looked, ...times(1)])).toMatchObject({ closing: false });
  });
});

describe("turns", () => {
  const spent = Array.from({ length: 3 }, (_, at) => round("", [use(`${at}`)], [ran(`${at}`)]));

  test("the last turn with code is announced, the closing one asks for a text", () => {
    expect(texts(stepAfter(spent.slice(1), {}, { max_turns: 3 }))[0]).toContain("last turn in which code is run");
    const closing = stepAfter(spent, {}, { max_turns: 3 });
    expect(closing).toMatchObject({ kind: "turn", turn: 4, closing: true });
    expect(texts(closing)[0]).toContain("Answer now, in plain text");
    expect(texts(stepAfter(spent, {}, { max_turns: 3, schema: { type: "object" } }))[0]).toContain("as JSON");
  });

  test("the text of the closing turn is the answer, whatever tools it calls", () => {
    const closing = { closing: true };
    expect(stepAfter([...spent, round("It is 7.", [use("a")], [], closing)], {}, { max_turns: 3 })).toMatchObject({
      kind: "end",
      answered_by: "closing",
      answer: { value: "It is 7." },
      warnings: ["turns_spent"],
    });
    expect(stepAfter([round("It is 7.", [], [], closing)])).toMatchObject({
      warnings: ["turns_spent: the budget had room for the answer alone", "answered_without_looking"],
    });
    expect(stepAfter([...spent, round(" ", [use("a")], [], closing)])).toMatchObject({ ok: false, code: "no_answer" });
    expect(stepAfter([...spent, round("x", [], [], closing)], { misfit: "no" })).toMatchObject({ code: "no_answer" });
  });

  test("budget that is left for one turn makes it the closing one; none ends the ask", () => {
    expect(stepAfter([looked], { room: "closing" })).toMatchObject({ kind: "turn", closing: true });
    expect(stepAfter([looked], { room: "none" })).toMatchObject({ kind: "end", code: "budget_exceeded" });
  });

  test("the same cell with the same output gets a note, and the third time the closing turn", () => {
    expect(texts(stepAfter([looked]))[0]).not.toContain("change something");
    expect(texts(stepAfter([looked, looked]))[0]).toContain("change something");
    expect(stepAfter([looked, looked])).toMatchObject({ closing: false });
    expect(stepAfter([looked, looked, looked])).toMatchObject({ kind: "turn", closing: true });
    const end = round("It is 7.", [], [], { closing: true });
    expect(stepAfter([looked, looked, looked, end])).toMatchObject({
      warnings: ["turns_spent: 3 turns in a row did the same"],
    });
    expect(stepAfter([looked, looked, looked, round("", [], [], { closing: true })])).toMatchObject({
      message: "3 turns in a row did the same, and the model gave no text as its answer",
    });
  });

  test("the same answer that does not fit leads to the closing turn the third time", () => {
    const schema = { schema: { type: "object" } };
    const text = round("seven", [], []);
    const misfit = "the value is not an object";
    expect(stepAfter([looked, text, text], { misfit }, schema)).toMatchObject({ closing: false });
    expect(stepAfter([looked, text, text, text], { misfit }, schema)).toMatchObject({ kind: "turn", closing: true });
  });

  test("five failed cells in a row lead to the closing turn", () => {
    const bad = (n: number) => Array.from({ length: n }, (_, at) => round("", [use(`${at}`)], [failing(`${at}`)]));
    expect(stepAfter(bad(4))).toMatchObject({ closing: false });
    expect(stepAfter(bad(5))).toMatchObject({ closing: true });
    expect(stepAfter([...bad(5), round("7", [], [], { closing: true })])).toMatchObject({
      warnings: ["turns_spent: 5 cells in a row failed", "answered_without_looking"],
    });
    expect(stepAfter([...bad(4), looked, ...bad(4)])).toMatchObject({ closing: false });
  });
});

describe("failed turns", () => {
  test.each([
    ["truncated_answer", "cut at 16000 tokens"],
    ["empty_answer", "was empty"],
    ["unread_reply", "could not read your reply"],
    ["content_filtered", "withheld"],
  ])("%s: the next turn says what was wrong", (code, said) => {
    const step = stepAfter([failed(code)]);
    expect(step).toMatchObject({ kind: "turn", turn: 2 });
    expect(texts(step)[0]).toContain(said);
  });

  test("three failed replies in a row end the ask, and name the code", () => {
    const cut = failed("truncated_answer");
    expect(stepAfter([cut, cut])).toMatchObject({ kind: "turn" });
    expect(stepAfter([cut, cut, looked, cut])).toMatchObject({ kind: "turn" });
    const end = stepAfter([cut, failed("timeout"), cut, cut], { isRetry: true });
    expect(end).toMatchObject({ kind: "end", code: "no_answer" });
    expect(JSON.stringify(end)).toContain("truncated_answer");
  });

  test.each(["rate_limited", "provider_error", "timeout", "auth_failed", "auth_expired"])(
    "%s leaves the ask open; the next process asks again and adds no message",
    (code) => {
      expect(stepAfter([looked, failed(code)])).toEqual({ kind: "pause", code, message: `it was ${code}` });
      const again = stepAfter([looked, failed(code)], { isRetry: true });
      expect(again).toMatchObject({ kind: "turn", turn: 2, messages: [] });
    },
  );

  describe("a request that was too long", () => {
    const long = "x".repeat(1000);
    const messages = [{ role: "user", text: long }] as const;
    const observed = (turn: number): Round => round("", [use(`${turn}`)], [ran(`${turn}`)], { turn, messages });
    const tooLong = (elide: readonly number[]): Round => ({ ...failed(TOO_LONG), turn: 5, elide });
    const rounds = [1, 2, 3, 4].map(observed);

    test("is asked again without its oldest observations, once", () => {
      const again = stepAfter([...rounds, tooLong([])]);
      expect(again).toMatchObject({ kind: "turn", turn: 5, messages: [], elide: [2, 3, 4] });
      const twice = [...rounds, tooLong([]), tooLong([2, 3, 4])];
      expect(stepAfter(twice)).toEqual({ kind: "pause", code: TOO_LONG, message: `it was ${TOO_LONG}` });
      expect(stepAfter(twice, { isRetry: true })).toMatchObject({ kind: "turn", elide: [2, 3, 4] });
    });

    test("is not asked again if nothing can be left out", () => {
      expect(stepAfter([observed(1), { ...tooLong([]), turn: 2 }])).toMatchObject({ kind: "pause", code: TOO_LONG });
    });

    test("may be shortened again after a reply", () => {
      const later = [6, 7, 8].map((turn) => ({ ...observed(turn), elide: [2, 3, 4] }));
      const step = stepAfter([...rounds, tooLong([]), ...later, { ...tooLong([2, 3, 4]), turn: 9 }]);
      expect(step).toMatchObject({ kind: "turn", elide: [2, 3, 4, 6, 7, 8] });
    });
  });

  test("a conversation over the ask's limit leaves its oldest observations out", () => {
    const rounds = [1, 2, 3].map(
      (turn) => ({ ...looked, turn, messages: [{ role: "user", text: "x".repeat(900) }] }) satisfies Round,
    );
    expect(stepAfter(rounds, {}, { history_chars: 2500 })).toMatchObject({ kind: "turn", elide: [2, 3] });
  });

  test("a closing turn that is asked for again does not repeat its note", () => {
    const closing = stepAfter([looked, looked], {}, { max_turns: 2 });
    const refused = { ...failed("rate_limited"), turn: 3, closing: true, messages: messagesOf(closing) };
    const again = { kind: "turn", closing: true, messages: [] };
    expect(stepAfter([looked, looked, refused], { isRetry: true }, { max_turns: 2 })).toMatchObject(again);
    const twice = [looked, looked, refused, { ...refused, messages: [] }];
    expect(stepAfter(twice, { isRetry: true }, { max_turns: 2 })).toMatchObject(again);
  });

  test("a budget that ran out and a cancel end the ask", () => {
    for (const code of ["budget_exceeded", "cancelled"])
      expect(stepAfter([failed(code)])).toMatchObject({ ok: false, code });
  });

  test("a provider that refuses tools is asked with fenced blocks from then on", () => {
    expect(stepAfter([failed(TOOLS_REFUSED)])).toMatchObject({ turn: 1, protocol: "fence", messages: [] });
    expect(stepAfter([failed(TOOLS_REFUSED), looked])).toMatchObject({ protocol: "fence" });
    expect(stepAfter([], {}, { protocol: "fence" })).toMatchObject({ protocol: "fence" });
  });
});

describe("texts that may not be answers", () => {
  const read = (kind: "call" | "code" | "step") =>
    round("I will count.", [], [], {
      outcome: {
        ok: true,
        reply: {
          ...{ text: "I will count.", toolUses: [], stop: "end", raw: null },
          read: { text: "I will count.", cells: [], doubt: { kind, detail: "it is cut" } },
        },
      },
    });

  test.each(["code", "step"] as const)("the model is asked once about %s, and stays with it", (kind) => {
    expect(stepAfter([looked, read(kind)])).toMatchObject({ kind: "turn" });
    const warnings = [expect.stringContaining("answer_unsure: ")];
    expect(stepAfter([looked, read(kind), read(kind)])).toMatchObject({ ok: true, answered_by: "text", warnings });
    expect(stepAfter([read(kind), read(kind)])).toMatchObject({ ok: true, answered_by: "text" });
  });

  test("a call that is not run is never the answer", () => {
    expect(texts(stepAfter([looked, read("call"), read("call")]))[0]).toContain("was not run: it is cut");
    const closing = { ...read("call"), closing: true };
    expect(stepAfter([looked, closing])).toMatchObject({
      code: "no_answer",
      message: expect.stringContaining("a call"),
    });
  });

  test("in the closing turn a call that only answers with a literal is the answer, without being run", () => {
    const closed = (code: string) => round("", [use(code)], [], { closing: true });
    const answer = { value: { n: [1, "a"] }, cite: [[0, 5]] };
    const step = stepAfter([looked, closed("answer({ n: [1, 'a'] }, { cite: [[0, 5]] });")]);
    expect(step).toMatchObject({ ok: true, answered_by: "closing", answer });
    expect(stepAfter([looked, closed("answer(n)")])).toMatchObject({ code: "no_answer" });
  });
});
