import { expect, onTestFinished, test } from "vitest";
import { openSession } from "../../../../src/index.ts";
import type { AgentTool } from "../../../../src/models/index.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import type { Answers } from "../../../../src/session/sub-calls/port.ts";
import { FREE } from "../../../../src/session/sub-calls/port.ts";
import { type ChatBody, startModelServer } from "../../../support/model-server.ts";

const shell: AgentTool = {
  name: "shell",
  description: "Runs a command in the working folder and gives what it prints.",
  parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
  sideEffects: true,
  run: async () => ({ text: "" }),
};
const SCHEMA = {
  type: "object",
  properties: { size: { type: "integer" }, names: { type: "array", items: { type: "string" } } },
  required: ["size", "names"],
};

/** Tokens of a request as the server received it, at four characters each: texts of messages, and tools as JSON. */
function countedTokens({ messages, tools }: ChatBody): number {
  const texts = messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));
  return (texts.join("").length + (tools === undefined ? 0 : JSON.stringify(tools).length)) / 4;
}

/** A session whose models answer from a server; `approve` says yes and keeps count. */
async function openServed() {
  const server = await startModelServer(() => ({ text: '{"size":1,"names":["a"]}' }));
  let asked = 0;
  const session = await openSession({
    model: "local/scripted",
    baseUrl: server.url,
    subAgents: {
      tools: [shell],
      allowed_tool_overrides: ["shell"],
      approve: async () => {
        asked++;
        return true;
      },
    },
  });
  onTestFinished(async () => {
    await session.close();
    await server.close();
  });
  return { session, server, asked: () => asked };
}

test("an estimate is within 15 % of what the server then counts", async () => {
  const { session, server, asked } = await openServed();
  const options = [
    "{}",
    "{ tools: [] }",
    `{ schema: ${JSON.stringify(SCHEMA)} }`,
    `{ tools: [], schema: ${JSON.stringify(SCHEMA)}, system: "You count things. ".repeat(20) }`,
    '{ tools: ["read", "shell"] }',
  ];
  for (const given of options) {
    const cell = `await llm_query("How many doors has the house that stands at the end of the road? ".repeat(3), ${given}); 1`;
    const { estimate } = await session.dryRun(cell);
    const before = server.requests.length;
    expect(await session.exec(cell), given).toMatchObject({ success: true });
    const [request, ...others] = server.requests.slice(before);
    expect(others).toEqual([]);
    const counted = request ? countedTokens(request.body) : 0;
    expect(
      Math.abs(estimate.input_tokens / counted - 1),
      `${given}: ${estimate.input_tokens} for ${counted}`,
    ).toBeLessThan(0.15);
  }
  expect(asked()).toBe(1);
});

test("a call with context gets a placeholder, and the estimate counts it apart", async () => {
  const nothing = { ok: false, error: { name: "Error", code: "js_error", message: "sent", suggestion: "" } } as const;
  const answers: Answers = {
    facts: { depth_left: 1 },
    answer: async () => ({ settlement: nothing, record: FREE, cacheKey: null }),
    repeatable: () => true,
  };
  const options = { model: "local/scripted", baseUrl: "http://127.0.0.1:1" };
  await using session = await openSessionWith(options, { answers });
  const cell = `const options = { context: "a text", cites: true, schema: { type: "integer" } };
[await llm_query("Which?", { context: "a text", max_sub_calls: 3 }), await rlm_query("Which?", options)]`;
  const { envelope, estimate } = await session.dryRun(cell);
  expect(envelope.success && envelope.result_json).toEqual(["placeholder answer", { answer: 0, cites: [] }]);
  expect(estimate).toMatchObject({ sub_calls: 2, children: 2, child_sub_calls: 13, max_requests: 0, input_tokens: 0 });
});

test("a dry run tells how many requests there may be at the most", async () => {
  const { session } = await openServed();
  const { estimate } = await session.dryRun(
    `await llm_query("a"); await llm_query("b", []); await llm_query("c", { tools: [], schema: ${JSON.stringify(SCHEMA)} })`,
  );
  expect(estimate.sites.map(({ max_requests }) => max_requests)).toEqual([13]);
  expect(estimate).toMatchObject({ sub_calls: 3, max_requests: 10 + 1 + 2 });
});

test("what policy refuses is refused in a dry run, and counts as no call", async () => {
  const { session } = await openServed();
  const cell = "[await llm_query('a', ['bash']).catch((error) => error.name), await llm_query('b', [])]";
  const { envelope, estimate } = await session.dryRun(cell);
  expect(envelope).toMatchObject({ success: true, result_json: ["PolicyViolationError", "placeholder answer"] });
  expect(envelope.warnings).toEqual(["tool_override_denied"]);
  expect(estimate).toMatchObject({ sub_calls: 1, max_requests: 1 });
});

test("calls with a phase are counted by it, and those without by their place", async () => {
  const { session } = await openServed();
  const cell = `const ask = (phase) => llm_query("q", { tools: [], phase });
await ask("Find"); await ask("Verify"); await ask("Find");
await llm_query("q", []);`;
  const { estimate } = await session.dryRun(cell);
  expect(estimate.sites.map(({ site, sub_calls }) => [site, sub_calls])).toEqual([
    ["Find", 2],
    ["Verify", 1],
    ["<cell 1>:3", 1],
  ]);
});

test("lists in placeholders have as many items as are assumed", async () => {
  const { session } = await openServed();
  const bug = { type: "object", properties: { file: { type: "string" } }, required: ["file"] };
  const schema = {
    type: "object",
    properties: { bugs: { type: "array", items: bug, maxItems: 3 }, notes: { type: "array", items: { enum: [1, 2] } } },
    required: ["bugs"],
  };
  const cell = `const found = await llm_query("q", { tools: [], schema: ${JSON.stringify(schema)} });
for (const bug of found.bugs) await llm_query("Is it one? " + bug.file, []);
[found.bugs.length, found.notes?.length]`;
  const { envelope, estimate } = await session.dryRun(cell, { assumed: 5 });
  expect(envelope).toMatchObject({ result_json: [3, 5] });
  expect(estimate.sub_calls).toBe(4);
  const { envelope: least } = await session.dryRun(cell);
  expect(least).toMatchObject({ result_json: [0, null] });
  await expect(session.dryRun(cell, { assumed: 1001 })).rejects.toThrow(
    "assumed must be a whole number from 0 to 1000",
  );
});

test("a function that costs and changes nothing runs in a dry run", async () => {
  const parameters = { type: "object" };
  const lent = { description: "A text.", parameters, effects: "none", run: () => "the text" } as const;
  await using session = await openSession({ functions: { text: { ...lent, runsDry: true }, other: lent } });
  const { envelope, estimate } = await session.dryRun("[await text({}), await other({})]");
  expect(envelope).toMatchObject({ result_json: ["the text", "placeholder"] });
  expect(estimate).toMatchObject({ functions: 1 });
});
