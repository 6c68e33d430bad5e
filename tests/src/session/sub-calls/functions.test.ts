import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { callLines } from "../../../../src/cli/render/calls.ts";
import { describeExecs } from "../../../../src/history/index.ts";
import type { SessionEvent } from "../../../../src/session/events.ts";
import { readJournal } from "../../../../src/session/journal/records.ts";
import type { SessionFunction, SessionOptions } from "../../../../src/session/option-types.ts";
import { openSession } from "../../../../src/session/session.ts";
import { openStore } from "../../../../src/store/index.ts";
import { openScripted } from "../../../support/scripted-session.ts";
import { folderWith } from "../../../support/tree.ts";

const PAGE = { type: "object", properties: { url: { type: "string" }, n: { type: "integer" } }, required: ["url"] };

/** A function that answers as it is told, and what it was called with. */
function lent(work: SessionFunction["run"], more: Partial<SessionFunction> = {}) {
  const seen: { args: unknown; key: string; signal: AbortSignal }[] = [];
  const fetchPage: SessionFunction = {
    ...{ description: "Fetches a page.", parameters: PAGE, effects: "none" },
    run(args, call) {
      seen.push({ args, key: call.idempotencyKey, signal: call.signal });
      return work(args, call);
    },
    ...more,
  };
  return { seen, functions: { fetchPage } };
}

async function open(work: SessionFunction["run"], more: Partial<SessionFunction> = {}, options: SessionOptions = {}) {
  const { seen, functions } = lent(work, more);
  const session = await openSession({ functions, ...options });
  onTestFinished(() => session.close());
  return { session, seen, result: async (code: string) => (await session.exec(code)).result_json };
}

const UNTIL = "await fetchPage({ url: 'a' }).catch(({ code, message, name }) => [code, name, message])";

test("a cell calls a function by its name, many at once, and gets what it returns", async () => {
  const { session, seen, result } = await open(async ({ url }) => ({ url, text: `text of ${url}` }));
  expect(await result("(await fetchPage({ url: 'a' })).text")).toBe("text of a");
  const all = "(await Promise.all(['b', 'c', 'd'].map((url) => fetchPage({ url, n: null })))).map(({ url }) => url)";
  expect(await result(all)).toEqual(["b", "c", "d"]);
  // A null for what may be left out is left out.
  expect(seen.map(({ args }) => args)).toEqual(["a", "b", "c", "d"].map((url) => ({ url })));
  expect(new Set(seen.map(({ key }) => key)).size).toBe(4);
  expect(session.budget()).toMatchObject({ remaining_functions: 996, remaining_sub_calls: 50 });
  expect(await result("[budget().functions, functions().map(({ name, effects }) => name + effects)]")).toEqual([
    996,
    ["fetchPagenone"],
  ]);
  expect(await result("functions()[0].description")).toBe("Fetches a page.");
});

test.each<[string, string, object]>([
  ["a wrong argument", "fetchPage({ url: 1 })", { code: "js_error", name: "TypeError" }],
  ["a missing argument", "fetchPage()", { code: "js_error", message: expect.stringContaining('lacks "url"') }],
  ["no object", "fetchPage(['a'])", { code: "js_error", message: "fetchPage takes one object" }],
  ["two arguments", "fetchPage({ url: 'a' }, 1)", { code: "js_error", message: "fetchPage takes one object" }],
  ["a function", "fetchPage({ url: () => 1 })", { message: expect.stringContaining("is a function") }],
  ["a key __proto__", `fetchPage(JSON.parse('{ "url": "a", "x": [{ "__proto__": 1 }] }'))`, { code: "js_error" }],
  [
    "an id that JavaScript has rounded",
    "fetchPage({ url: 'a', rows: [{ id: 1234567890123456789 }] })",
    { name: "TypeError", message: expect.stringContaining("rows.0.id is 1234567890123456800, and JavaScript rounds") },
  ],
  ["a huge argument", "fetchPage({ url: 'x'.repeat(2 ** 20) })", { message: expect.stringContaining("limit 1 MB") }],
])("%s is refused before the function runs", async (_what, call, error) => {
  const { result, seen } = await open(() => null);
  expect(await result(`await ${call}.catch(({ code, name, message }) => ({ code, name, message }))`)).toMatchObject(
    error,
  );
  expect(seen).toEqual([]);
  expect(await result(UNTIL)).toBeNull();
});

