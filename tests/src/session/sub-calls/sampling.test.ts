import { expect, test } from "vitest";
import type { ModelAnswer } from "../../../../src/model/port.ts";
import { openScripted, USAGE } from "../../../support/scripted-session.ts";

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
