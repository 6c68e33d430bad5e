import { expect, test } from "vitest";
import { WORKFLOW_TOKENS } from "../../../../src/platform/agent-commands.ts";
import { loggedIn, scriptedAgent } from "../../../support/agents/agents.ts";
import { call, openPlace, openRun } from "./support.ts";

test("a dry run starts no agent, and counts what each may take by its entry", async () => {
  const place = openPlace();
  const agents = { fake: scriptedAgent("json", { max_usd: 0.5, max_tokens: 1000 }), free: scriptedAgent("text") };
  await using session = await openRun(
    place,
    { agents, budget: { max_tokens: WORKFLOW_TOKENS } },
    { tokensAreUsual: true },
  );
  const find = call({ says: "x" }, { phase: "Find", schema: { type: "array", items: { type: "string" } } });
  const verify = call({ says: "y" }, { phase: "Verify", agent: "free" });
  const source = `for (const _ of await ${find}) await ${verify};`;
  const { envelope, estimate } = await session.dryRun(source, { workflow: true, assumed: 2 });
  expect(envelope).toMatchObject({ success: true });
  const rows = estimate.sites.map(({ input_tokens: _in, max_output_tokens: _out, children: _none, ...rest }) => rest);
  const none = { max_requests: 1, child_sub_calls: 0 };
  expect(rows).toEqual([
    { ...none, site: "Find", sub_calls: 1, cost_usd: 0.5, unpriced: 0, uncounted: 0 },
    { ...none, site: "Verify", sub_calls: 2, max_requests: 2, cost_usd: 0, unpriced: 2, uncounted: 2 },
  ]);
  const [{ input_tokens, max_output_tokens } = { input_tokens: 0, max_output_tokens: 0 }] = estimate.sites;
  expect(input_tokens + max_output_tokens).toBe(1000);
  expect(loggedIn(place.log)).toEqual([]);
  const unknown = await session.dryRun(`await ${call({ says: "x" }, { agent: "none" })}`, { workflow: true });
  expect(unknown.envelope).toMatchObject({ error_code: "policy_violation" });
});
