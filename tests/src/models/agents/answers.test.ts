import { expect, test } from "vitest";
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
