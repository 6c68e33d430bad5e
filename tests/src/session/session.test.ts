import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openSession, type Session } from "../../../src/index.ts";
import { openSessionWith } from "../../../src/session/session.ts";
import { shareStore } from "../../../src/store/index.ts";
import { openAsyncSession } from "../../support/async-session.ts";
import { folderWith } from "../../support/tree.ts";

const session = await openSession();
afterAll(() => session.close());

test("an envelope names its session, its exec and the time it took", async () => {
  const [first, second] = [await session.exec("1"), await session.exec("2")];
  expect(first.session_id).toBe(session.id);
  expect(first.exec_id).not.toBe(second.exec_id);
  expect(Number.isInteger(first.execution_time_ms)).toBe(true);
});

test("without a context, what reads it fails by name and the rest runs", async () => {
  await using bare = await openSession();
  const searches = ['find("a")', 'search("a")', "list_docs()", 'find_routes("a")', "stats()"];
  for (const call of ["P", "P.length", "peek(0, 1)", 'peek_doc("a")', ...searches]) {
    const suggestion = expect.stringMatching(/./);
    expect(await bare.exec(call), call).toMatchObject({ error_code: "context_not_loaded", suggestion });
  }
  const rest = await bare.exec(
    'memory.put("k", 1); helpers.add("h", "const one = 1"); [memory.list(), session().context_hash, budget().sub_calls]',
  );
  expect(rest).toMatchObject({ success: true, result_json: [["k"], null, 50] });
  expect(await bare.exec("let code; try { P } catch (e) { code = e.code } code")).toMatchObject({
    result_json: "context_not_loaded",
  });
});

test("concurrent execs queue in the order they were asked", async () => {
  const asked = Array.from({ length: 20 }, (_, i) =>
    session.exec(i === 0 ? "globalThis.order = [0]" : `order.push(${i}); order.length`),
  );
  const done = await Promise.all(asked);
  expect(done.slice(1).map(({ result_json }) => result_json)).toEqual(Array.from({ length: 19 }, (_, i) => i + 2));
});

test("two sessions share nothing", async () => {
  await using other = await openSession();
  await session.load({ text: "mine", name: "a" });
  await session.exec(
    "globalThis.secret = 1; Object.prototype.tampered = 1; memory.put('s', 1); helpers.add('h', 'const h = 1')",
  );
  expect(
    await other.exec("[typeof secret, {}.tampered, memory.list(), helpers.list(), session().context_chars]"),
  ).toMatchObject({ result_json: ["undefined", null, [], [], 0] });
  await session.exec("delete Object.prototype.tampered");
});

test("sessions run beside each other, with their own random", async () => {
  await using other = await openSession();
  const [a, b] = await Promise.all([session.exec("Math.random()"), other.exec("Math.random()")]);
  expect(a.result_json).not.toBe(b.result_json);
});

test("load starts anew, loadAppend keeps everything", async () => {
  const folder = folderWith({ "a.txt": "first\n", "b.txt": "second\n" });
  await using own = await openSession({ cwd: folder });
  await own.load("a.txt");
  await own.exec("let kept = 1; memory.put('k', 2); helpers.add('h', 'const h = 3')");
  expect(await own.exec("P")).toMatchObject({ result_json: "first\n" });

  const appended = await own.loadAppend("b.txt");
  expect(appended).toMatchObject({ stats: { document_count: 2, sources: [`${folder}/a.txt`, `${folder}/b.txt`] } });
  const after = await own.exec("[P, kept, memory.get('k'), h, find('second').matches.length, list_docs().length]");
  expect(after).toMatchObject({
    result_json: [`first\n\n\n===== APPENDED: ${folder}/b.txt =====\n\nsecond\n`, 1, 2, 3, 1, 2],
  });

  await own.load("b.txt");
  expect(await own.exec("[P, typeof kept, memory.list(), typeof h]")).toMatchObject({
    result_json: ["second\n", "undefined", [], "undefined"],
  });
  expect(own.budget().remaining_time_ms).toBeGreaterThan(299_000);
});