test("an argument that is nested too deeply does not cost the machine", async () => {
  const { result } = await open(() => null);
  const code = `let deep = {}; for (let n = 0; n < 4000; n++) deep = { deep };
    try { await fetchPage({ url: 'a', deep }) } catch (error) { result = error.message }`;
  expect(await result(code)).toMatch(/deep|stack/);
  expect(await result("typeof deep")).toBe("object");
});

class Page {
  readonly url = "a";
}

test.each<[string, SessionFunction["run"], unknown]>([
  ["undefined", () => undefined, null],
  ["a date", () => new Date(0), "1970-01-01T00:00:00.000Z"],
  ["no prototype", () => Object.assign(Object.create(null), { a: [1] }), { a: [1] }],
  [
    "a Map",
    () => ({ a: new Map() }),
    ["function_failed", "Error", 'fetchPage failed: its result is no JSON: "a" is an instance of Map'],
  ],
  [
    "an instance",
    () => new Page(),
    ["function_failed", "Error", "fetchPage failed: its result is no JSON: it is an instance of Page"],
  ],
  ["NaN", () => [Number.NaN], ["function_failed", "Error", 'fetchPage failed: its result is no JSON: "0" is NaN']],
  ["a small bigint", () => 1n, 1],
  [
    "2 MB",
    () => "x".repeat(2 ** 21),
    ["function_failed", "Error", "fetchPage failed: its result is too large (limit 1 MB)"],
  ],
  ["what it throws", () => Promise.reject(new Error("404")), ["function_failed", "Error", "fetchPage failed: 404"]],
])("a result that is %s", async (_what, work, expected) => {
  const { result } = await open(work);
  expect(await result(UNTIL)).toEqual(expected);
});

test("a bigint of a result that JavaScript would round is a text of its digits, also after a resume", async () => {
  const { session } = await open(() => ({ id: 2n ** 63n, rows: [{ n: 5n }, { n: -(2n ** 60n) }] }));
  const result_json = { id: "9223372036854775808", rows: [{ n: 5 }, { n: "-1152921504606846976" }] };
  const warnings = ["number_as_text: fetchPage.id", "number_as_text: fetchPage.rows.n"];
  expect(await session.exec("await fetchPage({ url: 'a' })")).toMatchObject({ result_json, warnings });
  // What the warning is made of is in the record, since a later process may end the exec.
  const stored = await openScripted(() => "", { functions: lent(() => 2n ** 63n).functions });
  await stored.session.exec(UNTIL);
  const records = await readJournal(stored.store, stored.session.id);
  expect(records).toContainEqual(expect.objectContaining({ record: "rlm_tool_result", as_text: ["fetchPage"] }));
});

const never = () => new Promise(() => {});

test("a function that never answers is given up at its own time, with the cell, and with the session's time", async () => {
  const slow = await open(never, { timeoutMs: 20 });
  expect(await slow.result(UNTIL)).toEqual(["timeout", "SubCallTimeoutError", "fetchPage took longer than 20 ms"]);
  expect(slow.seen[0]?.signal.aborted).toBe(true);
  const stop = new AbortController();
  const cancelled = await open(() => {
    stop.abort();
    return never();
  });
  expect(await cancelled.session.exec(UNTIL, { signal: stop.signal })).toMatchObject({ error_code: "cancelled" });
  expect(cancelled.seen[0]?.signal.aborted).toBe(true);
  const short = await open(never, {}, { budget: { max_time_ms: 300 } });
  const [code, name] = Object(await short.result(UNTIL));
  expect([code, name]).toEqual(["budget_exceeded", "BudgetExceededError"]);
});

const DENIED = ["policy_violation", "PolicyViolationError", "the program does not approve this call of fetchPage"];

test.each<[string, NonNullable<SessionFunction["approve"]>, unknown[]]>([
  ["denies", async () => false, DENIED],
  // A program in JavaScript may forget the word `return`.
  ["gives nothing", () => JSON.parse("null"), DENIED],
  ["throws", () => Promise.reject(new Error("away")), ["function_failed", "Error", "fetchPage failed: away"]],
])("a function is not run if `approve` %s", async (_what, approve, error) => {
  const { seen, result } = await open(() => 1, { approve, effects: "once" });
  expect(await result(UNTIL)).toEqual(error);
  expect(seen).toEqual([]);
});

