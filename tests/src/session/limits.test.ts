import { afterAll, expect, test } from "vitest";
import { openSession } from "../../../src/index.ts";
import { folderWith } from "../../support/tree.ts";

const session = await openSession();
const small = await openSession({ memoryMb: 16 });
afterAll(() => Promise.all([session.close(), small.close()]));

test("an endless loop ends at its limit, and what came before stays", async () => {
  const before = await session.exec("let kept = { n: 1 }; kept.n");
  expect(before).toMatchObject({ success: true, warnings: [] });
  const cut = await session.exec("kept.n = 2; print('started'); for (;;) {}", { limits: { max_execution_ms: 100 } });
  expect(cut).toMatchObject({
    ...{ success: false, error_code: "js_timeout", error_message: expect.stringContaining("100 ms") },
    ...{ suggestion: expect.stringContaining("max_execution_ms"), stdout: "started\n", result_json: null },
    limits_applied: { max_execution_ms: 100 },
  });
  expect(await session.exec("kept.n")).toMatchObject({ success: true, result_json: 2, warnings: [] });
});

test.each([
  ["a loop that catches", "for (;;) { try { for (;;) {} } catch {} }"],
  ["an endless async loop", "for await (const x of (async function* () { for (;;) yield 1 })()) {}"],
  ["a backtracking pattern", '/^(a+)+$/.test("a".repeat(40) + "b")'],
  ["a thenable result that loops", "({ then() { for (;;) {} } })"],
  ["a toJSON that loops", "({ toJSON() { for (;;) {} } })"],
  ["a clock that stands still", "Date.now = () => 0; for (;;) {}"],
  ["a promise chain without end", "await (function again() { return Promise.resolve().then(again) })()"],
])("%s ends as js_timeout, and the guest lives on", async (_name, source) => {
  await session.exec("globalThis.alive = 'yes'");
  const cut = await session.exec(source, { limits: { max_execution_ms: 100 } });
  expect(cut).toMatchObject({ success: false, error_code: "js_timeout" });
  expect(await session.exec("alive")).toMatchObject({ success: true, result_json: "yes", warnings: [] });
});

test("a native that ignores interrupts loses the guest: js_timeout, and the state before the cell", async () => {
  await session.load({ text: "the context", name: "c.txt" });
  await session.exec("let kept = 1; memory.put('kept', 1)");
  const cut = await session.exec("kept = 2; Array(1e9).join('x')", { limits: { max_execution_ms: 300 } });
  const warnings = [expect.stringMatching(/^state_restored: checkpoint \S+, after 0 of 0 sub-calls$/)];
  expect(cut).toMatchObject({ success: false, error_code: "js_timeout", warnings });
  const next = await session.exec("[kept, memory.list(), P]");
  expect(next).toMatchObject({ success: true, result_json: [1, ["kept"], "the context"], warnings: [] });
  expect(await session.exec("1 + 1")).toMatchObject({ result_json: 2, warnings: [] });
});

test.each([
  ["an array of numbers", "let a = []; for (let n = 0; ; n++) a.push({ n })"],
  ["buffers", "let b = []; for (;;) b.push(new ArrayBuffer(1 << 20))"],
  ["strings", "let s = []; for (let i = 0; ; i++) s.push(String(i).repeat(10_000).toUpperCase())"],
  ["a map", "let m = new Map(); for (let i = 0; ; i++) m.set(i, i)"],
  ["a regular expression", "/(?:(a)|b)*c/.test('ab'.repeat(2e6))"],
])("a guest heap filled by %s gives memory_limit_exceeded, and the next cell works", async (_name, source) => {
  const full = await small.exec(source, { limits: { max_execution_ms: 20_000 } });
  const error = { error_code: "memory_limit_exceeded", error_message: expect.stringContaining("16 MB") };
  expect(full).toMatchObject({ success: false, ...error, suggestion: expect.stringMatching(/./) });
  expect(await small.exec("a = b = s = m = undefined; 'next'")).toMatchObject({ success: true, result_json: "next" });
  expect(await small.exec("new Array(1000).fill('x').length")).toMatchObject({ success: true, result_json: 1000 });
});

