import { expect, test } from "vitest";
import { openAsyncSession } from "../../support/async-session.ts";

test("await gives the answer, and values cross whole", async () => {
  const { session } = await openAsyncSession();
  const values = [null, 0, -1.5, "é😀\u0000\u2028", [1, [2]], { a: { b: [] } }, false];
  const done = await session.exec(
    `const got = []; for (const v of ${JSON.stringify(values)}) got.push(await later(v)); got`,
  );
  expect(done).toMatchObject({ success: true, result_json: values, warnings: [] });
});

test("an answer is a fresh value of the guest's own", async () => {
  const { session } = await openAsyncSession();
  const done = await session.exec(
    'const got = await later({ list: [1], "__proto__x": 1 }); [got instanceof Object, got.list instanceof Array, {}.polluted === undefined]',
  );
  expect(done).toMatchObject({ result_json: [true, true, true] });
});

test("Promise.all, allSettled, any and race settle as their answers come", async () => {
  const { session, story } = await openAsyncSession();
  const all = await session.exec("await Promise.all([later(1, 20), later(2), 3])");
  expect(all).toMatchObject({ result_json: [1, 2, 3], warnings: [] });

  const settled = await session.exec(
    '(await Promise.allSettled([later(1), fails("timeout")])).map((s) => s.value ?? s.reason.code)',
  );
  expect(settled).toMatchObject({ result_json: [1, "timeout"], warnings: [] });

  const any = await session.exec('await Promise.any([fails("a"), later("won", 5), fails("b")])');
  expect(any).toMatchObject({ result_json: "won", warnings: [] });

  story();
  // Nobody waits for the slow answer: its call is given up once the fast one has decided.
  const race = await session.exec('await Promise.race([later("slow", 600_000), later("fast", 5)])');
  expect(race).toMatchObject({ result_json: "fast", warnings: ["unawaited_sub_calls: 1"] });
  const calls = story().flatMap((line) => /^(sent|answered|aborted) id-\d+(\.\d)$/.exec(line)?.slice(1).join("") ?? []);
  expect(calls).toEqual(["sent.1", "sent.2", "answered.2", "aborted.1"]);
});

test("for await walks over calls in their order, a generator makes them one by one", async () => {
  const { session, story } = await openAsyncSession();
  const over = await session.exec(
    "const seen = []; for await (const v of [later(1, 15), later(2)]) seen.push(v); seen",
  );
  expect(over).toMatchObject({ result_json: [1, 2] });
  story();
  await session.exec(
    "async function* each() { for (const n of [1, 2]) yield await later(n) } for await (const n of each());",
  );
  const calls = story().filter((line) => /tool/.test(line));
  const [id] = /id-\d+/.exec(calls[0] ?? "") ?? [];
  const both = [1, 2].flatMap((n) => [`rlm_tool_call ${id}.${n}`, `rlm_tool_result ${id}.${n}`]);
  expect(calls).toEqual(both);
});

test("a failed call is an Error with its code, caught or not", async () => {
  const { session } = await openAsyncSession();
  const caught = await session.exec(
    'let seen; try { await fails("rate_limited") } catch (e) { seen = [e instanceof Error, e.code, e.message] } seen',
  );
  expect(caught).toMatchObject({ result_json: [true, "rate_limited", "it fails: rate_limited"] });

  const uncaught = await session.exec('\nawait fails("budget_exceeded")');
  expect(uncaught).toMatchObject({
    ...{ success: false, error_code: "budget_exceeded" },
    ...{ error_message: "Error: it fails: budget_exceeded", suggestion: "Expect it." },
  });
  expect(await session.exec("1 + 1")).toMatchObject({ result_json: 2, warnings: [] });
});

test("arguments are checked where the call is made, and nothing is sent", async () => {
  const { session, story } = await openAsyncSession();
  const wrong = await session.exec("await fails(42)");
  expect(wrong).toMatchObject({ error_name: "TypeError", error_message: expect.stringMatching(/code.*42/) });
  const cyclic = await session.exec(
    "const a = []; a.push(a); let code; await later(a).catch((e) => { code = e.name }); code",
  );
  expect(cyclic).toMatchObject({ success: true, result_json: "TypeError" });
  expect(story().filter((line) => /tool|sent/.test(line))).toEqual([]);
});

