import { expect, test } from "vitest";
import { openSessionWith } from "../../../../src/session/index.ts";
import { readRecord } from "../../../../src/session/journal/records.ts";
import type { Store } from "../../../../src/store/index.ts";
import { replyWith as cell, EMPTY, type Scripts, treeScene as scene } from "../../../support/ask/tree.ts";
import type { Around } from "../../../support/store-around.ts";

/** How the asks of a session's children and of theirs ended, in the order of their calls. */
async function asksOf(store: Store, session: string): Promise<string[]> {
  const journal = async (id: string) => (await store.journal(id)).map(({ record }) => readRecord(record));
  const ends: string[] = [];
  for (const record of await journal(session)) {
    const child = record.record === "rlm_tool_call" ? await store.find(`${session}.${record.call_id}`) : null;
    if (!child) continue;
    const end = (await journal(child.id)).findLast((one) => one.record === "rlm_complete" && one.kind === "ask");
    ends.push(end?.record === "rlm_complete" ? (end.error_code ?? "answered") : "open");
    ends.push(...(await asksOf(store, child.id)));
  }
  return ends;
}

/** A child that finds the code, and how its caller asks for it. */
const FINDS = [
  cell("print(P)"),
  cell('const [[at, end]] = find("code is \\\\d+").matches; answer(peek(at + 8, end), { cite: [at, end] })'),
];
const CALL = 'const [[at]] = find("the code").matches; const part = { context: [at - 10, at + 16] };';

test("a call with context is answered by a child, which sees that part of P and nothing else of its caller", async () => {
  const { session, server } = await scene({
    "What is in the part": [cell('print(typeof at, memory.get("k"), P)'), ...FINDS.slice(1)],
    "What is the code": [
      cell(
        `memory.put("k", 1); ${CALL} const got = await llm_query("What is in the part?", { ...part, cites: true });`,
      ),
      cell("print(got, peek(...got.cites[0]))"),
      cell("answer(got.answer, { cite: got.cites })"),
    ],
  });
  const envelope = await session.ask("What is the code?", { trajectory: true });
  expect(envelope).toMatchObject({ success: true, answer: "4711", turns: 3, cells: 3, sub_calls: 1 });
  expect(envelope).toMatchObject({ children: 1, depth_reached: 1 });
  expect(envelope.success && envelope.citations).toMatchObject([{ valid: true, line: 138, quote: "code is 4711" }]);
  expect(envelope.trajectory?.[1]?.cells[0]?.observation).toContain("code is 4711");
  const [, first, second] = server.requests.map(({ prompt }) => prompt);
  expect(first).toBe(
    "What is in the part?\n\nP has 59 characters in 1 document, from context.\n\nP is a part of a larger context: characters 2356 to 2382 of it.",
  );
  expect(second).toContain("undefined null \n===== notes.txt:2356-2382 =====\nline 137: the code is 4711\n");
  expect(second).toContain("[turn 1 of 10 done; left: 10 sub-calls, ");
});

test("cells outside of an ask make children too, and what these spend is charged to the call", async () => {
  const { session } = await scene({ "What is the code": FINDS });
  const ran = await session.exec(`${CALL} await llm_query("What is the code?", part)`);
  expect(ran).toMatchObject({ success: true, result_json: "4711" });
  expect(ran.budget).toMatchObject({ remaining_sub_calls: 49, remaining_tokens: 500_000 - 220 });
});

test("an answer with a schema is the value itself, and any other answer arrives as text", async () => {
  const { session } = await scene({ "How many": [cell("answer({ lines: P.split('\\n').length })")] });
  const schema = { type: "object", properties: { lines: { type: "number" } }, required: ["lines"] };
  const ran = await session.exec(
    `[await rlm_query("How many?"), await llm_query("How many?", { context: "a\\nb", schema: ${JSON.stringify(schema)} })]`,
  );
  expect(ran).toMatchObject({ result_json: ['{"lines":200}', { lines: 2 }] });
});

test("a schema that no answer can be compared with rejects the call, and no child is made for it", async () => {
  const { session, store } = await scene({ "How many": [cell("answer(1)")] });
  const ran = await session.exec(`
    const asked = llm_query("How many?", { context: "a", schema: { type: "nonsense" } });
    await asked.catch(({ name, code, message }) => [name, code, message])`);
  expect(ran).toMatchObject({ result_json: ["SubAgentError", "schema_mismatch", "schema is wrong at /type"] });
  expect(ran.budget.remaining_sub_calls).toBe(49);
  expect(await store.find(`${session.id}.${ran.exec_id}.1`)).toBeNull();
});

