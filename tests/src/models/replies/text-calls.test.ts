import { expect, test } from "vitest";
import { leftCallCure, readLiteral, textCalls } from "../../../../src/models/replies/text-calls.ts";

const TOOLS = [{ name: "rlm_exec" }];
const CALL = '<tool_call>\n{"name": "rlm_exec", "arguments": {"code": "1"}}\n</tool_call>';
const codes = (text: string) => textCalls(text, TOOLS)?.calls.map((call) => call.arguments);

test("calls are read from the line at which they begin", () => {
  expect(textCalls(`I look.\n${CALL}`, TOOLS)).toMatchObject({ start: 8, problem: null });
  expect(codes(`${CALL}\n${CALL}`)).toEqual([{ code: "1" }, { code: "1" }]);
  expect(codes('rlm_exec(code="""a\n"b" \\t""", why=\'\')')).toEqual([{ code: 'a\n"b" \t', why: "" }]);
});

test("a text that speaks of a call has none", () => {
  const line = CALL.replaceAll("\n", "");
  const fenced = `It says:\n\`\`\`\n${line}\n\`\`\``;
  for (const text of [`\`${line}\``, `> ${line}`, fenced, `It says ${line}`, "I used rlm_exec."]) {
    expect(textCalls(text, TOOLS)).toBeNull();
  }
});

test.each([
  [CALL.slice(0, -25), "not whole"],
  [`${CALL}\nDone.`, "other text follows"],
  [CALL.replace("rlm_exec", "python"), "no tool python"],
])("%j is not run", (text, problem) => {
  expect(textCalls(text, TOOLS)).toMatchObject({ problem: expect.stringContaining(problem) });
});

test.each([
  '>>>rlm_exec\n{"code": "1"}',
  'Thought: look.\nAction: rlm_exec\nAction Input: {"code": "1"}',
  '{"action": "rlm_exec", "action_input": {"code": "1"}}',
  'rlm_exec {"code": "1"}',
  'rlm_exec: {"code": "1"}',
])("a call without a mark is read: %j", (text) => {
  expect(textCalls(text, TOOLS)).toMatchObject({ calls: [{ name: "rlm_exec" }], problem: null });
});

test.each([
  '{"rlm_exec": {"code": "1"}}',
  "<tool_use>\n<name>rlm_exec</name>\n<input>1</input>\n</tool_use>",
  '<tool name="rlm_exec">1</tool>',
  "[rlm_exec]\n1\n[/rlm_exec]",
  'Calling tool rlm_exec with arguments {"code": "1"}',
])("a call that cannot be read is one all the same: %j", (text) => {
  expect(textCalls(text, TOOLS)?.problem).not.toBeNull();
});

test.each(["[rlm_exec] printed 2.", "Using rlm_exec with count I found 2.", "Tool: rlm_exec. Count: 2."])(
  "an answer that names the tool is none: %j",
  (text) => {
    expect(textCalls(text, TOOLS)).toBeNull();
  },
);

test("the cure names the parser of the format", () => {
  expect(leftCallCure(CALL, [], ["hi"])).toContain("parser hermes, SGLang --tool-call-parser qwen25");
  expect(leftCallCure("<TOOLCALL>[]</TOOLCALL>", [], [])).toContain("--tool-call-parser NAME");
  expect(leftCallCure(CALL, [], ["What is <tool_call>?"])).toBeNull();
  expect(leftCallCure(`Write it so:\n${CALL}\nNo more.`, [], [])).toBeNull();
});

test("a literal of either language is read, and nothing else", () => {
  expect(readLiteral("{ n: -2.5, 'it': [`a\nb`, 'it\\'s', \"\\x41\",], }")).toEqual({
    n: -2.5,
    it: ["a\nb", "it's", "A"],
  });
  const others = [
    "n",
    "1 + 1",
    ["`$", "{n}`"].join(""),
    "'a' 'b'",
    "{ n }",
    "[...'ab']",
    "'\\d'",
    '"open',
    "f()",
    "String.raw`a`",
  ];
  expect(others.map(readLiteral)).toEqual(others.map(() => undefined));
});
