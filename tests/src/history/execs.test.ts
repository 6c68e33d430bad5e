import fc from "fast-check";
import { expect, test } from "vitest";
import { describeExecs, type ExecDescription } from "../../../src/history/index.ts";
import { askJournal, openJournal } from "../../support/ask/journal.ts";
import { journals } from "../../support/journals.ts";

const byId = (execs: readonly ExecDescription[]) => new Map(execs.map((exec) => [exec.exec_id, exec]));
const parents = (execs: readonly ExecDescription[]) =>
  execs.map(({ kind, number, parent }) => `${number} ${kind} ${parent}`);

test("turns stand under their ask, cells under the turn that asked for them, and other execs under none", () => {
  const ask = ["3 ask null", "4 turn 3", "5 cell 4", "6 turn 3", "7 turn 3", "8 cell 7"];
  expect(parents(describeExecs(askJournal()))).toEqual(["1 load null", "2 cell null", ...ask]);
  fc.assert(
    fc.property(journals, (records) => {
      expect(describeExecs(records).every(({ parent, ask, turn }) => parent === null && !ask && !turn)).toBe(true);
    }),
  );
});

test("an ask is told with its question, its settings and its answer, and counts what its turns and cells took", () => {
  const execs = byId(describeExecs(askJournal()));
  expect(execs.get("ask")).toMatchObject({
    status: "ok",
    time_ms: 1200 + 9000 + 1200 + 1200 + 40,
    tokens: 3 * 120 + 120 + 900,
    ask: {
      ...{ question: "What is it?", settings: { model: "a/root", max_turns: 20 } },
      ...{ answer: "the second", answered_by: "answer" },
      citations: [{ valid: true, doc: "a" }],
      warnings: [],
    },
  });
  expect(execs.get("ask-t1")?.turn).toEqual({
    ...{ number: 1, closing: false, protocol: "tools" },
    ...{ messages: ["What is it?"], text: "I look first.\nThen I ask." },
  });
  const turn = { number: 2, messages: ["observation 1"], text: "" };
  expect(execs.get("ask-t2-failed")).toMatchObject({ error_code: "truncated_answer", turn });
});

test("an ask that is open is unfinished, and one that was cancelled says so; neither has an answer", () => {
  const open = byId(describeExecs(askJournal("open")));
  const none = { answer: null, answered_by: null };
  expect(open.get("ask")).toMatchObject({ status: "unfinished", time_ms: null, ask: none });
  expect(open.get("look")).toMatchObject({ status: "unfinished", parent: 4, ended_at: null, coverage: null });
  expect(open.get("look")?.calls[1]).toMatchObject({ status: "pending", sent_at: null, ended_at: null, child: null });
  const cancelled = byId(describeExecs(askJournal("cancelled")));
  expect(cancelled.get("ask")).toMatchObject({ status: "failed", error_code: "cancelled", ask: { answer: null } });
});

test("a cell is told with its resumes, its checkpoint and its coverage, a call with when it left and what came of it", () => {
  const look = byId(describeExecs(askJournal())).get("look");
  expect(look).toMatchObject({
    ...{ checkpoint_id: "point-look", coverage: { context_hash: "hash", ranges: { given: [[0, 9]] } }, resumed: 1 },
    resumes: [{ gap_ms: 1000, replayed: 0, resent: 1, failed: 0, checkpoint_id: null }],
    ended_at: (look?.calls[1]?.ended_at ?? 0) + 1000,
  });
  const [plain, child] = look?.calls ?? [];
  const retries = [{ code: "rate_limited", waited_ms: 5 }];
  expect(plain).toMatchObject({ batch: 1, attempts: 1, retries, child: null });
  expect(plain).toMatchObject({ turns: [{ ms: 700, tools: ["grep"] }], usage: { input: 100, output: 20 } });
  expect([plain?.sent_at, plain?.ended_at].map((at) => (at ?? 0) - (plain?.asked_at ?? 0))).toEqual([1500, 2000]);
  expect(child).toMatchObject({ batch: null, turns: null, child: { sub_calls: 2, turns: 2, description: null } });
});

test("records of an ask that another program has written are told as far as they can be read", () => {
  const records = askJournal().map((record) => ({ ...record, ...("input" in record ? { input: 7 } : {}), answer: 7 }));
  const execs = byId(describeExecs(records));
  expect(execs.get("ask")?.ask).toMatchObject({ question: "", settings: null, answer: null });
  expect(execs.get("ask-t1")?.turn).toMatchObject({ number: 0, messages: [] });
});

test("a process that takes an ask over resumes it and its cell in one gap, and a later process in the next one", () => {
  const journal = openJournal(0);
  journal.start("ask", "ask", { question: "?", settings: null });
  journal.start("cell", "cell", "await llm_query(P)", { ask: "ask" });
  journal.call("cell", 1, "llm_query", ["?"]);
  for (const exec of ["ask", "cell", "ask", "cell"]) journal.resume(exec, []);
  const told = describeExecs(journal.records).map(({ resumes }) => resumes.map(({ at, gap_ms }) => at - gap_ms));
  // From the call on, and from the last record of the process before.
  const since = [3000, 5000];
  expect(told).toEqual([since, since]);
});