test("`approve` gets the argument, takes no time of the call, and ends with the cell", async () => {
  const asked: unknown[] = [];
  const stop = new AbortController();
  const { session, seen, result } = await open(() => "page", {
    timeoutMs: 200,
    async approve(args, { signal }) {
      asked.push(args);
      if (args.n !== 2) return setTimeout(250, true);
      stop.abort();
      // It looks at the signal too late, and its word no longer counts.
      return setTimeout(1, signal.aborted);
    },
  });
  expect(await result(UNTIL)).toBe("page");
  const code = "await fetchPage({ url: 'a', n: 2 })";
  expect(await session.exec(code, { signal: stop.signal })).toMatchObject({ error_code: "cancelled" });
  expect(asked).toEqual([{ url: "a" }, { url: "a", n: 2 }]);
  expect(seen).toHaveLength(1);
});

test("max_functions is kept to, also by calls that are made at once", async () => {
  const { result, seen } = await open(() => 1, {}, { budget: { max_functions: 3 } });
  const code = `(await Promise.allSettled(Array.from({ length: 5 }, () => fetchPage({ url: "a" })))).map(({ status, reason }) => reason?.code ?? status)`;
  const fine = "fulfilled";
  expect(await result(code)).toEqual([fine, fine, fine, "budget_exceeded", "budget_exceeded"]);
  expect(seen).toHaveLength(3);
});

test("as many run at once as `concurrency` says", async () => {
  let [running, peak] = [0, 0];
  const work = async () => {
    peak = Math.max(peak, ++running);
    await setTimeout(2);
    return running--;
  };
  const { result } = await open(work, {}, { concurrency: 2 });
  await result(`await Promise.all(Array.from({ length: 6 }, () => fetchPage({ url: "a" })))`);
  expect(peak).toBe(2);
});

test("a cell or a helper may take the name for itself", async () => {
  const { session, result } = await open(() => "page");
  const taken = await session.exec("const fetchPage = () => 'own'; fetchPage()");
  expect(taken).toMatchObject({ result_json: "own", warnings: ["builtin_shadowed: fetchPage"] });
  expect(await result("fetchPage()")).toBe("own");
  const other = await open(() => "page");
  await other.session.helpers.add("own", "function fetchPage() { return 'helper'; }");
  expect(await other.result("fetchPage({ url: 'a' })")).toBe("helper");
  await other.session.helpers.remove("own");
  expect(await other.result("await fetchPage({ url: 'a' })")).toBe("page");
});

test("a function changes its argument, and the record has it as the cell gave it", async () => {
  const { functions } = lent((args) => Object.assign(args, { url: "other" }));
  const { session, journal, store } = await openScripted(() => "ok", { functions });
  expect(await session.exec("await fetchPage({ url: 'a' })")).toMatchObject({ result_json: { url: "other" } });
  const calls = (await journal()).filter(({ record }) => record === "rlm_tool_call");
  expect(calls).toMatchObject([{ name: "functions.fetchPage", args: [{ url: "a" }], effects: "none" }]);
  const [exec] = describeExecs((await store.journal(session.id)).map(({ record }) => record));
  expect(exec?.calls).toMatchObject([{ prompt: null, effects: "none", status: "ok", tokens: 0 }]);
  const plain = {
    isTerminal: false,
    columns: 120,
    colours: false,
    paint: (text: string) => text,
    write() {},
    line() {},
    json() {},
    writeRaw() {},
  };
  const [line] = callLines(exec?.calls ?? [], { margin: "", isRunning: false }, plain);
  expect(line).toMatch(/^1 {2}ok {2}none .*functions\.fetchPage\(\{"url":"a"\}\)$/);
});

test("a dry run counts functions, and runs none", async () => {
  const { session, seen } = await open(() => 1);
  const { envelope, estimate } = await session.dryRun("(await fetchPage({ url: 'a' })).length");
  expect([envelope.success, estimate.functions, estimate.sub_calls, seen.length]).toEqual([true, 1, 0, 0]);
});

