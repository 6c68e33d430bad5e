import { describe, expect, test } from "vitest";
import { endOfCell, proseIn, type ReadBy, reading } from "../../../../src/session/ask/reply.ts";

const FENCED: ReadBy = { protocol: "fence", hasCalled: false, shown: [] };
const fence = (text: string) => reading({ text, toolUses: [] }, FENCED);
const prose = (text: string) => proseIn({ text, toolUses: [], read: fence(text) });
const sourceOf = (text: string) => {
  const [cell] = fence(text).cells;
  return cell?.asked.ok ? cell.asked.source : null;
};

test.each(["js", "javascript", "ts", "typescript", "repl", "", "JS"])("a block fenced as %j is a cell", (language) => {
  expect(sourceOf(`First:\n\`\`\`${language}\n1+1\n\`\`\`\nthen`)).toBe("1+1\n");
});

test("the first block of JavaScript is the cell, whatever stands before it", () => {
  expect(sourceOf("```json\n{}\n```\n```js\na\n```\n```js\nb\n```")).toBe("a\n");
});

test("a fence that is not closed ends with the text", () => {
  expect(sourceOf("```js\nprint(1)\n")).toBe("print(1)\n");
});

test("a longer fence holds shorter ones, and tildes are fences too", () => {
  expect(sourceOf("````js\nconst t = `\n```\n`;\n````")).toBe("const t = `\n```\n`;\n");
  expect(sourceOf("~~~js\n1\n~~~")).toBe("1\n");
});

test("a block in another language is named", () => {
  expect(fence("```python\nprint(1)\n```")).toMatchObject({ cells: [], doubt: { kind: "block", detail: "python" } });
  expect(fence("no block, but `inline`")).toMatchObject({ cells: [], doubt: null });
});

test("tool calls go before blocks in the text", () => {
  const toolUses = [{ id: "1", name: "rlm_exec", arguments: { code: "x" } }];
  expect(reading({ text: "```js\ny\n```", toolUses }, FENCED).cells).toMatchObject([{ asked: { source: "x" } }]);
});

test.each([[{ code: 5 }], [{}], [{ code: " " }]])("a call with %j asks for no cell and says why", (given) => {
  const toolUses = [{ id: "1", name: "rlm_exec", arguments: given }];
  expect(reading({ text: "", toolUses }, FENCED).cells).toMatchObject([{ asked: { ok: false } }]);
});

test("a reply is cut behind its first cell, if there is more", () => {
  const text = "Look:\n```js\npeek(0, 5)\n```";
  const end = (text: string, by = FENCED) => endOfCell({ text, toolUses: [] }, by);
  expect(end(`${text}\nOutput: 17\nThe answer is 17.`)).toBe(text.length);
  expect(end(`${text}\n`)).toBeNull();
  expect(end("no cell")).toBeNull();
  const before = "```text\nx\n```\n";
  expect(end(`${before}${text}\nmore`)).toBe(before.length + text.length);
  // With a tool, only another block or an end would be taken for run.
  const tools: ReadBy = { ...FENCED, protocol: "tools" };
  expect(end(`${text}\nThis looks.`, tools)).toBeNull();
  expect([`${text}\n${text}`, `${text}\nFINAL(3)`].map((one) => end(one, tools))).toEqual([text.length, text.length]);
  expect(end(`${text}\n${text}`, { ...tools, hasCalled: true })).toBeNull();
});

test("what a person reads of a reply is its text without the block that is run", () => {
  expect(prose("Look:\n```js\n1\n```\nThen:\n```text\nx\n```")).toBe("Look:\nThen:\n```text\nx\n```");
  expect(prose("```js\n1\n```")).toBe("");
  const beside = { text: "Like\n```js\n1\n```", toolUses: [{ id: "1", name: "rlm_exec", arguments: { code: "x" } }] };
  expect(proseIn({ ...beside, read: reading(beside, FENCED) })).toBe(beside.text);
});

describe("a reply when it comes", () => {
  const CALL = '<tool_call>{"name":"rlm_exec","arguments":{"code":"answer(\'x\')"}}</tool_call>';
  const by = { protocol: "tools", hasCalled: false, shown: [] } as const;
  const read = (text: string, more: Partial<ReadBy> = {}) => reading({ text, toolUses: [] }, { ...by, ...more });

  test("a call in its text is a cell, and what stands before it is prose", () => {
    const reply = read(`I look.\n${CALL}`);
    expect(reply).toMatchObject({
      text: "I look.",
      isInText: true,
      cells: [{ use: null, asked: { source: "answer('x')" } }],
    });
    expect(proseIn({ text: CALL, toolUses: [], read: reply })).toBe("I look.");
  });

  test("a call that the model was shown, or whose code it was shown, is not a cell", () => {
    for (const shown of [CALL, "run answer( “x” )", JSON.stringify(CALL)]) {
      expect(read(CALL, { shown: ["a", shown] })).toMatchObject({ cells: [], doubt: { kind: "call" } });
    }
  });

  test("a block is a cell as long as the model has called nothing, or if it cannot", () => {
    const block = "```js\n1\n```";
    expect(read(block).cells).toHaveLength(1);
    expect(read(block, { hasCalled: true, protocol: "fence" }).cells).toHaveLength(1);
    expect(read(block, { hasCalled: true })).toMatchObject({ cells: [], doubt: { kind: "block", detail: "js" } });
  });

  test.each([
    ["FINAL(a (b))", { text: "a (b)", cells: [], doubt: null }],
    ["Done.\nFINAL('a');", { text: "a", cells: [], doubt: null }],
    ["FINAL_VAR(n)", { cells: [{ asked: { source: "answer(n)" } }] }],
    ["FINAL_VAR(n + 1)", { cells: [], doubt: null }],
    ["const n = count('a');\nprint(n);", { doubt: { kind: "code" } }],
    ["I will count them now.", { doubt: { kind: "step" } }],
    ["Ich werde jetzt zählen.", { doubt: { kind: "step" } }],
    ["I need to run some code. Shall I proceed?", { doubt: { kind: "step" } }],
    ["One moment please while I count.", { doubt: { kind: "step" } }],
    ["There are 2. Would you like me to list them?", { doubt: null }],
    ['{"code":"print(count(1))"}', { doubt: { kind: "code" } }],
    ['{"code":"E42"}', { doubt: null }],
    ["There are 2. Let me know if you need more.", { doubt: null }],
    ["count is 2 (see above)", { doubt: null }],
  ])("%j is read by its words", (text, expected) => {
    expect(read(text)).toMatchObject(expected);
  });
});