test("a failed load changes nothing", async () => {
  await session.load({ text: "kept", name: "a" });
  await session.exec("let still = 1");
  await expect(session.load("/no/such/folder")).rejects.toMatchObject({ code: "path_outside_sandbox" });
  await expect(session.load("no-such-file")).rejects.toMatchObject({ code: "path_not_found" });
  expect(await session.exec("[P, still]")).toMatchObject({ result_json: ["kept", 1], warnings: [] });
});

test("cells are numbered from the last load", async () => {
  await session.load({ text: "x", name: "a" });
  await session.exec("1");
  expect(await session.exec("throw new Error('x')")).toMatchObject({
    traceback: expect.stringContaining("<cell 2>:1"),
  });
  await session.load({ text: "x", name: "a" });
  expect(await session.exec("throw new Error('x')")).toMatchObject({
    traceback: expect.stringContaining("<cell 1>:1"),
  });
});

test("a cell that has a name is called by it in tracebacks, also those of later cells", async () => {
  await session.load({ text: "x", name: "a" });
  await session.exec("function fail() {\n  throw new Error('    at <cell 1>:1:1');\n}", { name: "lib.js" });
  const failed = await session.exec("fail()");
  const frames = /^Error: {5}at <cell 1>:1:1\n {4}at fail \(lib\.js:2:\d+\)\n {4}at <cell 2>:1:\d+$/;
  expect(failed).toMatchObject({ line: 2, traceback: expect.stringMatching(frames) });
  const dry = await session.dryRun("fail()", { name: "two words.js" });
  expect(dry.envelope).toMatchObject({ traceback: expect.stringMatching(/lib\.js.*\n {4}at two words\.js:1:\d+$/) });
});

/** A session that can abort a cell where the cell calls `runs`. */
async function openAborted() {
  const controller = new AbortController();
  const { session: aborted } = await openAsyncSession({ options: { onProgress: () => controller.abort() } });
  return { aborted, signal: controller.signal };
}

test("an abort ends a running cell, which keeps what it set", async () => {
  const { aborted, signal } = await openAborted();
  const cut = await aborted.exec("globalThis.reached = 1; runs(); for (;;) {}", { signal });
  expect(cut).toMatchObject({ success: false, error_code: "cancelled", suggestion: expect.stringMatching(/./) });
  expect(await aborted.exec("reached")).toMatchObject({ success: true, result_json: 1, warnings: [] });
});

test("an abort ends a native that ignores interrupts", async () => {
  const { aborted, signal } = await openAborted();
  const cut = await aborted.exec("runs(); Array(1e9).join('x')", { signal });
  const warnings = [expect.stringMatching(/^state_restored: /)];
  expect(cut).toMatchObject({ success: false, error_code: "cancelled", warnings });
  expect(await aborted.exec("1 + 1")).toMatchObject({ result_json: 2, warnings: [] });
});

test("a signal that is aborted already runs nothing", async () => {
  const done = await session.exec("globalThis.never = 1", { signal: AbortSignal.abort() });
  expect(done).toMatchObject({ success: false, error_code: "cancelled" });
  expect(await session.exec("typeof never")).toMatchObject({ result_json: "undefined" });
});

test("an abort of one exec leaves the queued ones alone", async () => {
  const controller = new AbortController();
  const running = session.exec("for (;;) {}", { signal: controller.signal });
  const queued = session.exec("'queued'");
  controller.abort();
  expect(await running).toMatchObject({ error_code: "cancelled" });
  expect(await queued).toMatchObject({ success: true, result_json: "queued" });
});

test("close waits for what is queued; afterwards every call is refused", async () => {
  const own = await openSession();
  const running = own.exec("let n = 0; while (n < 1e5) n++; n");
  const closing = own.close();
  expect(await running).toMatchObject({ success: true, result_json: 100_000 });
  await closing;
  const calls: ((session: Session) => Promise<unknown>)[] = [
    (closed) => closed.exec("1"),
    (closed) => closed.load({ text: "x", name: "x" }),
    (closed) => closed.memory.get("k"),
    (closed) => closed.helpers.list(),
  ];
  for (const call of calls) await expect(call(own)).rejects.toMatchObject({ code: "session_closed" });
  await own.close();
});

