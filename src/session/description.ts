import type { Json } from "../../runtime/index.ts";
import type { CheckpointRow, Store, StoredRecord } from "../store/port.ts";
import { type Complete, type ExecKind, readRecord, type Start, type ToolCall, type ToolResult } from "./journal.ts";
import { type SessionSummary, sessionNamed, summaryOf } from "./sessions.ts";

/** All that a store tells of a session: its execs with their calls, and its checkpoints. */
export interface SessionDescription extends Omit<SessionSummary, "execs"> {
  /** In journal order. */
  readonly execs: readonly ExecDescription[];
  /** The oldest first; `parent` makes a tree of them. */
  readonly checkpoints: readonly CheckpointDescription[];
}

export interface ExecDescription {
  readonly exec_id: string;
  readonly kind: ExecKind;
  /** First line of the cell, question or path. */
  readonly input: string;
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
  /** Cells that are to be run after it, by name. */
  readonly rest: readonly string[];
}

export interface CallDescription {
  readonly call_id: string;
  /** The builtin. */
  readonly name: string;
  /** `provider/id`; empty where no model was asked. */
  readonly model: string;
  /** `pending`: no answer is recorded. */
  readonly status: "ok" | "failed" | "pending";
  readonly error_code: string | null;
  readonly tokens: number;
  readonly cost_usd: number;
  /** The answer came from the cache. */
  readonly cached: boolean;
  /** Nothing was sent. */
  readonly refused: boolean;
  /** Requests that failed and were sent again. */
  readonly attempts: number;
}

export interface CheckpointDescription {
  readonly id: string;
  readonly parent: string | null;
  readonly exec_id: string;
  readonly kind: CheckpointRow["kind"];
  /** ms since the epoch. */
  readonly at: number;
  /** Pages of 4 KiB that changed, and what they take on disk, bytes. */
  readonly pages: number;
  readonly bytes: number;
  /** The session stands here. */
  readonly head: boolean;
}

/** @throws RlmError `session_not_found`, `store_corrupt` */
export async function describeSession(store: Store, nameOrId: string): Promise<SessionDescription> {
  const row = await sessionNamed(store, nameOrId);
  const [journal, checkpoints] = await Promise.all([store.journal(row.id), store.checkpoints(row.id)]);
  return {
    ...summaryOf(row),
    execs: describeExecs(journal.map(({ record }) => record)),
    checkpoints: checkpoints.map(({ id, parent, exec_id, kind, at, pages, stored_bytes }) => ({
      id,
      parent,
      exec_id,
      kind,
      at,
      pages,
      bytes: stored_bytes,
      head: id === row.head,
    })),
  };
}

interface Gathered {
  readonly start: Start;
  resumed: number;
  readonly calls: ToolCall[];
  readonly results: Map<string, ToolResult>;
  complete: Complete | null;
}

/** The execs that a journal tells of, in its order. */
export function describeExecs(records: readonly StoredRecord[]): ExecDescription[] {
  const execs = new Map<string, Gathered>();
  for (const stored of records) {
    const record = readRecord(stored);
    const exec = execs.get(record.exec_id);
    if (record.record === "rlm_start") {
      execs.set(record.exec_id, { start: record, resumed: 0, calls: [], results: new Map(), complete: null });
    } else if (record.record === "rlm_resume" && exec) exec.resumed++;
    else if (record.record === "rlm_tool_call") exec?.calls.push(record);
    else if (record.record === "rlm_tool_result") exec?.results.set(record.call_id, record);
    else if (record.record === "rlm_complete" && exec) exec.complete = record;
  }
  return [...execs.values()].map(describeExec);
}

function describeExec({ start, resumed, calls, results, complete }: Gathered): ExecDescription {
  const described = calls.map((call) => describeCall(call, results.get(call.call_id)));
  const sum = (of: (call: CallDescription) => number) => described.reduce((total, call) => total + of(call), 0);
  return {
    exec_id: start.exec_id,
    kind: start.kind,
    input: firstLine(start),
    status: complete ? (complete.success ? "ok" : "failed") : "unfinished",
    error_code: complete?.error_code ?? null,
    began_at: start.at,
    time_ms: complete?.time_ms ?? null,
    resumed,
    tokens: sum(({ tokens }) => tokens),
    cost_usd: sum(({ cost_usd }) => cost_usd),
    calls: described,
    rest: start.rest.map(({ name }) => name),
  };
}

function describeCall({ call_id, name }: ToolCall, result: ToolResult | undefined): CallDescription {
  const { usage, attempts } = result ?? {};
  return {
    call_id,
    name,
    model: result?.model ?? "",
    status: result ? (result.success ? "ok" : "failed") : "pending",
    error_code: result && !result.success ? field(result.value, "code") : null,
    tokens: usage ? usage.input + usage.output + usage.cache_read + usage.cache_write : 0,
    cost_usd: usage?.cost_usd ?? 0,
    cached: result?.cached ?? false,
    refused: result?.refused ?? false,
    attempts: attempts?.length ?? 0,
  };
}

/** Of a cell its code, of a question its text, of a load its path or name. */
function firstLine({ kind, input, cell }: Start): string {
  const asked = kind === "cell" ? (cell ?? input) : input;
  const text =
    typeof asked === "string" ? asked : PLACES.map((key) => field(asked, key)).find((found) => found !== null);
  return (text ?? JSON.stringify(asked)).trimStart().split("\n", 1)[0] ?? "";
}

/** What names the input of kinds whose input is an object. */
const PLACES = ["path", "name", "prompt"];

function field(value: Json, key: string): string | null {
  const found: unknown = typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined;
  return typeof found === "string" ? found : null;
}
