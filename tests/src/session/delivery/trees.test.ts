import { expect, test } from "vitest";
import { deliveryScene } from "../../../support/delivery.ts";

const WAITS = { success: false, error_code: "waits_for_provider", resumable: true, waits: [{ batch: "batch_0" }] };
const runs = (code: string) => ({ tools: [{ id: "u", name: "rlm_exec", arguments: { code } }] });

/** A root model whose first cell asks a leaf, and whose second one answers. */
const asker = ({ prompt, body }: { readonly prompt: string; readonly body: unknown }) => {
  if (prompt === "leaf") return { text: "LEAF" };
  const knows = JSON.stringify(body).includes("LEAF");
  return runs(knows ? 'answer("it says " + got)' : 'const got = await llm_query("leaf", { tools: [] }); print(got)');
};

test("a child whose cells call by batch parks its root, in any process, and turns of root models are sent at once", async () => {
  const answers = Promise.withResolvers<void>();
  const { open, server, rows, journal } = await deliveryScene({
    answer: asker,
    fate: () => ({ wait: answers.promise }),
  });
  const first = await open();
  await first.load({ text: "the text of it", name: "n.txt" });
  const left = await first.exec('await llm_query("ask a child", { context: [0, 8] })', { wait_ms: 0 });
  expect(left).toMatchObject(WAITS);
  const [request] = rows("SELECT session, root FROM batch_requests");
  expect(request).toMatchObject({ session: expect.not.stringContaining(first.id), root: first.id });
  await first.close();
  answers.resolve();
  const second = await open();
  expect(await second.resume()).toMatchObject({ envelope: { success: true, result_json: "it says LEAF" } });
  expect(server.ran.map(({ batch }) => batch)).toEqual([null, "batch_0", null]);
  // No turn of the child was asked for twice.
  const child = await journal(String(request?.session));
  expect(child.filter(({ record }) => record === "rlm_tool_result")).toHaveLength(3);
});

test("an ask whose cells call by batch is given back and goes on, and a query asks at once", async () => {
  const answers = Promise.withResolvers<void>();
  const { open, server } = await deliveryScene({ answer: asker, fate: () => ({ wait: answers.promise }) });
  const session = await open();
  await session.load({ text: "the text of it", name: "n.txt" });
  expect(await session.ask("what?", { wait_ms: 0 })).toMatchObject(WAITS);
  answers.resolve();
  expect(await session.resume()).toMatchObject({ kind: "ask", envelope: { answer: "it says LEAF", turns: 2 } });
  await session.query("what is the text?");
  expect(server.batches).toHaveLength(1);
});

test("the delivery that a call with a context names is that of its child's calls", async () => {
  const { open, server } = await deliveryScene({ answer: asker });
  const session = await open({ delivery: "now" });
  await session.load({ text: "the text of it", name: "n.txt" });
  const done = await session.exec('await llm_query("ask a child", { context: [0, 8], delivery: "batch" })');
  expect(done).toMatchObject({ result_json: "it says LEAF" });
  expect(server.batches).toHaveLength(1);
});

test("calls that wait for money go in a later wave, and the cell does not hang", async () => {
  const { open, server } = await deliveryScene();
  const session = await open({ budget: { max_tokens: 9000, max_sub_calls: 10 } });
  const ask = (delivery: string) => `llm_query("p", { tools: [], max_tokens: 3000, delivery: "${delivery}" })`;
  const batch = `await Promise.all([${Array.from({ length: 5 }, () => ask("batch")).join()}])`;
  expect(await session.exec(batch)).toMatchObject({ success: true, result_json: ["ok", "ok", "ok", "ok", "ok"] });
  expect(server.batches.map(({ rows }) => rows.length)).toEqual([2, 2, 1]);
  // A call that is sent at once waits for the same money.
  const mixed = `await Promise.all([${ask("batch")}, ${ask("batch")}, ${ask("now")}])`;
  expect(await session.exec(mixed)).toMatchObject({ success: true, result_json: ["ok", "ok", "ok"] });
});

test("the time at a provider is neither the call's nor the cell's nor the session's", async () => {
  const { open } = await deliveryScene({ fate: () => ({ wait: 1200 }) });
  const session = await open({ budget: { max_time_ms: 1000 } });
  const limits = { max_execution_ms: 900 };
  const done = await session.exec('await llm_query("a", { tools: [], timeout_ms: 200 })', { limits });
  expect(done).toMatchObject({ success: true, result_json: "ok" });
  // The wait alone would have used it up.
  expect(done.budget.remaining_time_ms).toBeGreaterThan(0);
});