test("children have no functions, and an ask's model is told of them", async () => {
  const systems: (string | null)[] = [];
  const { functions, seen } = lent(() => "page");
  const { session } = await openScripted(
    ({ system }) => {
      systems.push(system);
      const isChild = systems.length > 1;
      const code = isChild
        ? "answer(typeof fetchPage)"
        : "answer(await rlm_query('inner', { context: 'a text' }) + await fetchPage({ url: 'a' }))";
      return `\`\`\`js\n${code}\n\`\`\``;
    },
    { functions },
  );
  await session.load({ name: "a.txt", text: "text" });
  expect(await session.ask("outer")).toMatchObject({ success: true, answer: "undefinedpage" });
  expect(systems.map((system) => system?.includes("fetchPage(args) — Fetches a page."))).toEqual([true, false]);
  expect(seen).toHaveLength(1);
});

/** An exec that is stopped while its second call runs, and the session that another process opens. */
async function interrupted(effects: SessionFunction["effects"], code: string) {
  const kept = { store: folderWith(), session: "kept" };
  const suspend = new AbortController();
  const { seen, functions } = lent(
    ({ n }) => {
      if (n !== 2 || suspend.signal.aborted) return n;
      suspend.abort();
      return never();
    },
    { effects },
  );
  // As if the process were killed.
  const first = await openSession({ ...kept, functions, onceWaitMs: 0 });
  expect(await first.exec(code, { suspend: suspend.signal })).toMatchObject({ resumable: true });
  await first.close();
  return { kept, seen, functions };
}

const LOOP =
  "const got = []; for (const n of [1, 2, 3]) got.push(await fetchPage({ url: 'a', n }).catch(({ code }) => code)); got";

test.each<[SessionFunction["effects"], unknown[], number[]]>([
  ["none", [1, 2, 3], [1, 2, 2, 3]],
  ["idempotent", [1, 2, 3], [1, 2, 2, 3]],
  ["once", [1, "process_restarted", 3], [1, 2, 3]],
])(
  "effects %s: what is recorded is not asked for again, and what was in flight as they say",
  async (effects, got, runs) => {
    const { kept, seen, functions } = await interrupted(effects, LOOP);
    await using again = await openSession({ ...kept, functions });
    expect(await again.resume()).toMatchObject({ envelope: { success: true, result_json: got } });
    expect(seen.map(({ args }) => Object(args).n)).toEqual(runs);
    // The same call has the same key.
    expect(new Set(seen.map(({ key }) => key)).size).toBe(3);
    const store = await openStore(kept.store);
    const records = await readJournal(store, again.id);
    await store[Symbol.asyncDispose]();
    const [resumed] = records.filter(({ record }) => record === "rlm_resume");
    expect(resumed).toMatchObject(
      effects === "once" ? { resent: [], failed: [seen[1]?.key] } : { resent: [seen[1]?.key], failed: [] },
    );
  },
);

test("a call that was recorded as once is not run again, whatever the program says now", async () => {
  const { kept, seen, functions } = await interrupted("once", LOOP);
  await using again = await openSession({
    ...kept,
    functions: { fetchPage: { ...functions.fetchPage, effects: "none" } },
  });
  expect(await again.resume()).toMatchObject({ envelope: { result_json: [1, "process_restarted", 3] } });
  expect(seen).toHaveLength(3);
});

/** A function with the effects "once" whose run stops the exec, and the way in which it is stopped. */
function stopping(work: () => Promise<unknown>, onceWaitMs?: number) {
  const kept = { store: folderWith(), session: "kept" };
  const [suspend, signal] = [new AbortController(), new AbortController()];
  const { seen, functions } = lent(
    async ({ n }) => {
      if (n !== 1 || suspend.signal.aborted) return n;
      suspend.abort();
      await work();
      return n;
    },
    { effects: "once" },
  );
  const notices: string[] = [];
  const onProgress = (event: SessionEvent) => event.kind === "notice" && notices.push(event.text);
  const options = {
    ...kept,
    functions,
    onProgress,
    concurrency: 1,
    ...(onceWaitMs === undefined ? {} : { onceWaitMs }),
  };
  const open = () => openSession(options);
  const stop = async (code: string) => {
    const first = await open();
    const envelope = await first.exec(code, { suspend: suspend.signal, signal: signal.signal });
    expect(envelope).toMatchObject({ resumable: true });
    await first.close();
  };
  const resumed = async () => {
    await using again = await open();
    return (await again.resume())?.envelope;
  };
  return { seen, signal, notices, stop, resumed };
}