test("a child that fails rejects the call with its code, leaves nothing open and is charged", async () => {
  const { session, store } = await scene({
    "Never answers": [cell("1"), EMPTY, EMPTY, EMPTY],
    "Loses its key": [cell("print(P)"), { status: 401, body: '{"error":{"message":"bad key"}}' }],
  });
  const ran = await session.exec(`
    const code = (error) => [error.code, error instanceof SubAgentError];
    [await rlm_query("Never answers").catch(code), await rlm_query("Loses its key").catch(code)]`);
  expect(ran).toMatchObject({
    result_json: [
      ["no_answer", true],
      ["auth_failed", true],
    ],
    budget: { remaining_tokens: 500_000 - (110 + 300) - 110, remaining_sub_calls: 48 },
  });
  expect(await asksOf(store, session.id)).toEqual(["no_answer", "auth_failed"]);
});

/** A child that does not end, and a plain call that is answered when the child waits for its second turn. */
function slowBesideAnswered() {
  const isOut = Promise.withResolvers<void>();
  const isAnswered = Promise.withResolvers<void>();
  const scripts: Scripts = {
    Slow: [
      cell("print(1)"),
      async () => {
        isOut.resolve();
        return { end: "stuck" };
      },
    ],
    Wait: [
      async () => {
        await isOut.promise;
        isAnswered.resolve();
        return { text: "ok", usage: { prompt: 1, completion: 1 } };
      },
    ],
  };
  const source = 'const asked = rlm_query("Slow"); await llm_query("Wait", { tools: [] }); 7';
  return { scripts, source, isAnswered: isAnswered.promise };
}

test("a call whose process dies between its deadline and its record is over in time all the same", async () => {
  let isDead = false;
  const seen = (store: Store): Store => ({
    ...store,
    async commit(id, step) {
      if (isDead) throw new Error("the process is gone");
      const more = await store.commit(id, step);
      // The child's ask has its end, and the call has none.
      isDead ||=
        step.records?.some((one) => one.record === "rlm_complete" && "kind" in one && one.kind === "ask") === true;
      return more;
    },
  });
  const { session, store, open, server } = await scene({ Slow: [cell("print(1)"), { end: "stuck" }] }, {}, { seen });
  const source =
    'await rlm_query("Slow", { timeout_ms: 2000 }).catch(({ name, code, message }) => [name, code, message])';
  await session.exec(source).catch(() => {});
  await session.close().catch(() => {});
  expect(isDead).toBe(true);
  isDead = false;
  await using again = await open();
  expect((await again.resume())?.envelope).toMatchObject({
    result_json: ["SubCallTimeoutError", "timeout", "the call took longer than 2000 ms"],
  });
  expect(await asksOf(store, again.id)).toEqual(["cancelled"]);
  expect(server.requests).toHaveLength(2);
});

test("a cell that ends before its child discards the child", async () => {
  const { scripts, source } = slowBesideAnswered();
  const { session, store } = await scene(scripts);
  expect(await session.exec(source)).toMatchObject({ success: true, result_json: 7 });
  expect(await asksOf(store, session.id)).toEqual(["cancelled"]);
  // The cell's record has what the child had spent.
  expect(session.budget().remaining_tokens).toBeLessThanOrEqual(500_000 - 112);
  await session.close();
});

/** The cells of a tree of depth 2, whose deepest model does not answer until it is let. */
function deepTree() {
  const isOut = Promise.withResolvers<void>();
  let held = true;
  const scripts: Scripts = {
    Root: [cell('const got = await rlm_query("Middle"); print(got)'), cell("answer(got + '!')")],
    Middle: [cell('const got = await rlm_query("Deep", { max_sub_calls: 0 }); print(got)'), cell("answer(got + '?')")],
    Deep: [
      async () => {
        if (!held) return cell("answer(P.length)");
        held = false;
        isOut.resolve();
        return { end: "stuck" };
      },
    ],
  };
  return { scripts, isOut: isOut.promise };
}

test("an ask that is suspended at depth 2 leaves three open sessions, and one resume ends all of them", async () => {
  const { scripts, isOut } = deepTree();
  const { session, store, open, server } = await scene(scripts);
  const suspend = new AbortController();
  void isOut.then(() => suspend.abort());
  const left = await session.ask("Root", { suspend: suspend.signal });
  expect(left).toMatchObject({ success: false, resumable: true });
  await session.close();
  expect(await asksOf(store, session.id)).toEqual(["open", "open"]);
  const again = await open();
  const resumed = await again.resume();
  expect(resumed?.envelope).toMatchObject({ answer: "3498?!", children: 1, depth_reached: 2, sub_calls: 2 });
  expect(await asksOf(store, session.id)).toEqual(["answered", "answered"]);
  // The request that was in flight is sent again.
  expect(server.requests).toHaveLength(6);
  await again.close();
});

test("a call with context goes no deeper than the session allows, and only models that may go on read of it", async () => {
  const { session, server } = await scene(
    {
      Root: [cell('answer(await rlm_query("Middle"))')],
      Middle: [cell('answer(await rlm_query("Deep").catch((error) => error.code))')],
    },
    { maxDepth: 1 },
  );
  expect(await session.ask("Root")).toMatchObject({ success: true, answer: "depth_exceeded" });
  const systems = server.requests.map(({ body }) => String(body.messages[0]?.content).includes("rlm_query"));
  expect(systems).toEqual([true, false]);
});