test("calls that the cell does not await are counted, told and aborted", async () => {
  const { session, story } = await openAsyncSession();
  const done = await session.exec(
    'globalThis.told = []; for (const n of [1, 2]) later(n, 5000).catch((e) => told.push(e.code)); await later("x"); "end"',
  );
  expect(done).toMatchObject({ success: true, result_json: "end", warnings: ["unawaited_sub_calls: 2"] });
  expect(await session.exec("told")).toMatchObject({ result_json: ["not_awaited", "not_awaited"], warnings: [] });
  expect(story()).toEqual(expect.arrayContaining(["aborted id-2.1", "aborted id-2.2"]));
});

test("a call that is never awaited by a cell without any await is never sent", async () => {
  const { session, story } = await openAsyncSession();
  const done = await session.exec("later(1); 2");
  expect(done).toMatchObject({ result_json: 2, warnings: expect.arrayContaining(["unawaited_sub_calls: 1"]) });
  expect(story()).toEqual(["rlm_start cell", "rlm_complete cell", "checkpoint end"]);
});

test("a call made by a callback after the cell's end is refused, not sent", async () => {
  const { session, story } = await openAsyncSession();
  const done = await session.exec(
    `globalThis.codes = [];
     later("in flight", 5000).catch(async (e) => {
       codes.push(e.code);
       for (let i = 0; i < 3; i++) await later("late").catch((late) => codes.push(late.code));
     });
     await later("awaited");
     1`,
  );
  expect(done).toMatchObject({ success: true, result_json: 1 });
  expect(await session.exec("codes")).toMatchObject({
    result_json: ["not_awaited", "not_awaited", "not_awaited", "not_awaited"],
  });
  expect(story().filter((line) => line.startsWith("sent"))).toEqual(["sent id-2.1", "sent id-2.2"]);
});

test("nothing of an ended cell runs on in the next", async () => {
  const { session } = await openAsyncSession();
  await session.exec(
    '(async () => { await Promise.resolve(later("x", 5000)).catch(() => {}); await later("y"); globalThis.leak = 1 })(); 1',
  );
  const after = await session.exec('await later("z", 5); typeof leak');
  expect(after).toMatchObject({ success: true, result_json: "undefined", warnings: [] });
});

test("a thousand calls are in flight at once", async () => {
  let open = 0;
  const all = Promise.withResolvers<void>();
  const { session, story } = await openAsyncSession({
    async answer(call) {
      if (++open === 1000) all.resolve();
      await all.promise;
      return { ok: true, value: call.args[0] ?? null };
    },
  });
  const done = await session.exec(
    "const got = await Promise.all(Array.from({ length: 1000 }, (_, i) => later(i))); [got.length, got.every((v, i) => v === i)]",
  );
  expect(done).toMatchObject({ success: true, result_json: [1000, true], warnings: [] });
  const ids = story().flatMap((line) => (line.startsWith("rlm_tool_call ") ? [line.slice(14)] : []));
  expect(ids).toEqual(Array.from({ length: 1000 }, (_, i) => `id-2.${i + 1}`));
});

test("waiting for calls is no guest running time", async () => {
  const { session } = await openAsyncSession();
  const done = await session.exec("for (let i = 0; i < 3; i++) await later(i, 150); 'done'", {
    limits: { max_execution_ms: 300 },
  });
  expect(done).toMatchObject({ success: true, result_json: "done" });
});

test("running time counts over the slices between calls", async () => {
  const { session } = await openAsyncSession();
  const busy = "const until = Date.now() + 120; while (Date.now() < until);";
  const done = await session.exec(`for (let i = 0; i < 9; i++) { ${busy} await later(i) }`, {
    limits: { max_execution_ms: 300 },
  });
  expect(done).toMatchObject({ success: false, error_code: "js_timeout" });
  expect(await session.exec("1 + 1")).toMatchObject({ result_json: 2 });
});

test("a cell that patches Promise still gets its answers", async () => {
  const { session } = await openAsyncSession();
  const done = await session.exec(
    "const call = later('x'); Promise.prototype.then = () => { throw 1 }; globalThis.Promise = class {}; await call",
  );
  expect(done).toMatchObject({ success: true, result_json: "x" });
});
