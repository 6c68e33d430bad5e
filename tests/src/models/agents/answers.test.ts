import { describe, expect, test } from "vitest";
import { withoutCodes } from "../../../../src/models/agents/answer.ts";
import { schemaWord } from "../../../../src/models/agents/index.ts";
import type { AgentCommand } from "../../../../src/platform/agent-commands.ts";
import { type Script, scriptedAgent } from "../../../support/agents/agents.ts";
import { ask, openPlace, startsOf, told } from "./support.ts";

test("a command answers in place of a model, and what it took is charged", async () => {
  const place = openPlace();
  expect(await ask(place, { says: "done", tokens: [7, 3], usd: 0.25 })).toMatchObject({
    ok: true,
    turn: { text: "done", stop: "end" },
    usage: { input: 7, output: 3, cost_usd: 0.25 },
    charged: true,
  });
  expect(await ask(place, { value: "lines" }, { id: "1.2", command: scriptedAgent("lines") })).toMatchObject({
    turn: { text: '"lines"' },
    usage: { input: 10, output: 5 },
  });
  expect(told(await ask(place, "hello", { id: "1.3", command: scriptedAgent("text") }))).toBe("answer to: hello");
  expect(startsOf(place)).toEqual({ "1.1": 1, "1.2": 1, "1.3": 1 });
});

test("an answer that is kept is given again, and the agent is not started a second time", async () => {
  const place = openPlace();
  expect(await ask(place, { says: "first" })).toMatchObject({ ok: true, turn: { text: "first" } });
  expect(told(await ask(place, { says: "second" }))).toBe("first");
  expect(startsOf(place)).toEqual({ "1.1": 1 });
});

test("the words of a failure are those that its output has, else its last ones", async () => {
  const place = openPlace();
  const { output, ...rest } = scriptedAgent("lines");
  const command = { ...rest, output: { ...output, error: "/error/message" } };
  const failing = { says: "the model is broken", err: "Reading prompt from stdin...", fails: true };
  const words = async (id: string, by: AgentCommand, script: Script = failing) => {
    const answer = await ask(place, script, { id, command: by });
    return answer.ok ? "" : answer.error.message;
  };
  expect(await words("1.1", command)).toBe("the agent fake failed (code 1): the model is broken");
  expect(await words("1.2", scriptedAgent("lines"))).toBe("the agent fake failed (code 1): the model is broken");
  const silent = { raw: "", err: "Reading prompt from stdin...", code: 1 };
  expect(await words("1.3", scriptedAgent("lines"), silent)).toMatch(
    /^the agent fake failed \(code 1\): Reading prompt/,
  );
});

test("a program does not take a prompt for a command of its own", async () => {
  const read = { command: scriptedAgent("text") };
  expect(told(await ask(openPlace(), "/clear", read))).toBe("answer to:");
  expect(told(await ask(openPlace(), "a/b", read))).toBe("answer to: a/b");
});

test("a program gets a schema in the form that providers take; the prompt alone states others", () => {
  const kind = { enum: ["a", "b"] };
  const object = { type: "object", properties: { kind, note: { type: "string" } }, required: ["kind"] };
  expect(JSON.parse(schemaWord(object) ?? "")).toMatchObject({
    required: ["kind", "note"],
    properties: { note: { anyOf: [{ type: "string" }, { type: "null" }] } },
    additionalProperties: false,
  });
  expect([kind, { type: "boolean" }, { ...object, additionalProperties: true }].map(schemaWord)).toEqual([
    null,
    null,
    null,
  ]);
});

describe("what a program prints is judged as a reply is", () => {
  const lines = (...events: readonly object[]) => events.map((event) => JSON.stringify(event)).join("\n");
  const item = (text: string, type = "agent_message") => ({ type: "item.completed", item: { type, text } });
  const end = { type: "turn.completed", usage: { input_tokens: 10, output_tokens: 5 } };
  const result = (fields: object) =>
    JSON.stringify({ result: "a, b", usage: { input_tokens: 1, output_tokens: 1 }, ...fields });

  test.each([
    ["json", result({ stop_reason: "end_turn" }), "a, b", undefined],
    ["json", result({ stop_reason: "max_tokens" }), "truncated_answer", undefined],
    ["json", result({ structured_output: { n: 4 }, stop_reason: "max_tokens" }), "truncated_answer", undefined],
    ["json", result({ stop_reason: "refusal" }), "content_filtered", undefined],
    ["json", result({ result: "<think>41?</think>42" }), "42", undefined],
    ["json", result({ result: "<think>41?" }), "empty_answer", undefined],
    ["lines", lines(item("42"), item("41?", "reasoning"), end), "42", undefined],
    ["lines", lines(item("41?", "reasoning")), "sub_agent_error", undefined],
    ["lines", `${lines(item("I look first."))}\n{"type":"item.completed","item":{"te`, "truncated_answer", undefined],
    ["lines", lines(item("I look first."), { type: "error", message: "disconnected" }), "sub_agent_error", undefined],
    ["lines", lines(item("I look first.")), "I look first.", ["no end of its lines"]],
    ["text", "Thinking...\nIs it 41?\n...done thinking.\n\n42\n", "42", undefined],
    ["text", "\u001b[1m42\u001b[0m\n", "42", ["codes of a terminal"]],
    ["text", "42<|im_end|>\n<|im_start|>user\nAnd more?", "42", ["turns behind its end"]],
  ] as const)("%s: %j is %j", async (form, raw, expected, mended) => {
    // What the prompt shows would be a quotation.
    const hex = Buffer.from(raw).toString("hex");
    const answer = await ask(openPlace(), { hex }, { command: scriptedAgent(form) });
    expect(told(answer)).toBe(expected);
    expect(answer.ok ? answer.turn.mended : undefined).toEqual(mended);
  });

  test("tokens that it does not tell are estimated by what it held", async () => {
    const answer = await ask(openPlace(), { raw: '{"result":"42"}' });
    expect(answer.usage).toMatchObject({ output: 100_000, estimated: 100_000 });
    const counted = await ask(openPlace(), { says: "42" });
    expect(counted.usage).not.toHaveProperty("estimated");
  });

  test("a line that is cleared or written again is what it shows at the end", () => {
    expect(withoutCodes("\u001b[?25l\u001b[1G⠋ \u001b[K\u001b[2K\u001b[1G42\n\u001b[32mdone\u001b[0m")).toBe(
      "42\ndone",
    );
    expect(withoutCodes("10 %\r20 %\n")).toBe("10 %\r20 %\n");
  });
});
