import fc from "fast-check";
import { expect, test } from "vitest";
import type { SessionDescription } from "../../../../src/history/index.ts";
import { NO_USAGE } from "../../../../src/models/index.ts";
import type { JournalRecord } from "../../../../src/session/index.ts";
import { askJournal, childJournal, openJournal, printed } from "../../../support/ask/journal.ts";
import { journals } from "../../../support/journals.ts";
import { described, exportedLines, type JudgedSpan, judgedWhole, valuesOf } from "../../../support/otlp.ts";

const exported = (...session: Parameters<typeof exportedLines>) => judgedWhole(exportedLines(...session));

/** Spans as a tree: name, times in s, attributes that are not of the name, events. */
function tree(spans: readonly JudgedSpan[]): string {
  const depths = new Map<string, number>();
  const seconds = (nano: string) => Number(BigInt(nano) / 1_000_000n) / 1000;
  const told = (all: JudgedSpan["attributes"]) =>
    Object.entries(valuesOf(all))
      .filter(([key]) => !/^gen_ai\.(operation|conversation|agent|tool|provider|request)/.test(key))
      .map(([key, value]) => ` ${key.replace(/^(gen_ai\.usage|belay)\./, "")}=${value}`)
      .join("");
  const lines = spans.map(({ spanId, parentSpanId = "", ...span }) => {
    const depth = (depths.get(parentSpanId) ?? -1) + 1;
    depths.set(spanId, depth);
    const { name, startTimeUnixNano: start, endTimeUnixNano: end, events = [] } = span;
    const happened = events.map((one) => ` [${one.name} ${seconds(one.timeUnixNano)}${told(one.attributes)}]`);
    const own = `${name} ${seconds(start)}-${seconds(end)}${told(span.attributes)}${happened.join("")}`;
    return `${"  ".repeat(depth)}${own}`;
  });
  return `\n${lines.join("\n")}\n`;
}

function withChild(session: SessionDescription, child: SessionDescription): SessionDescription {
  const execs = session.execs.map((exec) => {
    const calls = exec.calls.map((call) =>
      call.child ? { ...call, child: { ...call.child, description: child } } : call,
    );
    return { ...exec, calls };
  });
  return { ...session, execs };
}

const CHILD = described(childJournal(), { id: "01CHILD", origin: "child" });

test("an ask has its turns and cells below it, a cell its calls, and a call the execs of its child", () => {
  const spans = exported(withChild(described(askJournal()), CHILD));
  expect(tree(spans)).toBe(`
execute_tool rlm_load 1-2 exec=1
execute_tool rlm_exec 3-4 exec=2
invoke_agent belay 5-27 cost_usd=0.09 exec=3
  chat b 7.5-8 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=ask-t1.1 queued_ms=500
  execute_tool rlm_exec 10-16 exec=5 resumed=1 [belay.resume 14 gap_ms=1000 replayed=0 resent=1]
    chat b 12.5-13 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=look.1 queued_ms=1500 retries=1 batch=1
    invoke_agent belay 14-15 cost_usd=0.05 call_id=look.2 resent=1
      execute_tool rlm_load 1-2 exec=1
      invoke_agent belay 3-14 cost_usd=0.02 exec=2
        chat b 5.5-6 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=c-ask-t1.1 queued_ms=500
        execute_tool rlm_exec 8-9 exec=4
        chat b 11.5-12 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=c-ask-t2.1 queued_ms=500
  chat b 18.5-19 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=ask-t2-failed.1 queued_ms=500 error.type=truncated_answer
  chat b 22.5-23 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=ask-t2.1 queued_ms=500
  execute_tool rlm_exec 25-26 exec=8
`);
  const traces = Map.groupBy(spans, ({ traceId }) => traceId);
  expect([...traces.values()].map((trace) => trace.length)).toEqual([1, 1, 13]);
  expect(valuesOf(spans[3]?.attributes ?? [])).toMatchObject({
    ...{ "gen_ai.provider.name": "a", "gen_ai.request.model": "b", "gen_ai.conversation.id": "01SESSION" },
  });
  expect(spans.map(({ kind }) => kind).join("")).toBe("111313111313331");
});

