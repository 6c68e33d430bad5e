import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import { tokensOf } from "../../model/index.ts";
import type { StoredRecord } from "../../store/index.ts";
import { cellFiles, EMPTY_ACCOUNT, firstLineOf, follow } from "../journal/account.ts";
import { withFiles } from "../journal/envelope.ts";
import {
  type Complete,
  type ExecKind,
  readRecord,
  type Start,
  type ToolCall,
  type ToolResult,
} from "../journal/records.ts";

/** What the journal tells of one exec. */
export interface ExecDescription {
  readonly exec_id: string;
  /** From 1, in the session's whole life. */
  readonly number: number;
  readonly kind: ExecKind;
  /** First line of the cell, question or path. */
  readonly input: string;
  /** The whole cell or question; of other kinds what the host asked for. */
  readonly source: Json;
  /** The file that the cell is from, or null. */
  readonly file: string | null;
  readonly status: "ok" | "failed" | "unfinished";
  readonly error_code: string | null;
  /** ms since the epoch. */
  readonly began_at: number;
  /** Wall time, without that in which no process ran it, ms; null: it is not over. */
  readonly time_ms: number | null;
  /** How often it was continued in a new process. */
  readonly resumed: number;
  readonly tokens: number;
  readonly cost_usd: number;
  readonly calls: readonly CallDescription[];
  /** What it printed; if it is unfinished, until its newest checkpoint. */
  readonly stdout: string;
  readonly stderr: string;
  readonly warnings: readonly string[];
  readonly result_json: Json;
  /** The traceback, or why an exec failed that ran no cell; null if it did not fail. */
  readonly error: string | null;
  /** Cells that are to be run after it, by name. */
  readonly rest: readonly string[];
}

/** What the journal tells of one call. */
export interface CallDescription {
  readonly call_id: string;
  /** From 1, in its exec. */
  readonly number: number;
  /** The builtin. */
  readonly name: string;
  /** What was asked; null for a call that asks no model. */
  readonly prompt: string | null;
  /** Every argument, as the cell gave it. */
  readonly args: readonly Json[];
  /** `provider/id`; empty if no model was asked. */
  readonly model: string;
  /** `pending`: no answer is recorded. */
  readonly status: "ok" | "failed" | "pending";
  readonly error_code: string | null;
  /** The answer, or the error that the cell got; null while the call is pending. */
  readonly answer: Json;
  /** When the call was recorded, ms since the epoch. */
  readonly asked_at: number;
  /** From then, or from the resume that sent it again, to its answer: ms. null while the call is pending. */
  readonly time_ms: number | null;
  readonly tokens: number;
  readonly cost_usd: number;
  /** The answer came from the cache. */
  readonly cached: boolean;
  /** Nothing was sent. */
  readonly refused: boolean;
  /** Requests that failed and were sent again. */
  readonly attempts: number;
  /** How often a resume sent it again because its answer was not recorded. */
  readonly resent: number;
}

interface Gathered {
  readonly start: Start;
  resumed: number;
  readonly calls: Map<string, GatheredCall>;
  complete: Complete | null;
  /** The files that cells were from when it ended, by the cells' numbers. */
  files: ReadonlyMap<number, string>;
}

interface GatheredCall {
  readonly call: ToolCall;
  /** When it was sent last, as far as the journal tells. */
  sent_at: number;
  resent: number;
  result: ToolResult | null;
}

/** The execs that a journal tells of, in its order. */
export function describeExecs(records: readonly StoredRecord[]): ExecDescription[] {
  const execs = new Map<string, Gathered>();
  let account = EMPTY_ACCOUNT;
  for (const stored of records) {
    const record = readRecord(stored);
    account = follow(account, record);
    if (record.record === "rlm_start") {
      const nothing = { resumed: 0, calls: new Map(), complete: null, files: new Map() };
      execs.set(record.exec_id, { start: record, ...nothing });
      continue;
    }
    const exec = execs.get(record.exec_id);
    if (!exec) continue;
    if (record.record === "rlm_tool_call") {
      exec.calls.set(record.call_id, { call: record, sent_at: record.at, resent: 0, result: null });
    } else if (record.record === "rlm_tool_result") {
      const called = exec.calls.get(record.call_id);
      if (called) called.result = record;
    } else if (record.record === "rlm_complete") {
      Object.assign(exec, { complete: record, files: cellFiles(account) });
    } else {
      exec.resumed++;
      for (const id of record.resent) {
        const called = exec.calls.get(id);
        if (called) Object.assign(called, { sent_at: record.at, resent: called.resent + 1 });
      }
    }
  }
  return [...execs.values()].map((exec, index) => describeExec(exec, index + 1));
}

function describeExec({ start, resumed, calls, complete, files }: Gathered, number: number): ExecDescription {
  const described = [...calls.values()].map((call, index) => describeCall(call, index + 1));
  const sum = (of: (call: CallDescription) => number) => described.reduce((total, call) => total + of(call), 0);
  const { kind, input, cell, rest, exec_id, at, name } = start;
  const { output, warnings } = complete?.state ?? { output: { stdout: "", stderr: "" }, warnings: [] };
  return {
    exec_id,
    number,
    kind,
    input: firstLineOf(start),
    source: kind === "cell" ? (cell ?? input) : input,
    file: name ?? null,
    status: complete ? (complete.success ? "ok" : "failed") : "unfinished",
    error_code: complete?.error_code ?? null,
    began_at: at,
    time_ms: complete?.time_ms ?? null,
    resumed,
    tokens: sum(({ tokens }) => tokens),
    cost_usd: sum(({ cost_usd }) => cost_usd),
    calls: described,
    stdout: output.stdout,
    stderr: output.stderr,
    warnings,
    result_json: complete?.end?.kind === "ok" ? JSON.parse(complete.end.result) : null,
    error: complete && !complete.success ? whyFailed(complete, files) : null,
    rest: rest.map((cell) => cell.name),
  };
}

function whyFailed({ end, error_code, error_message }: Complete, files: Gathered["files"]): string {
  if (end?.kind === "error") return withFiles(end.error.traceback, files);
  return error_message ?? error_code ?? "failed";
}

function describeCall({ call, sent_at, resent, result }: GatheredCall, number: number): CallDescription {
  const { call_id, name, args, at } = call;
  const [prompt] = args;
  const { usage, attempts } = result ?? {};
  return {
    call_id,
    number,
    name,
    prompt: typeof prompt === "string" ? prompt : null,
    args,
    model: result?.model ?? "",
    status: result ? (result.success ? "ok" : "failed") : "pending",
    error_code: result && !result.success ? v.parse(Failure, result.value).code : null,
    answer: result?.value ?? null,
    asked_at: at,
    time_ms: result ? Math.max(0, result.at - sent_at) : null,
    tokens: usage ? tokensOf(usage) : 0,
    cost_usd: usage?.cost_usd ?? 0,
    cached: result?.cached ?? false,
    refused: result?.refused ?? false,
    attempts: attempts?.length ?? 0,
    resent,
  };
}

/** The error that a cell got, as its record has it. */
const Failure = v.fallback(v.object({ code: v.nullable(v.string()) }), { code: null });