test("memory from the host and from cells is one store", async () => {
  await session.load({ text: "x", name: "x" });
  const { memory } = session;
  await memory.put("host", { a: [1, null] });
  expect(await session.exec("memory.put('cell', 2); memory.get('host')")).toMatchObject({
    result_json: { a: [1, null] },
  });
  const held = [await memory.get("cell"), await memory.get("missing"), await memory.list()];
  expect(held).toEqual([2, null, ["host", "cell"]]);
  expect(
    await memory.batch([
      { op: "get", key: "cell" },
      { op: "delete", key: "cell" },
      { op: "put", key: "n", value: 1 },
    ]),
  ).toEqual([
    { op: "get", key: "cell", value: 2 },
    { op: "delete", key: "cell", ok: true },
    { op: "put", key: "n", ok: true },
  ]);
  expect([await memory.delete("n"), await memory.delete("n")]).toEqual([true, false]);
  await memory.clear();
  expect(await memory.list()).toEqual([]);
});

test("a mistake in memory or helpers rejects with its code and changes nothing", async () => {
  await session.load({ text: "x", name: "x" });
  await session.memory.put("kept", 1);
  const suggestion = expect.stringMatching(/./);
  await expect(session.memory.put("", 1)).rejects.toMatchObject({ code: "js_error", suggestion });
  await expect(session.memory.put("big", "x".repeat(6e6))).rejects.toMatchObject({ code: "memory_limit_exceeded" });
  const batch = session.memory.batch([
    { op: "put", key: "kept", value: 2 },
    { op: "put", key: "", value: 1 },
  ]);
  await expect(batch).rejects.toMatchObject({ code: "js_error" });
  expect(await session.memory.get("kept")).toBe(1);
  await expect(session.helpers.add("find", "const a = 1")).rejects.toMatchObject({ code: "policy_violation" });
  await expect(session.helpers.add("h", "const = 1")).rejects.toMatchObject({ code: "js_error" });
  await expect(session.helpers.add("h", "import('x')")).rejects.toMatchObject({ code: "sandbox_violation" });
  await expect(session.helpers.add("h", `/*${"x".repeat(2 ** 20)}*/`)).rejects.toMatchObject({
    code: "helper_limit_exceeded",
  });
  expect(await session.helpers.list()).toEqual([]);
});

test("helpers from the host run before each later cell", async () => {
  await session.load({ text: "x", name: "x" });
  await session.helpers.add("one", "const who = () => 'one'");
  await session.helpers.add("two", "const who = () => 'two'");
  expect(await session.exec("who()")).toMatchObject({ result_json: "two" });
  await session.helpers.add("one", "const who = () => 'one again'");
  expect(await session.helpers.list()).toEqual([
    { name: "one", code: "const who = () => 'one again'" },
    { name: "two", code: "const who = () => 'two'" },
  ]);
  expect(await session.exec("who()")).toMatchObject({ result_json: "two" });
  expect([await session.helpers.remove("two"), await session.helpers.remove("two")]).toEqual([true, false]);
  expect(await session.exec("who()")).toMatchObject({ result_json: "one again" });
});

test("a tampered guest does not mislead the host's memory and helpers", async () => {
  await session.load({ text: "x", name: "x" });
  await session.exec(`
    JSON.stringify = () => '"hacked"'; JSON.parse = () => ({ hacked: 1 });
    Map.prototype.get = Map.prototype.set = () => "hacked"; Array.prototype.toJSON = () => "hacked";
    Object.prototype.toJSON = () => "hacked"; String.prototype.toJSON = () => "hacked"; Object.keys = () => []`);
  await session.memory.put("k", { a: [1] });
  await session.helpers.add("h", "const h = 1");
  expect(await session.memory.list()).toEqual(["k"]);
  expect(await session.helpers.list()).toEqual([{ name: "h", code: "const h = 1" }]);
});

