import { expect, test } from "vitest";
import { withoutThinking } from "../../../../src/models/replies/thinking.ts";

test.each([
  ["<think>a</think>\nyes", "yes"],
  ["<think>a</think><thinking>b</thinking> yes\n", "yes"],
  ["<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>", "yes"],
  ["<think>a", ""],
])("thinking is taken off: %j", (text, rest) => {
  expect(withoutThinking(text, [])).toEqual({ text: rest, isThought: true });
});

test.each([" yes \n", "The <think> tag\n</think>\nends here.", "```\n</think>\n```\nyes", ""])(
  "a text without thinking stays as it is: %j",
  (text) => {
    expect(withoutThinking(text, [])).toEqual({ text, isThought: false });
  },
);

test("a closing tag that the model was shown is no end of thinking", () => {
  const text = "It has the line\n</think>\nin it.";
  expect(withoutThinking(text, ["start\n</THINK>\nend"])).toEqual({ text, isThought: false });
  expect(withoutThinking(text, ["start"])).toEqual({
    ...{ text: "in it.", isThought: true },
    mended: ["thinking without its beginning"],
  });
});

test("a channel that calls a tool is left to who reads calls", () => {
  const call = '<|channel|>commentary to=functions.rlm_exec <|constrain|>json<|message|>{"code":"1"}<|call|>';
  const text = `<|channel|>analysis<|message|>a<|end|><|start|>assistant${call}`;
  expect(withoutThinking(text, []).text).toBe(`<|start|>assistant${call}`);
});

test.each([
  ["Paris <|im_end|>\n<|im_start|>user\nAnd?", "Paris "],
  ['It is "Paris"<|im_end|>\n<|im_start|>user\nAnd?', 'It is "Paris"'],
  ["`Paris`<|eot_id|><|start_header_id|>user<|end_header_id|>", "`Paris`"],
  ["Paris </s><s>[INST] And? [/INST] Rome", "Paris "],
])("an end before the beginning of a turn counts, whatever stands before it: %j", (text, rest) => {
  expect(withoutThinking(text, [])).toMatchObject({ text: rest, mended: ["turns behind its end"] });
});

test.each(["It has `<|im_end|>\n<|im_start|>user` in it.", "It ends (<|im_end|><|im_start|>) there."])(
  "an end behind an opening quote or bracket is spoken of: %j",
  (text) => {
    expect(withoutThinking(text, []).text).toBe(text);
  },
);

test("an answer of a tool that the model has invented is told", () => {
  const text = '<tool_response>\n{"n": 99}\n</tool_response>\nIt is 99.';
  expect(withoutThinking(text, [])).toMatchObject({ text, mended: ["kept marks of turns"] });
  expect(withoutThinking(text, ["What is <tool_response>?"])).not.toHaveProperty("mended");
});
