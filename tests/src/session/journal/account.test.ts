import fc from "fast-check";
import { expect, test } from "vitest";
import { describeExecs } from "../../../../src/history/index.ts";
import { NO_USAGE } from "../../../../src/models/index.ts";
import { cellFiles, EMPTY_ACCOUNT, follow, interruptedIn } from "../../../../src/session/journal/account.ts";
import { spend, treeOf } from "../../../../src/session/journal/ledger.ts";
import {
  type ChildRecord,
  EMPTY_LEDGER,
  type JournalRecord,
  readRecord,
  type ToolCall,
  type ToolResult,
} from "../../../../src/session/journal/records.ts";

import { journals, resultOf } from "../../../support/journals.ts";

const accountOf = (records: readonly JournalRecord[]) => records.reduce(follow, EMPTY_ACCOUNT);
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** Sub-calls of these records: what an answered call came to, and what an open one counts as. */
function subCallsIn(records: readonly JournalRecord[], open: (call: ToolCall) => number): number {
  const results = new Map(records.flatMap((one) => (one.record === "rlm_tool_result" ? [[one.call_id, one]] : [])));
  const calls = records.flatMap((one) => (one.record === "rlm_tool_call" ? [one] : []));
  return sum(
    calls.map((call) => {
      const result = results.get(call.call_id);
      if (!result) return open(call);
      return result.refused || result.cached ? 0 : 1 + (result.child?.sub_calls ?? 0);
    }),
  );
}

/** A property over journals that were cut anywhere, as a process that ends cuts them. */
function forEachJournal(property: (records: JournalRecord[]) => void, numRuns = 150): void {
  fc.assert(fc.property(journals, property), { numRuns });
}

test("an account stays what it was when others are made of it, however often", () => {
  forEachJournal((records) => {
    const accounts = records.map((_, index) => accountOf(records.slice(0, index)));
    const again = accounts.map((account, index) => records.slice(index).reduce(follow, account));
    for (const account of again) expect(account).toEqual(accountOf(records));
    const read = accounts.map((account) => structuredClone(account));
    expect(read).toEqual(records.map((_, index) => records.slice(0, index).reduce(follow, EMPTY_ACCOUNT)));
  }, 50);
});

test("two ways to go on from one account do not see each other's calls and answers", () => {
  const journal = fc.sample(journals, { numRuns: 300, seed: 1 });
  const [records = []] = journal.filter((each) => each.some(({ record }) => record === "rlm_tool_result"));
  const at = records.findIndex(({ record }) => record === "rlm_tool_result");
  const before = accountOf(records.slice(0, at));
  const [answer] = records.slice(at);
  if (answer?.record !== "rlm_tool_result") throw new Error("no journal has an answer");
  const one = follow(before, { ...answer, value: "one" });
  const other = follow(before, { ...answer, value: "other" });
  const values = [before, one, other].map(({ last }) => last?.results.at(-1)?.value);
  expect(values).toEqual([before.last?.results.at(-1)?.value, "one", "other"]);
});

test("the account that followed a session is the one that its stored records give", () => {
  forEachJournal((records) => {
    let running = EMPTY_ACCOUNT;
    for (const [index, record] of records.entries()) {
      running = follow(running, record);
      const stored = records.slice(0, index + 1).map((each) => readRecord(JSON.parse(JSON.stringify(each))));
      expect(accountOf(stored)).toEqual(running);
    }
  }, 100);
});

test("totals are those of the execs that the journal describes", () => {
  forEachJournal((records) => {
    const { totals } = accountOf(records);
    const execs = describeExecs(records);
    expect(totals.execs).toBe(execs.length);
    expect(totals.sub_calls).toBe(subCallsIn(records, () => 1));
    expect(totals.tokens).toBe(sum(execs.map(({ tokens }) => tokens)));
    expect(totals.cost_usd).toBe(sum(execs.map(({ cost_usd }) => cost_usd)));
  });
});

test("the ledger is what was spent since the last load that succeeded", () => {
  forEachJournal((records) => {
    const isReset = (record: JournalRecord) =>
      record.record === "rlm_complete" && record.kind === "load" && record.success;
    const since = records.slice(records.findLastIndex(isReset) + 1);
    const results = since.flatMap((record) => (record.record === "rlm_tool_result" ? [record] : []));
    const { ledger } = accountOf(records);
    expect(ledger.tokens).toBe(sum(results.map(({ usage }) => usage.output)));
    expect(ledger.cost_usd).toBe(sum(results.map(({ usage }) => usage.cost_usd)));
    expect(ledger.sub_calls).toBe(subCallsIn(since, ({ counts = 1 }) => counts));
    expect(ledger.time_ms).toBe(sum(since.map((each) => (each.record === "rlm_complete" ? each.time_ms : 0))));
  });
});

test("no record of a result or an end gives back what was spent", () => {
  const figure = fc.oneof(fc.double({ noDefaultInfinity: true }), fc.integer());
  const usage = fc.record({ input: figure, output: figure, cache_read: figure, cache_write: figure, cost_usd: figure });
  fc.assert(
    fc.property(journals, usage, figure, (records, spent, time_ms) => {
      for (const record of records) {
        if (record.record === "rlm_tool_result") Object.assign(record, { usage: spent, refused: false, cached: false });
        if (record.record === "rlm_complete") Object.assign(record, { time_ms, kind: "cell" });
      }
      let before = EMPTY_LEDGER;
      for (const record of records) {
        const after = spend(before, record);
        for (const key of ["sub_calls", "tokens", "cost_usd", "time_ms"] as const) {
          expect(after[key]).toBeGreaterThanOrEqual(before[key]);
        }
        before = after;
      }
    }),
    { numRuns: 150 },
  );
});