test("a wrong heap size or base URL is refused, and nothing is kept", async () => {
  const store = folderWith();
  const url = { store, session: "s", baseUrl: "ftp://u:pw@x/" };
  await expect(openSession(url)).rejects.toMatchObject({ code: "invalid_argument" });
  // Nothing is kept of what is refused, so the name is free.
  expect(readdirSync(store)).toEqual([]);
  await expect(openSession({ memoryMb: 1 })).rejects.toMatchObject({ code: "invalid_argument" });
  await expect(openSession({ memoryMb: Number.NaN })).rejects.toMatchObject({ code: "invalid_argument" });
});

test("a search index that cannot be written says so, and find goes on", async () => {
  const dir = folderWith({ file: "" });
  await using session = await openSession({ indexDir: join(dir, "file", "index") });
  await session.load({ text: "the fox", name: "a.txt" });
  expect(await session.exec('search("fox")')).toMatchObject({
    success: false,
    error_code: "search_unavailable",
    error_message: expect.stringContaining("ENOTDIR"),
    suggestion: expect.stringContaining("BELAY_HOME"),
  });
  expect(await session.exec('find("fox").matches')).toMatchObject({ success: true, result_json: [[4, 7]] });
});

test("an index for search is made in the exec's time, and the next search goes on with it", async () => {
  await using session = await openSession({ indexDir: folderWith() });
  await session.load({ text: "the quick brown fox, number 1\n".repeat(100_000), name: "a.txt" });
  const within = (max_execution_ms: number) => session.exec('search("fox")', { limits: { max_execution_ms } });
  let cut = await within(10);
  // On a busy computer a cell may not have begun its search by then.
  const isBegun = () => cut.success || cut.warnings.some((warning) => warning.startsWith("search_index_unfinished: "));
  for (let ms = 20; !isBegun() && ms < 2000; ms *= 2) cut = await within(ms);
  expect(cut).toMatchObject({
    success: false,
    error_code: "js_timeout",
    suggestion: expect.stringContaining("the next search continues"),
    warnings: expect.arrayContaining([expect.stringMatching(/^search_index_unfinished: \d+ % is kept$/)]),
  });
  expect(await session.exec('search("foxes", 1).length')).toMatchObject({
    success: true,
    result_json: 1,
    warnings: [],
  });
});

/** A thread that says it is ready, and ends at the first message to its machine. */
const FRAGILE = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from "node:worker_threads";
    const answer = (id, value) => parentPort.postMessage({ id, ok: true, value });
    parentPort.on("message", ({ id, request: { kind } }) => {
      if (kind === "begin") answer(id, { kind: "ready", baseline: { image: { meta: {} }, pages: [] } });
      else if (kind === "open") answer(id, { kind: "opened" });
      else process.exit(1);
    });
  `)}`,
);

test("a machine that dies gives machine_lost, cell after cell", async () => {
  const store = { ...(await shareStore(null)), hasBaseline: async () => true };
  await using session = await openSessionWith({}, { machineEntry: FRAGILE, store });
  for (let i = 0; i < 2; i++) {
    expect(await session.exec("1")).toMatchObject({
      success: false,
      error_code: "machine_lost",
      error_message: expect.stringContaining("thread ended"),
      warnings: ["state_restored: a fresh guest, after 0 of 0 sub-calls"],
    });
  }
  await expect(session.memory.put("k", 1)).rejects.toMatchObject({ code: "machine_lost" });
});

test("a machine that does not start gives machine_lost", async () => {
  await using session = await openSessionWith({}, { machineEntry: new URL("data:text/javascript,process.exit(1)") });
  expect(await session.exec("1")).toMatchObject({ error_code: "machine_lost", warnings: [] });
  await expect(session.memory.get("k")).rejects.toMatchObject({ code: "machine_lost", suggestion: expect.any(String) });
});
