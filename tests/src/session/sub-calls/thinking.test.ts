import { expect, test } from "vitest";
import { openScripted } from "../../../support/scripted-session.ts";

/** A session whose model answers with the level and the limit that a request has. */
const opened = (options: Parameters<typeof openScripted>[1] = {}, more: Parameters<typeof openScripted>[3] = {}) =>
  openScripted(({ thinking, maxTokens }) => `${thinking} ${maxTokens}`, options, undefined, more);

test.each([
  [undefined, "{ tools: [] }", "off 4096"],
  ["low", "{ tools: [] }", "low 6144"],
  ["low", '{ tools: [], thinking: "high" }', "high 20480"],
  ["high", '{ tools: [], thinking: "off" }', "off 4096"],
  ["high", "{ tools: [], max_tokens: 900 }", "high 900"],
] as const)("in a session at the level %j a call with %s asks for %s", async (thinking, options, asked) => {
  const { session } = await opened(thinking ? { thinking } : {});
  expect(await session.exec(`await llm_query("x", ${options})`)).toMatchObject({ result_json: asked });
});

test("items of a batch have levels of their own", async () => {
  const { session } = await opened({ thinking: "low" });
  const items = '["a", { prompt: "b", thinking: "max" }]';
  const answer = await session.exec(`(await llm_query_batch(${items}, { tools: [], thinking: "minimal" })).results`);
  expect(answer.result_json).toEqual(["minimal 5120", "max 20480"]);
});

test("a level that there is not is refused before anything is sent", async () => {
  const { session, seen } = await opened();
  const code = 'await llm_query("x", { thinking: "hard" })';
  expect(await session.exec(code)).toMatchObject({
    success: false,
    error_message: expect.stringContaining("thinking must be one of off, minimal, low, medium, high, xhigh, max"),
  });
  expect(seen.prompts).toEqual([]);
});

test("the level is kept with the call, and a resume sends what the first send had", async () => {
  const stop = new AbortController();
  const { session, store, journal } = await openScripted(
    () => {
      stop.abort();
      return "late";
    },
    { thinking: "low" },
  );
  const cell = 'await Promise.all([llm_query("x", []), llm_query("y", { tools: [], thinking: "high" })])';
  await session.exec(cell, { suspend: stop.signal });
  const kept = (await journal()).filter(({ record }) => record === "rlm_tool_call");
  expect(kept).toMatchObject([{ thinking: "low" }, { args: ["y", { thinking: "high" }], thinking: "low" }]);
  const { id } = session;
  await session.close();
  const later = await opened({ thinking: "max", session: id }, { store });
  expect(await later.session.resume()).toMatchObject({ envelope: { result_json: ["low 6144", "high 20480"] } });
  const anew = await later.session.exec('await llm_query("z", [])');
  expect(anew).toMatchObject({ result_json: "max 20480" });
});

test("an answer at one level is not taken from the cache at another", async () => {
  const { session, seen, journal } = await opened({ cache: true });
  const ask = (options: string) => session.exec(`await llm_query("x", { tools: [], max_tokens: 9000, ${options} })`);
  for (const options of ["", 'thinking: "off"', 'thinking: "low"', 'thinking: "high"', 'thinking: "low"'])
    await ask(options);
  expect(seen.prompts).toHaveLength(3);
  // A record of an answer from the cache names the model whose answer it was.
  const results = (await journal()).filter((record) => record.record === "rlm_tool_result" && record.cached);
  expect(results).toMatchObject([{ model: "test/scripted" }, { model: "test/scripted" }]);
});

test("a child takes the level of its call, else that of the session", async () => {
  const asked: string[] = [];
  const { session } = await openScripted(
    ({ thinking, maxTokens }) => {
      asked.push(`${thinking} ${maxTokens}`);
      return "found";
    },
    { thinking: "low" },
  );
  const part = 'context: "some text", max_sub_calls: 0';
  const answer = await session.exec(
    `[await rlm_query("Which?", { ${part} }), await rlm_query("Which?", { ${part}, thinking: "high" })]`,
  );
  expect(answer).toMatchObject({ result_json: ["found", "found"] });
  expect([...new Set(asked)]).toEqual(["low 16000", "high 32384"]);
});
