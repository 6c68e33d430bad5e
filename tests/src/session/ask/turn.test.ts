import { expect, test } from "vitest";
import { TOOLS_REFUSED } from "../../../../src/session/ask/next.ts";
import { type TurnRequest, takeTurn } from "../../../../src/session/ask/turn.ts";
import { serve } from "../../../support/scripted-model.ts";

const REQUEST: TurnRequest = {
  ...{ system: "You answer.", messages: [{ role: "user", text: "Which?" }], protocol: "tools", max_tokens: 500 },
  ...{ thinking: "off", conversation: "ask-1", hasCalled: false, shown: [] },
};

/** What comes of a turn that the scripted server answers so. */
async function taken(answer: Parameters<typeof serve>[0], request: Partial<TurnRequest> = {}) {
  const { server, model } = await serve(answer);
  const parts = {
    model,
    budget: { reserve: async () => ({ settle: () => {} }) },
    clock: { now: () => 0, monotonic: () => performance.now() },
    random: () => 0.5,
    sleep: async () => {},
  };
  const turn = await takeTurn({ ...REQUEST, ...request }, parts, new AbortController().signal);
  return { ...turn, bodies: server.requests.map(({ body }) => body) };
}

test("a turn offers the one tool and gives the reply as the model gave it", async () => {
  const { outcome, usage, bodies } = await taken([{ text: "It is 7.", usage: { prompt: 30, completion: 5 } }]);
  expect(outcome).toMatchObject({ ok: true, reply: { text: "It is 7.", toolUses: [] } });
  expect(usage).toMatchObject({ input: 30, output: 5 });
  expect(bodies).toMatchObject([{ tools: [{ function: { name: "rlm_exec" } }] }]);
});

test("with fenced blocks no tool is offered, and the reply ends with its first cell", async () => {
  const text = "Look:\n```js\npeek(0, 9)\n```\nOutput: 17. So it is 17.";
  const { outcome, bodies } = await taken([{ text }], { protocol: "fence" });
  expect(outcome).toMatchObject({ ok: true, reply: { text: "Look:\n```js\npeek(0, 9)\n```" } });
  expect(JSON.stringify(outcome)).not.toContain("So it is");
  expect(bodies[0]).not.toHaveProperty("tools");
});

test("a reply that was cut at its token limit is not run", async () => {
  const { outcome } = await taken([{ text: 'print(1); answer("half', finish: "length" }]);
  expect(outcome).toMatchObject({ ok: false, code: "truncated_answer" });
});

/** As Ollama, OpenRouter, vLLM and llama.cpp say it. */
const REFUSALS = [
  [400, "gemma3:latest does not support tools"],
  [404, "No endpoints found that support tool use."],
  [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
  [500, "tools param requires --jinja flag"],
] as const;

test.each(REFUSALS)("%i %s: the provider refuses tools, which costs nothing", async (status, message) => {
  const refused = await taken(() => ({ status, body: JSON.stringify({ error: { message } }) }));
  expect(refused.outcome).toMatchObject({ ok: false, code: TOOLS_REFUSED });
  expect(refused.usage).toMatchObject({ input: 0, output: 0, cost_usd: 0 });
});

test.each([
  [400, "bad temperature"],
  [500, "the tools are broken today"],
])("%i %s is not such a refusal, and neither is one without tools", async (status, message) => {
  const other = await taken(() => ({ status, body: JSON.stringify({ error: { message } }) }));
  expect(other.outcome).toMatchObject({ ok: false, code: "provider_error" });
  const refusal = () => ({ status: 400, body: '{"error":{"message":"tools are not supported"}}' });
  expect((await taken(refusal, { protocol: "fence" })).outcome).toMatchObject({ code: "provider_error" });
});