const AT_ONCE = `(await Promise.all([1, 2, 3].map((n) =>
  fetchPage({ url: 'a', n }).catch(({ code, message }) => code + ": " + message))))`;

test("a graceful stop waits for a run with the effects once, and leaves no doubt about those that have not begun", async () => {
  const { seen, notices, stop, resumed } = stopping(() => setTimeout(50));
  await stop(AT_ONCE);
  expect(seen.map(({ args }) => Object(args).n)).toEqual([1]);
  expect(notices).toEqual([
    "stopping: waiting up to 10 s for fetchPage, which must not run twice; stop again to end at once",
  ]);
  expect(await resumed()).toMatchObject({ result_json: [1, 2, 3] });
  expect(seen.map(({ args }) => Object(args).n)).toEqual([1, 2, 3]);
});

const WAITED = /^process_restarted: Process was restarted: fetchPage still ran [\d.]+ m?s after it was to stop$/;

test("a second stop ends at once, and so does the end of the wait: then the message says so", async () => {
  const twice = stopping(async () => {
    await setTimeout(1);
    twice.signal.abort();
    await never();
  });
  const late = stopping(never, 1);
  for (const { seen, stop, resumed } of [twice, late]) {
    await stop(AT_ONCE);
    expect(seen[0]?.signal.aborted).toBe(true);
    expect(await resumed()).toMatchObject({ result_json: [expect.stringMatching(WAITED), 2, 3] });
    expect(seen).toHaveLength(3);
  }
});

test.each<[SessionFunction["effects"], unknown[], number[]]>([
  ["none", ["policy_violation", 2, 3], [1, 2, 2, 3]],
  ["once", ["policy_violation", 2, 3], [1, 2, 2, 3]],
])(
  "effects %s: a recorded denial is not asked for again, and a call that waited as they say",
  async (effects, got, asks) => {
    const kept = { store: folderWith(), session: "kept" };
    const suspend = new AbortController();
    const asked: unknown[] = [];
    const { functions } = lent(({ n }) => n, {
      effects,
      approve({ n }) {
        asked.push(n);
        if (n !== 2 || suspend.signal.aborted) return n !== 1;
        suspend.abort();
        return Promise.withResolvers<boolean>().promise;
      },
    });
    const first = await openSession({ ...kept, functions });
    expect(await first.exec(LOOP, { suspend: suspend.signal })).toMatchObject({ resumable: true });
    await first.close();
    await using again = await openSession({ ...kept, functions });
    expect(await again.resume()).toMatchObject({ envelope: { success: true, result_json: got } });
    expect(asked).toEqual(asks);
    const store = await openStore(kept.store);
    const [exec] = describeExecs((await store.journal(again.id)).map(({ record }) => record));
    await store[Symbol.asyncDispose]();
    // A call with "once" has run once, however often it was asked for.
    expect(exec?.calls[1]).toMatchObject({ status: "ok", resent: effects === "once" ? 0 : 1 });
  },
);

test("a session that is opened without a function names it, and keeps the exec", async () => {
  const { kept, functions } = await interrupted("none", LOOP);
  const without = await openSession(kept);
  await expect(without.resume()).rejects.toMatchObject({
    code: "function_missing",
    message: "the cell that was interrupted calls the function fetchPage, which the program does not lend",
    suggestion:
      "Pass `functions: { fetchPage }` to `openSession`, and finish it with `resume()`; or give it up with `discard()`.",
  });
  expect(without.unfinished()).not.toBeNull();
  await without.close();
  const again = await openSession({ ...kept, functions });
  expect(await again.resume()).toMatchObject({ envelope: { result_json: [1, 2, 3] } });
  await again.close();
  // The guest still has the name.
  await using later = await openSession(kept);
  expect(await later.exec("await fetchPage({ url: 'a' })")).toMatchObject({
    error_code: "function_missing",
    error_message: "Error: the program does not lend the function fetchPage",
  });
});
