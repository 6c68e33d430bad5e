import { DEFAULT_EXEC_LIMITS, type Json, noOutput } from "../../../runtime/index.ts";
import { NO_USAGE } from "../../../src/models/index.ts";
import type {
  Complete,
  ExecKind,
  JournalRecord,
  Resume,
  Start,
  ToolCall,
  ToolResult,
} from "../../../src/session/journal/records.ts";
import { packRanges } from "../../../src/session/machine/ranges.ts";

/** Records as a session writes them, a second apart. */
export function openJournal(began: number) {
  let at = began;
  const records: JournalRecord[] = [];
  const add = <R extends JournalRecord>(record: R) => {
    at += 1000;
    records.push({ ...record, at });
  };
  return {
    records,
    start(exec_id: string, kind: ExecKind, input: Json, more: Partial<Start> = {}) {
      const cell = kind === "cell" ? String(input) : null;
      const start: Start = {
        ...{ record: "rlm_start", exec_id, kind, input, cell, limits: {}, helpers_hash: null, rest: [], at },
      };
      add({ ...start, ...more });
    },
    resume(exec_id: string, resent: readonly string[], more: Partial<Resume> = {}) {
      add({ record: "rlm_resume", exec_id, checkpoint_id: null, replayed: 0, resent, failed: [], at, ...more });
    },
    call(exec_id: string, number: number, name: string, args: readonly Json[] = []) {
      const counts = { call_count: number, output_bytes: 0, args_hash: "" };
      const call = { record: "rlm_tool_call", exec_id, call_id: `${exec_id}.${number}`, name, args } as const;
      add({ ...call, checkpoint_id: null, ...counts, at } satisfies ToolCall);
    },
    result(exec_id: string, number: number, name: string, value: Json, more: Partial<ToolResult> = {}) {
      const none = { attempts: [], refused: false, cached: false, tool_override_event: null, elapsed_ms: 0 };
      const result: ToolResult = {
        ...{ record: "rlm_tool_result", exec_id, call_id: `${exec_id}.${number}`, name, success: true, value },
        ...{ usage: { ...NO_USAGE, input: 100, output: 20, cost_usd: 0.01 }, model: "a/b" },
        ...{ sent_at: at + 500, ...none, at },
      };
      add({ ...result, ...more });
    },
    end(exec_id: string, kind: ExecKind, more: Partial<Complete> = {}) {
      const complete: Complete = {
        ...{ record: "rlm_complete", exec_id, kind, success: true, error_code: null, error_message: null },
        ...{ end: null, state: null, events: [], call_count: 0, time_ms: 40, resumed: 0, replayed_sub_calls: 0 },
        ...{ checkpoint_id: null, helpers_hash: null, context_hash: "hash", at },
      };
      add({ ...complete, ...more });
    },
  };
}

type Journal = ReturnType<typeof openJournal>;

/** How a cell ended that printed this and gave null. */
export function printed(exec_id: string, stdout: string): Pick<Complete, "end" | "state"> {
  const limits = DEFAULT_EXEC_LIMITS;
  const output = { ...noOutput(), stdout };
  const state = { exec_id, cell: 1, limits, output, warnings: [], running_ms: 1, next_call: 1 };
  return { end: { kind: "ok", result: "null", meta: null }, state };
}

/** A turn that the model answered with a text, and with a cell unless it is null. */
export function turn(journal: Journal, ask: string, number: number, text: string, end: Partial<Complete> = {}): void {
  const exec_id = `${ask}-t${number}${end.success === false ? "-failed" : ""}`;
  const messages = [{ role: "user", text: number === 1 ? "What is it?" : `observation ${number - 1}` }];
  journal.start(exec_id, "turn", { turn: number, closing: false, protocol: "tools", messages, elide: [] }, { ask });
  journal.call(exec_id, 1, "root");
  const reply = { text, toolUses: [], stop: "end", raw: null };
  const isFailed = end.success === false;
  journal.result(exec_id, 1, "root", isFailed ? { code: end.error_code ?? null } : reply, { success: !isFailed });
  journal.end(exec_id, "turn", { time_ms: 1200, ...end });
}

