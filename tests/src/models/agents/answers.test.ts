import { expect, test } from "vitest";
import { schemaWord } from "../../../../src/models/agents/index.ts";
import type { AgentCommand } from "../../../../src/platform/agent-commands.ts";
import { scriptedAgent } from "../../../support/agents/agents.ts";
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
  const words = async (id: string, by: AgentCommand) => {
    const answer = await ask(place, failing, { id, command: by });
    return answer.ok ? "" : answer.error.message;
  };
  expect(await words("1.1", command)).toBe("the agent fake failed (code 1): the model is broken");
  expect(await words("1.2", scriptedAgent("lines"))).toMatch(/^the agent fake failed \(code 1\): Reading prompt/);
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
