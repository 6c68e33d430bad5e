import { expect, test } from "vitest";
import type { ModelAnswer } from "../../../../src/models/index.ts";
import { openScripted, USAGE, using } from "../../../support/scripted-session.ts";

/** An answer of a model that does not take some parameters. */
const without = (text: string, ...ignored: readonly string[]): ModelAnswer => ({
  ...{ ok: true, usage: USAGE, charged: true, ignored },
  turn: { text, toolUses: [], stop: "end", raw: null },
});

test("parameters that a model does not take are in the record of the call, and told once", async () => {
  const { session, journal } = await openScripted(() => without("yes", "top_p", "seed"));
  const answer = await session.exec("await llm_query_batch(['a', 'b'], [])");
  expect(answer.warnings).toEqual(["parameters_ignored: top_p by test/scripted, seed by test/scripted"]);
  const results = (await journal()).filter(({ record }) => record === "rlm_tool_result");
  expect(results).toMatchObject([{ ignored: ["top_p", "seed"] }, { ignored: ["top_p", "seed"] }]);
});

/** A session whose model answers with the parameters that a request has. */
const telling = (options: Options = {}, more: Parameters<typeof openScripted>[3] = {}) =>
  openScripted(({ sampling = null }) => JSON.stringify(sampling), options, undefined, more);
type Options = Parameters<typeof openScripted>[1];

test.each<[Options, string, string]>([
  [{}, "[]", "null"],
  [{}, "{ tools: [], temperature: 0, stop: 'END' }", '{"temperature":0,"stop":["END"]}'],
  [{ sampling: { temperature: 1, seed: 7 } }, "[]", '{"temperature":1,"seed":7}'],
  [{ sampling: { temperature: 1, seed: -7 } }, "{ tools: [], temperature: 0.2 }", '{"temperature":0.2,"seed":-7}'],
])("in a session with %j a call with %s asks with %s", async (options, own, asked) => {
  const { session } = await telling(options);
  expect((await session.exec(`await llm_query("x", ${own})`)).result_json).toBe(asked);
  const batch = await session.exec(`(await llm_query_batch(["x", { prompt: "y", top_p: 1 }], ${own})).results`);
  expect(batch.result_json).toEqual([asked, expect.stringContaining('"top_p":1')]);
});

test("the parameters are kept with the call, and a resume sends what the first send had", async () => {
  const stop = new AbortController();
  const hushed = () => {
    stop.abort();
    return "late";
  };
  const { session, store, journal } = await openScripted(hushed, { sampling: { seed: 7 } });
  await session.exec('await llm_query("x", { tools: [], stop: ["a", "b"] })', { suspend: stop.signal });
  const [call] = (await journal()).filter(({ record }) => record === "rlm_tool_call");
  expect(call).toMatchObject({ sampling: { seed: 7 }, args: ["x", { stop: ["a", "b"] }] });
  const { id } = session;
  await session.close();
  const later = await telling({ sampling: { seed: 8 }, session: id }, { store });
  expect(await later.session.resume()).toMatchObject({ envelope: { result_json: '{"seed":7,"stop":["a","b"]}' } });
  expect((await later.session.exec('await llm_query("z", [])')).result_json).toBe('{"seed":8}');
});

test("an answer with some parameters is not taken from the cache for others", async () => {
  const { session, seen } = await telling({ cache: true, sampling: { seed: 7 } });
  for (const options of ["", "seed: 7", "seed: 8", "stop: 'x'", "stop: ['x']", "top_p: 1", "seed: 8"])
    await session.exec(`await llm_query("x", { tools: [], ${options} })`);
  expect(seen.prompts).toHaveLength(4);
});

test("the turns of an ask and of a child are taken without parameters, the calls of their cells with them", async () => {
  const asked: unknown[] = [];
  const { session } = await openScripted(
    ({ sampling = null, tools }) => {
      asked.push(tools.length > 0 ? ["turn", sampling] : sampling);
      if (tools.length === 0) return without("done", "temperature");
      return asked.length > 1 ? "done" : using("rlm_exec", { code: 'await llm_query("x", [])' });
    },
    { sampling: { temperature: 0 } },
  );
  await session.load({ name: "a.txt", text: "some text" });
  const { warnings } = await session.ask("Which?");
  expect(warnings).toContain("parameters_ignored: temperature by test/scripted");
  expect(asked).toEqual([["turn", null], { temperature: 0 }, ["turn", null]]);
  asked.length = 0;
  await session.exec('await rlm_query("Which?", { context: "some text" })');
  expect(asked).toEqual([["turn", null], { temperature: 0 }, ["turn", null]]);
});

test.each<[object, string]>([
  [{ temperature: 3 }, "sampling.temperature must be a number from 0 to 2, and is 3"],
  [{ topP: 1 }, "unknown option sampling.topP"],
  [{ stop: "" }, "sampling.stop must be a text, or a list of 1 to 4, each of 1 to 1000 characters, and is empty"],
])("a session with the parameters %j is refused", async (sampling, message) => {
  await expect(openScripted(() => "", { sampling })).rejects.toThrow(message);
});