test("a batch has what failed, what was refused and what the cache answered; tokens of a provider's cache are input", () => {
  const journal = openJournal(0);
  journal.start("cell", "cell", "await llm_query_batch(parts)");
  for (const number of [1, 2, 3, 4]) journal.call("cell", number, "llm_query", [`part ${number}`, null, { id: 7 }]);
  const usage = { ...NO_USAGE, input: 10, cache_read: 800, cache_write: 90, output: 5, cost_usd: 1 };
  journal.result("cell", 1, "llm_query", "one", { usage });
  const failure = { code: "rate_limited", message: "later" };
  journal.result("cell", 2, "llm_query", failure, { success: false, usage: NO_USAGE, sent_at: 2500 });
  const refused = { success: false, refused: true, usage: NO_USAGE, model: "" };
  journal.result("cell", 3, "llm_query", { code: "policy_violation" }, refused);
  journal.result("cell", 4, "llm_query", "four", { cached: true, usage: NO_USAGE });
  journal.end("cell", "cell", { success: false, error_code: "js_error" });
  // Nothing was sent for the last two.
  const records = journal.records.map((record) =>
    /[34]$/.test(callOf(record)) ? { ...record, sent_at: null } : record,
  );
  expect(tree(exported(described(JSON.parse(JSON.stringify(records)))))).toBe(`
execute_tool rlm_exec 1-10 exec=1 error.type=js_error
  chat b 5.5-6 input_tokens=900 output_tokens=5 cache_read.input_tokens=800 cache_creation.input_tokens=90 cost_usd=1 call_id=cell.1 queued_ms=3500 batch=7
  chat b 2.5-7 input_tokens=0 output_tokens=0 cost_usd=0 call_id=cell.2 queued_ms=0 batch=7 error.type=rate_limited
  chat 4-8 input_tokens=0 output_tokens=0 cost_usd=0 call_id=cell.3 batch=7 refused=true error.type=policy_violation
  chat b 5-9 input_tokens=0 output_tokens=0 cost_usd=0 call_id=cell.4 batch=7 cached=true
`);
});

test("a call says what was mended, left out, taken over, given by hand and estimated", () => {
  const journal = openJournal(0);
  journal.start("cell", "cell", "await llm_query_batch(parts)");
  for (const number of [1, 2, 3]) journal.call("cell", number, "llm_query", [`part ${number}`]);
  const usage = { ...NO_USAGE, input: 10, output: 5, estimated: 15 };
  const mended = ["punctuation", "a draft beside it"];
  journal.result("cell", 1, "llm_query", "one", { usage, mended, ignored: ["top_p"] });
  const reused = { from: "mails", tokens: 15, cost_usd: 0 };
  journal.result("cell", 2, "llm_query", "two", { usage: NO_USAGE, cached: true, reused, mended: ["punctuation"] });
  journal.result("cell", 3, "llm_query", "three", { usage: NO_USAGE, cached: true, by_hand: true });
  journal.end("cell", "cell", printed("cell", ""));
  const told = exported(described(journal.records)).map(({ attributes }) => {
    const own = Object.entries(valuesOf(attributes)).filter(([key]) =>
      /mended|ignored|cached|reused|by_hand|estimated/.test(key),
    );
    return Object.fromEntries(own);
  });
  expect(told).toEqual([
    {},
    { "belay.mended": "punctuation, a draft beside it", "belay.ignored": "top_p", "belay.estimated_tokens": 15 },
    { "belay.cached": true, "belay.reused": true, "belay.mended": "punctuation" },
    { "belay.cached": true, "belay.by_hand": true },
  ]);
});

const callOf = (record: JournalRecord) => ("call_id" in record ? record.call_id : "");

test("a call begins at the last resume that sent it again, and each resume is an event of its exec", () => {
  const journal = openJournal(0);
  journal.start("cell", "cell", "await llm_query('a')");
  journal.call("cell", 1, "llm_query", ["a"]);
  journal.resume("cell", ["cell.1"]);
  journal.resume("cell", ["cell.1"]);
  const records = [...journal.records];
  journal.result("cell", 1, "llm_query", "b", { sent_at: 2100 });
  journal.end("cell", "cell", printed("cell", ""));
  const resumes = ["3", "4"].map((at) => `[belay.resume ${at} gap_ms=1000 replayed=0 resent=1]`).join(" ");
  expect(tree(exported(described(journal.records)))).toBe(`
execute_tool rlm_exec 1-6 exec=1 resumed=2 ${resumes}
  chat b 4-5 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=cell.1 resent=2
`);
  // Before its answer nothing tells of a model.
  expect(tree(exported(described(records)))).toBe(`
execute_tool rlm_exec 1-4 exec=1 resumed=2 unfinished=true ${resumes}
  chat 4-4 input_tokens=0 output_tokens=0 cost_usd=0 call_id=cell.1 resent=2 unfinished=true
`);
});