test("a result gives back no more than its call counted, whatever it claims of its child", () => {
  const figure = fc.oneof(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.integer());
  fc.assert(
    fc.property(journals, figure, figure, (records, counts, sub_calls) => {
      for (const record of records) {
        if (record.record === "rlm_tool_call") Object.assign(record, { counts });
        if (record.record === "rlm_tool_result" && record.child) Object.assign(record.child, { sub_calls });
      }
      const made = records.filter(({ record }) => record === "rlm_tool_call").length;
      const free = records.flatMap((record) =>
        record.record === "rlm_tool_result" && (record.refused || record.cached) ? [record] : [],
      );
      const { totals } = accountOf(records);
      expect(totals.sub_calls).toBeGreaterThanOrEqual(made - free.length);
    }),
    { numRuns: 150 },
  );
});

test("a root model's turn is no sub-call", () => {
  const call = { record: "rlm_tool_call", name: "root", call_id: "x.1" };
  const result = { record: "rlm_tool_result", name: "root", call_id: "x.1", usage: NO_USAGE };
  const records = [call, result].map(readRecord);
  expect(records.reduce((ledger, record) => spend(ledger, record), EMPTY_LEDGER)).toEqual(EMPTY_LEDGER);
});

test("the tree of some execs has the calls of all children, and is as deep as the deepest of them", () => {
  const answered = (child?: ChildRecord, more: Partial<ToolResult> = {}) => ({
    ...resultOf("x", "x.1"),
    ...more,
    ...(child ? { child } : {}),
  });
  const child = (sub_calls: number, depth_reached: number) => ({ session: "s", sub_calls, turns: 2, depth_reached });
  const execs = [
    { results: [answered(), answered(child(4, 3)), answered(undefined, { cached: true })] },
    { results: [answered(child(0, 2)), answered(undefined, { name: "root" })] },
  ];
  expect(treeOf(execs, 1)).toEqual({ sub_calls: 7, children: 2, depth_reached: 3 });
  expect(treeOf([], 1)).toEqual({ sub_calls: 0, children: 0, depth_reached: 1 });
});

test("an exec is interrupted until its end is recorded, with all of its records", () => {
  forEachJournal((records) => {
    const interrupted = interruptedIn(accountOf(records));
    const begun = records.findLast(({ record }) => record === "rlm_start");
    const isOver = records.some(({ record, exec_id }) => record === "rlm_complete" && exec_id === begun?.exec_id);
    if (!begun || isOver) {
      expect(interrupted).toBeNull();
      return;
    }
    const own = records.filter(({ exec_id }) => exec_id === begun.exec_id);
    expect(interrupted?.start).toBe(begun);
    expect(interrupted?.calls).toEqual(own.filter(({ record }) => record === "rlm_tool_call"));
    expect(interrupted?.results).toEqual(own.filter(({ record }) => record === "rlm_tool_result"));
    expect(interrupted?.resumes.length).toBe(own.filter(({ record }) => record === "rlm_resume").length);
  });
});

test("the position is that of the newest end with a checkpoint, and a failed load leaves the context", () => {
  forEachJournal((records) => {
    const { checkpoint, context_hash, cells, sources, loads } = accountOf(records);
    const ends = records.flatMap((record) => (record.record === "rlm_complete" ? [record] : []));
    expect(checkpoint).toBe(ends.findLast(({ checkpoint_id }) => checkpoint_id !== null)?.checkpoint_id ?? null);
    const loaded = ends.filter(({ kind, success }) => success && (kind === "load" || kind === "append"));
    expect(context_hash).toBe(loaded.at(-1)?.context_hash ?? null);
    const since = ends.slice(ends.findLastIndex(({ kind, success }) => success && kind === "load") + 1);
    expect(cells).toBe(since.filter(({ kind }) => kind === "cell").length);
    expect(sources.map(({ number }) => number)).toEqual(sources.map((_, index) => index + 1));
    const last = loaded.findLastIndex(({ kind }) => kind === "load");
    expect(loads.map(({ exec_id }) => exec_id)).toEqual(loaded.slice(Math.max(last, 0)).map(({ exec_id }) => exec_id));
    expect(cellFiles(accountOf(records)).size).toBe(0);
  });
});

test("the newest 1,000 keys of calls are remembered, with the exec that each began or went on with", () => {
  const start = (n: number): JournalRecord => ({
    ...{ record: "rlm_start", exec_id: `E${n}`, kind: "cell", input: "1", cell: "1", limits: {}, helpers_hash: null },
    ...{ rest: [], at: n, call: { key: `k${n}`, sum: `s${n}` } },
  });
  const resume: JournalRecord = {
    ...{ record: "rlm_resume", exec_id: "E1004", checkpoint_id: null, replayed: 0, resent: [], failed: [], at: 0 },
    call: { key: "later", sum: "s" },
  };
  const { keyed } = accountOf([...Array.from({ length: 1005 }, (_, n) => start(n)), resume]);
  expect(keyed).toHaveLength(1000);
  expect(keyed[0]).toEqual({ key: "k6", sum: "s6", exec_id: "E6" });
  expect(keyed.at(-1)).toEqual({ key: "later", sum: "s", exec_id: "E1004" });
});