test("a fork begins the unfinished child of a call anew", async () => {
  const { scripts, isOut } = deepTree();
  const { session, store, server } = await scene(
    { ...scripts, Root: [cell('answer(await rlm_query("Deep"))')] },
    { keepSteps: true },
  );
  const suspend = new AbortController();
  void isOut.then(() => suspend.abort());
  await session.ask("Root", { suspend: suspend.signal });
  await session.close();
  const step = (await store.checkpoints(session.id)).findLast(({ kind }) => kind === "step");
  const fork = { id: "01KFARK0000000000000000000", name: "fork", origin: "library", settings: null, at: 1 } as const;
  await store.fork(session.id, step?.id ?? null, fork);
  await using forked = await openSessionWith(
    { model: "local/root", baseUrl: server.url, apiKeyEnv: "ASK_KEY", session: "fork" },
    { store },
  );
  expect((await forked.resume())?.envelope).toMatchObject({ success: true, answer: "3498" });
  expect(await asksOf(store, session.id)).toEqual(["open"]);
  expect(await asksOf(store, fork.id)).toEqual(["answered"]);
});

test("turns of children are told with their depth and the calls that lead to them", async () => {
  const told: string[] = [];
  const { session } = await scene(
    { Root: [cell('answer(await rlm_query("Middle"))')], Middle: [cell("answer(P.length)")] },
    {
      onProgress(progress) {
        if (progress.kind === "turn") told.push(`${progress.depth} ${progress.path.length} ${progress.phase}`);
      },
    },
  );
  await session.ask("Root");
  expect(told).toEqual(["0 0 asked", "0 0 replied", "1 1 asked", "1 1 replied", "1 1 ran", "0 0 ran"]);
});

test("who gives up an ask gives up the children below it, and is charged for them", async () => {
  const { scripts, isOut } = deepTree();
  const { session, store, open } = await scene(scripts);
  const suspend = new AbortController();
  void isOut.then(() => suspend.abort());
  await session.ask("Root", { suspend: suspend.signal });
  await session.close();
  expect(await asksOf(store, session.id)).toEqual(["open", "open"]);
  await using again = await open();
  await again.discard();
  expect(again.unfinished()).toBeNull();
  expect(await asksOf(store, session.id)).toEqual(["cancelled", "cancelled"]);
  // A turn of the ask and one of its child were answered; two calls were made.
  expect(again.budget()).toMatchObject({ remaining_tokens: 500_000 - 2 * 110, remaining_sub_calls: 48 });
  expect((await again.exec("1")).success).toBe(true);
});

test("where dollars are limited, a call with context names no model without a price", async () => {
  const { session, server } = await scene({}, { budget: { max_cost_usd: 1 } });
  const ran = await session.exec('await rlm_query("Any").catch(({ code, message }) => [code, message])');
  expect(ran.result_json).toEqual(["budget_exceeded", expect.stringContaining("the price of local/root is not known")]);
  expect(ran.budget.remaining_sub_calls).toBe(50);
  expect(server.requests).toEqual([]);
});

test("a resumed cell that ends before its child is asked again ends the child", async () => {
  const suspend = new AbortController();
  let isWaiting = false;
  const { scripts, source, isAnswered } = slowBesideAnswered();
  void isAnswered.then(() => {
    isWaiting = true;
  });
  const around: Around = async (name, run) => {
    const done = await run();
    // The answer to the awaited call is kept, and the cell has not got it yet.
    if (name === "commit" && isWaiting) suspend.abort();
    return done;
  };
  const { session, store, open, server } = await scene(scripts, {}, { around });
  expect(await session.exec(source, { suspend: suspend.signal })).toMatchObject({ success: false, resumable: true });
  await session.close();
  expect(await asksOf(store, session.id)).toEqual(["open"]);
  const again = await open();
  expect((await again.resume())?.envelope).toMatchObject({ success: true, result_json: 7 });
  expect(await asksOf(store, session.id)).toEqual(["cancelled"]);
  expect(again.budget()).toMatchObject({ remaining_tokens: 500_000 - 112, remaining_sub_calls: 48 });
  expect(server.requests).toHaveLength(3);
  await again.close();
});

test("a child has the limits of its session for contexts", async () => {
  const { session } = await scene({ "How many": [cell("answer(list_docs().length)")] }, { maxFiles: 1 });
  const ask = (context: string) => session.exec(`await llm_query("How many?", { context: ${context} })`);
  expect(await ask("[0, 9]")).toMatchObject({ success: true, result_json: "1" });
  expect(await ask("[[0, 9], [20, 30]]")).toMatchObject({
    success: false,
    error_code: "invalid_argument",
    error_message: expect.stringContaining("llm_query: its context makes the context too large: 2 files (limit 1)"),
    suggestion: expect.stringContaining("fewer or smaller places"),
  });
  expect(session.unfinished()).toBeNull();
  expect(await ask("[0, 9]")).toMatchObject({ success: true });
});