test("of a damaged journal the rest is exported: what has lost its ask is a trace of its own", () => {
  const without = askJournal().filter(({ record, exec_id }) => record !== "rlm_start" || !/^ask(-t1)?$/.test(exec_id));
  const spans = exported(described(without, { damaged: ["record 5 is damaged"] }));
  expect(tree(spans.slice(2))).toBe(`
execute_tool rlm_exec 10-16 exec=3 resumed=1 [belay.resume 14 gap_ms=1000 replayed=0 resent=1]
  chat b 12.5-13 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=look.1 queued_ms=1500 retries=1 batch=1
  invoke_agent belay 14-15 cost_usd=0.05 call_id=look.2 resent=1
chat b 18.5-19 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=ask-t2-failed.1 queued_ms=500 error.type=truncated_answer
chat b 22.5-23 input_tokens=100 output_tokens=20 cost_usd=0.01 call_id=ask-t2.1 queued_ms=500
execute_tool rlm_exec 25-26 exec=6
`);
});

test("only the traces that are asked for are exported", () => {
  const session = withChild(described(askJournal()), CHILD);
  const ask = exported(session, { only: new Set(["ask"]) });
  expect(ask).toEqual(exported(session).slice(2));
  expect(exported(session, { only: new Set(["look", "cell"]) })).toEqual(exported(session).slice(1, 2));
});

test("a fork has what came after it, and its first span has a link to the exec before", () => {
  const parent = exported(described(askJournal("open"), { id: "01PARENT" }));
  const forkedAfter = { session: "01PARENT", exec_id: "ask" };
  const fork = { id: "01FORK", forked_from: "point", created_at: 13_000 };
  const spans = exported(described(askJournal(), fork), { forkedAfter });
  // The ask and its cell were open when the session was forked, and one call of the cell had been answered.
  expect(spans.map(({ name, parentSpanId }) => `${parentSpanId ? "" : "top "}${name}`)).toEqual([
    ...["top invoke_agent belay", "execute_tool rlm_exec", "invoke_agent belay", "chat b", "chat b"],
    "execute_tool rlm_exec",
  ]);
  const [first, ...rest] = spans;
  const linked = parent.find(({ name }) => name === "invoke_agent belay");
  expect(first?.links).toEqual([{ traceId: linked?.traceId, spanId: linked?.spanId }]);
  expect(rest.every(({ links }) => links === undefined)).toBe(true);
  expect(first?.spanId).not.toBe(linked?.spanId);
  // A cell of an ask is in the trace of its ask.
  const look = exported(described(askJournal(), fork), { forkedAfter: { session: "01PARENT", exec_id: "look" } });
  const cell = parent.find(({ parentSpanId }) => parentSpanId === linked?.spanId && parentSpanId !== undefined);
  expect(look[0]?.links?.[0]?.traceId).toBe(cell?.traceId);
  expect(parent.map(({ spanId }) => spanId)).toContain(look[0]?.links?.[0]?.spanId);
});

