import { expect, test } from "vitest";
import { describeSession, type SessionDescription } from "../../../../src/history/index.ts";
import { openModels } from "../../../../src/models/index.ts";
import { replyWith, type Scripts, treeScene } from "../../../support/ask/tree.ts";
import type { ScriptedAnswer, SeenRequest } from "../../../support/model-server.ts";
import { folderWith } from "../../../support/tree.ts";

/** USD per million tokens. */
const COST = { input: 100, output: 1000, cacheRead: 10, cacheWrite: 0 };

/** Models of the scripted server that have a price. */
function pricedAt(baseUrl: string) {
  const priced = { baseUrl, api: "openai-completions", apiKey: "K", models: [{ id: "root", cost: COST }] };
  const agentDir = folderWith({ "models.json": JSON.stringify({ providers: { priced } }) });
  return openModels({ model: "priced/root", agentDir, env: { K: "k" } });
}

/** A reply that reached its token limit. */
const CUT: ScriptedAnswer = { text: "so", finish: "length" };

/** What the replies of a server cost by what it reported. */
function openBill() {
  let dollars = 0;
  return {
    dollars: () => dollars,
    /** The reply, with this usage on the bill. */
    charge(reply: ScriptedAnswer, usage: NonNullable<ScriptedAnswer["usage"]>): ScriptedAnswer {
      const { prompt, completion, cached = 0 } = usage;
      dollars += ((prompt - cached) * COST.input + cached * COST.cacheRead + completion * COST.output) / 1e6;
      return { ...reply, usage };
    },
  };
}

/** A session and all sessions below it. */
function familyOf(session: SessionDescription): SessionDescription[] {
  const below = session.execs.flatMap(({ calls }) => calls.flatMap(({ child }) => child?.description ?? []));
  return [session, ...below.flatMap(familyOf)];
}

test("the dollars of an ask and of each child are what the provider reported, also of children that fail", async () => {
  const bill = openBill();
  let next = 0;
  /** Each reply has another price. */
  const billed = (reply: ScriptedAnswer) => () => {
    next++;
    return bill.charge(reply, { prompt: 100 + next, completion: 10 + next, cached: next });
  };
  const scripts: Scripts = {
    Root: [
      replyWith(`const asked = [rlm_query("Middle 1"), rlm_query("Middle 2", { max_sub_calls: 0 }), rlm_query("Fails")];
        const got = await Promise.allSettled(asked); print(got.map(({ status }) => status))`),
      replyWith('answer(await llm_query("Plain", { tools: [] }))'),
    ].map(billed),
    "Middle 1": [replyWith('print(await rlm_query("Deep", { max_sub_calls: 1 }))'), replyWith("answer(1)")].map(billed),
    "Middle 2": [replyWith("print(P.length)"), replyWith("answer(2)")].map(billed),
    Deep: [replyWith('print(await llm_query("Plain", { tools: [] }))'), replyWith("answer(3)")].map(billed),
    Fails: [replyWith("print(1)"), CUT, CUT, CUT].map(billed),
    Plain: [billed({ text: "plain" })],
  };
  const { session, store, server } = await treeScene(scripts, { budget: { max_cost_usd: 50 } }, { models: pricedAt });
  const envelope = await session.ask("Root");
  expect(envelope).toMatchObject({ success: true, answer: "plain", children: 3, depth_reached: 2 });
  expect(server.requests).toHaveLength(2 + 2 + 2 + 2 + 4 + 2);
  expect(bill.dollars()).toBeGreaterThan(0.3);
  expect(envelope.usage.cost_usd).toBeCloseTo(bill.dollars(), 9);
  expect(session.budget().remaining_cost_usd).toBeCloseTo(50 - bill.dollars(), 9);
  const told = await describeSession(store, session.id, { children: 10 });
  const family = familyOf(told);
  expect(family).toHaveLength(5);
  // A call with a child costs what its child cost, on every level.
  for (const { execs, cost_usd } of family) {
    const own = execs.filter(({ kind }) => kind !== "ask").reduce((sum, exec) => sum + exec.cost_usd, 0);
    expect(own).toBeCloseTo(cost_usd, 9);
    for (const { child, cost_usd: charged } of execs.flatMap(({ calls }) => calls)) {
      if (child) expect(charged).toBeCloseTo(child.description?.cost_usd ?? Number.NaN, 9);
    }
  }
  expect(told.cost_usd).toBeCloseTo(bill.dollars(), 9);
});

test("max_cost_usd stops a tree: whatever its models take, no request goes beyond it", async () => {
  const bill = openBill();
  /** As dear as the request allows: all output tokens, and an input as long as its body is. */
  const dear = (reply: ScriptedAnswer) => (request: SeenRequest) => {
    const { max_tokens, max_completion_tokens = max_tokens } = JSON.parse(request.sent);
    const prompt = Math.ceil(JSON.stringify(request.body.messages).length / 4);
    return bill.charge(reply, { prompt, completion: max_completion_tokens });
  };
  const endless = Array.from({ length: 100 }, (_, at) => dear(replyWith(`print(${at})`)));
  const call =
    "(await Promise.allSettled([1, 2, 3].map((n) => rlm_query('Middle ' + n)))).map(({ reason }) => reason?.code)";
  const scripts: Scripts = {
    Root: [dear(replyWith(`const codes = ${call}; print(codes)`)), ...endless],
    Middle: [dear(replyWith("print(await rlm_query('Deep').catch(({ code }) => code))")), ...endless],
    Deep: endless,
  };
  const { session, server } = await treeScene(scripts, { budget: { max_cost_usd: 20 } }, { models: pricedAt });
  const envelope = await session.ask("Root", { turnTokens: 400 });
  // Each model would go on for all its turns: 20 of the root, 10 of each child.
  expect(envelope).toMatchObject({ success: false, error_code: "no_answer", depth_reached: 2 });
  expect(envelope.turns).toBeLessThan(20);
  expect(bill.dollars()).toBeGreaterThan(10);
  expect(bill.dollars()).toBeLessThanOrEqual(20);
  expect(envelope.usage.cost_usd).toBeCloseTo(bill.dollars(), 9);
  const sent = server.requests.length;
  // This answer could take more than is left, so it is not asked for.
  const dearest = 'await llm_query("Plain", { tools: [], max_tokens: 10000 }).catch(({ code }) => code)';
  expect((await session.exec(dearest)).result_json).toBe("budget_exceeded");
  expect(server.requests).toHaveLength(sent);
});