const SETTINGS = { model: "a/root", sub_model: "a/b", protocol: "auto", max_turns: 20 };

export function startAsk(journal: Journal, ask: string, question: string): void {
  journal.start(ask, "ask", { question, settings: SETTINGS, system: "You look." });
}

/**
 * A load, a cell, and an ask of three turns: the first has a cell with a plain call and one that a child answers, the second
 * failed, the cell of the third answered. `until` leaves the records behind it out.
 */
export function askJournal(until: "open" | "answered" | "cancelled" = "answered"): readonly JournalRecord[] {
  const journal = openJournal(0);
  journal.start("load", "load", { path: "/x/docs", roots: ["/x"] });
  journal.end("load", "load", { checkpoint_id: "point-load" });
  journal.start("cell", "cell", "stats()");
  journal.end("cell", "cell", { checkpoint_id: "point-cell", ...printed("cell", "") });
  startAsk(journal, "ask", "What is it?");
  turn(journal, "ask", 1, "I look first.\nThen I ask.");
  journal.start("look", "cell", "for (const part of parts) await llm_query(part)", { ask: "ask" });
  journal.call("look", 1, "llm_query", ["Is it this?", null, { id: 1 }]);
  journal.call("look", 2, "llm_query", ["Which of these?", { context: [0, 900] }]);
  const turns = [{ at: 1, ms: 700, input: 90, output: 10, cost_usd: 0.01, tools: ["grep"] }];
  journal.result("look", 1, "llm_query", "no", { turns, attempts: [{ code: "rate_limited", waited_ms: 5 }] });
  if (until === "open") return journal.records;
  journal.resume("look", ["look.2"]);
  const child = { session: "01CHILDAAAAAAAAAAAAAAAAAAA", sub_calls: 2, turns: 2, depth_reached: 1 };
  journal.result("look", 2, "llm_query", "the second", { child, usage: { ...NO_USAGE, input: 900, cost_usd: 0.05 } });
  const ranges = { shown: "", found: "", ranked: "", given: packRanges([[0, 9]]), printed: "" };
  const coverage = { context_hash: "hash", ranges };
  const end = { checkpoint_id: "point-look", time_ms: 9000, resumed: 1, coverage };
  journal.end("look", "cell", { ...end, ...printed("look", "hm\n") });
  if (until === "cancelled") {
    const cancelled = { success: false, error_code: "cancelled", error_message: "the ask was cancelled" } as const;
    journal.end("ask", "ask", { ...cancelled, time_ms: 0 });
    return journal.records;
  }
  turn(journal, "ask", 2, "", { success: false, error_code: "truncated_answer", error_message: "the reply was cut" });
  turn(journal, "ask", 2, "");
  journal.start("say", "cell", "answer('the second')", { ask: "ask" });
  journal.end("say", "cell", { checkpoint_id: "point-say", ...printed("say", "") });
  const answer = { value: "the second", answered_by: "answer", citations: [{ valid: true, doc: "a" }], warnings: [] };
  journal.end("ask", "ask", { answer, time_ms: 0 });
  return journal.records;
}

/** The journal of the child that answers a call of `askJournal`: two turns, and a cell between them. */
export function childJournal(): readonly JournalRecord[] {
  const journal = openJournal(0);
  journal.start("c-load", "load", { kind: "slice" });
  journal.end("c-load", "load");
  startAsk(journal, "c-ask", "Which of these?");
  turn(journal, "c-ask", 1, "");
  journal.start("c-cell", "cell", "print(P.length)", { ask: "c-ask" });
  journal.end("c-cell", "cell", printed("c-cell", "900\n"));
  turn(journal, "c-ask", 2, "The second.");
  const answer = { value: "The second.", answered_by: "text", citations: [], warnings: [] } as const;
  journal.end("c-ask", "ask", { answer, time_ms: 0 });
  return journal.records;
}