test("texts are in the spans only when they are asked for, without keys and with at most 16 KB", () => {
  const key = "sk-proj-Zk3vQ9xW2mB7tR5yN8pL4cF6hJ1dG0sA";
  const journal = openJournal(0);
  journal.start("cell", "cell", "await llm_query(parts)");
  const [long, answer] = [`${"é".repeat(9000)} end`, { n: 1, key }];
  for (const number of [1, 2]) journal.call("cell", number, "llm_query", [number === 1 ? `my ${key} here` : long]);
  journal.result("cell", 1, "llm_query", answer);
  journal.result("cell", 2, "llm_query", { code: "timeout", message: "a message" }, { success: false });
  journal.end("cell", "cell", printed("cell", "out"));
  const session = described(journal.records);
  expect(exportedLines(session).join()).not.toContain("messages");
  const [, first, second] = exported(session, { texts: true }).map(({ attributes }) => valuesOf(attributes));
  const parts = (content: string) => [{ type: "text", content }];
  expect(JSON.parse(String(first?.["gen_ai.input.messages"]))).toEqual([
    { role: "user", parts: parts(`my [redacted: ${key.length} characters] here`) },
  ]);
  expect(JSON.parse(String(first?.["gen_ai.output.messages"]))).toEqual([
    { role: "assistant", parts: parts(`{"n":1,"key":"[redacted: ${key.length} characters]"}`), finish_reason: "stop" },
  ]);
  const [asked] = JSON.parse(String(second?.["gen_ai.input.messages"]));
  expect(asked.parts[0].content).toBe("é".repeat(8192));
  expect(second).not.toHaveProperty("gen_ai.output.messages");
  // Of an ask: the question, its answer, and what each turn added and said.
  const texts = exportedLines(described(askJournal()), { texts: true }).join();
  for (const text of ["What is it?", "I look first.", "observation 1", "the second"]) expect(texts).toContain(text);
});

const asks = fc.constantFrom("open", "answered", "cancelled").map((until) => [...askJournal(until as "open")]);
/** Journals with what no build would write: records missing or moved in time. */
const records: fc.Arbitrary<JournalRecord[]> = fc
  .tuple(fc.oneof(journals, asks), fc.infiniteStream(fc.nat(99)), fc.boolean())
  .map(([all, dice, isWhole]) => {
    const throws = () => Number(dice.next().value);
    const moved = [0, 1e300, -5, 0.4, 1.8e12];
    return all.flatMap((record) => {
      if (isWhole) return [record];
      const at = throws() < 5 ? (moved[throws() % moved.length] ?? 0) : record.at;
      return throws() < 10 ? [] : [{ ...record, at }];
    });
  });

test("random journals: a collector takes every line, parents are there, and a second export is equal", () => {
  const facts = fc.record({ isFork: fc.boolean(), created_at: fc.nat(30_000), texts: fc.boolean() });
  fc.assert(
    fc.property(records, records, facts, (own, below, { isFork, created_at, texts }) => {
      const child = described(below, { id: "01CHILD" });
      const fork = isFork ? { forked_from: "point", created_at } : {};
      const session = withChild(described(own, fork), child);
      // Each call of such a session would have the same child.
      const first = session.execs.flatMap(({ calls }) => calls).find((call) => call.child);
      const once = withOnlyChild(session, first?.call_id);
      const forkedAfter = isFork ? { session: "01PARENT", exec_id: "exec-0" } : null;
      const lines = exportedLines(once, { texts, forkedAfter });
      judgedWhole(lines);
      expect(exportedLines(once, { texts, forkedAfter })).toEqual(lines);
    }),
    { numRuns: 60 },
  );
});

function withOnlyChild(session: SessionDescription, call_id: string | undefined): SessionDescription {
  const execs = session.execs.map((exec) => {
    const calls = exec.calls.map((call) =>
      call.child && call.call_id !== call_id ? { ...call, child: { ...call.child, description: null } } : call,
    );
    return { ...exec, calls };
  });
  return { ...session, execs };
}

test("lines have at most 4 MB, and an ask that names itself as its own ends", () => {
  const journal = openJournal(0);
  journal.start("cell", "cell", "many()");
  const prompt = "\u0001é\u{1f600}".repeat(3000);
  for (let number = 1; number <= 300; number++) {
    journal.call("cell", number, "llm_query", [prompt]);
    journal.result("cell", number, "llm_query", prompt, { model: "m/".repeat(5000) });
  }
  journal.end("cell", "cell", printed("cell", ""));
  const lines = exportedLines(described(journal.records), { texts: true });
  expect(lines.length).toBeGreaterThan(3);
  expect(judgedWhole(lines)).toHaveLength(301);

  const self = openJournal(0);
  self.start("ask", "ask", { question: "?", settings: null }, { ask: "ask" });
  self.end("ask", "ask");
  expect(exported(described(self.records))).toHaveLength(1);
});