test("a source over 256 KB is refused by its size", async () => {
  const long = await session.exec(`/*${"x".repeat(256 * 1024)}*/ 1`);
  expect(long).toMatchObject({ success: false, error_code: "source_too_large" });
  expect(await session.exec(`/*${"x".repeat(256 * 1024 - 8)}*/ 1`)).toMatchObject({ success: true, result_json: 1 });
});

test("limits of the session hold for every exec, an override may go beyond them as far as policy allows", async () => {
  await using own = await openSession({ limits: { max_execution_ms: 5000, max_output_bytes: 2_000_000 } });
  const kept = { max_output_bytes: 2_000_000, max_result_bytes: 2 ** 20 };
  const { limits_applied } = await own.exec("1");
  expect(limits_applied).toEqual({ ...kept, max_execution_ms: 5000, max_find_results: 10_000 });
  const overridden = await own.exec("1", {
    limits: { max_execution_ms: 1e9, max_output_bytes: 1e9, max_find_results: 1, max_result_bytes: 2e6 },
  });
  expect(overridden.limits_applied).toEqual({ ...kept, max_execution_ms: 120_000, max_find_results: 1 });
});

test.each([
  ["ASCII", "x", 1],
  ["two-unit text", "日本語", 2],
])("P of %s may be larger than the guest's own heap", async (_name, unit) => {
  const length = 24 * 2 ** 20;
  const text = `begin ${unit.repeat(length / unit.length / (unit === "x" ? 1 : 3))} end`;
  await small.load({ text, name: "large.txt" });
  const read = await small.exec("[P.length, P.slice(0, 5), P.slice(-3), P.charAt(P.length >> 1)]", {
    limits: { max_execution_ms: 1000 },
  });
  const ends = [text.length, "begin", "end", text.charAt(text.length >> 1)];
  expect(read).toMatchObject({ success: true, result_json: ends, warnings: [] });
  expect(await small.exec("const more = []; for (;;) more.push(new ArrayBuffer(1 << 20))")).toMatchObject({
    error_code: "memory_limit_exceeded",
  });
});

test("a session that holds 40 MB reopened with less says which limit lets it go on", async () => {
  const store = folderWith();
  const open = (memoryMb: number) => openSession({ store, session: "large", memoryMb });
  await using first = await open(64);
  await first.helpers.add("one", "const one = new Array(1000).fill(1);");
  await first.exec(`const kept = Array.from({ length: 40 }, () => new Uint8Array(2 ** 20)); 1`);
  await first.close();
  await using lowered = await open(16);
  const answer = await lowered.exec("1 + 1");
  expect(answer).toMatchObject({ success: false, error_code: "memory_limit_exceeded" });
  if (answer.success) return;
  expect(answer.error_message).toMatch(/the session's heap is [\d.]+ MB, more than its limit of 16 MB/);
  const [, enough] = /^Raise `memoryMb` to (\d+) or more/.exec(answer.suggestion ?? "") ?? [];
  await lowered.close();
  await using raised = await open(Number(enough));
  expect(await raised.exec("[kept.length, one.length]")).toMatchObject({ result_json: [40, 1000], warnings: [] });
});

test("a count that runs into the time limit leaves the guest as it was", async () => {
  await using counting = await openSession();
  await counting.load({ text: "ab ".repeat(2 ** 20), name: "text" });
  expect(await counting.exec("var kept = 1; count('b a')")).toMatchObject({ result_json: 2 ** 20 - 1, warnings: [] });
  const cut = await counting.exec("kept = 2; count('(?:[ab ]{3}|.)'); kept = 3", { limits: { max_execution_ms: 50 } });
  expect(cut).toMatchObject({ error_code: "js_timeout", warnings: [] });
  expect(await counting.exec("kept")).toMatchObject({ result_json: 2, warnings: [] });
});
