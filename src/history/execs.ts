import * as v from "valibot";
import { NO_USAGE, tokensOf } from "../models/index.ts";
import { cellFiles, EMPTY_ACCOUNT, firstLineOf, follow } from "../session/journal/account.ts";
import { describeAsk, describeTurn } from "../session/journal/ask-records.ts";
import { toldCoverage } from "../session/journal/coverage.ts";
import { withFiles } from "../session/journal/envelope.ts";
import { begun, type ExecRecords, grown } from "../session/journal/exec-records.ts";
import { type Complete, readRecord, type ToolCall, type ToolResult } from "../session/journal/records.ts";
import type { StoredRecord } from "../store/index.ts";
import type { CallDescription, ExecDescription, ResumeDescription } from "./api.ts";

interface Gathered {
  records: ExecRecords;
  readonly resumes: ResumeDescription[];
  /** When resumes sent calls again, by the calls' ids: ms since the epoch. */
  readonly resent: Map<string, readonly number[]>;
  /** The files that cells were from when it ended, by the cells' numbers. */
  files: ReadonlyMap<number, string>;
}

/** The execs that a journal tells of, in its order. */
export function describeExecs(records: readonly StoredRecord[]): ExecDescription[] {
  const execs = new Map<string, Gathered>();
  let account = EMPTY_ACCOUNT;
  let before = 0;
  let takeover: { readonly since: number; readonly execs: Set<string> } | null = null;
  for (const stored of records) {
    const record = readRecord(stored);
    account = follow(account, record);
    if (record.record !== "rlm_resume") takeover = null;
    // A process that takes an ask over resumes the cell in it too, in the same gap.
    else if (!takeover || takeover.execs.has(record.exec_id)) takeover = { since: before, execs: new Set() };
    takeover?.execs.add(record.exec_id);
    const since = takeover?.since ?? before;
    before = record.at;
    if (record.record === "rlm_start") {
      execs.set(record.exec_id, { records: begun(record), resumes: [], resent: new Map(), files: new Map() });
      continue;
    }
    const exec = execs.get(record.exec_id);
    if (!exec) continue;
    exec.records = grown(exec.records, record);
    if (record.record === "rlm_complete") exec.files = cellFiles(account);
    if (record.record !== "rlm_resume") continue;
    const { at, checkpoint_id, replayed, resent, failed } = record;
    const gap_ms = Math.max(0, at - since);
    exec.resumes.push({ at, gap_ms, checkpoint_id, replayed, resent: resent.length, failed: failed.length });
    for (const id of resent) exec.resent.set(id, [...(exec.resent.get(id) ?? []), at]);
  }
  return inTree(
    [...execs.values()].map((exec, index) => ({ ask: exec.records.start.ask, exec: describeExec(exec, index + 1) })),
  );
}

function describeExec({ records, resumes, resent, files }: Gathered, number: number): ExecDescription {
  const { start, calls, results, complete } = records;
  const answered = new Map(results.map((result) => [result.call_id, result]));
  const described = calls.map((call, index) =>
    describeCall(call, index + 1, answered.get(call.call_id) ?? null, resent.get(call.call_id)),
  );
  const { kind, input, cell, rest, exec_id, at, name } = start;
  const { output, warnings } = complete?.state ?? { output: { stdout: "", stderr: "" }, warnings: [] };
  return {
    exec_id,
    number,
    kind,
    parent: null,
    input: firstLineOf(start),
    source: kind === "cell" ? (cell ?? input) : input,
    file: name ?? null,
    status: complete ? (complete.success ? "ok" : "failed") : "unfinished",
    error_code: complete?.error_code ?? null,
    began_at: at,
    ended_at: complete?.at ?? null,
    time_ms: complete?.time_ms ?? null,
    resumed: resumes.length,
    resumes,
    tokens: sum(described, ({ tokens }) => tokens),
    cost_usd: sum(described, ({ cost_usd }) => cost_usd),
    calls: described,
    stdout: output.stdout,
    stderr: output.stderr,
    warnings,
    result_json: complete?.end?.kind === "ok" ? JSON.parse(complete.end.result) : null,
    error: complete && !complete.success ? whyFailed(complete, files) : null,
    rest: rest.map((cell) => cell.name),
    checkpoint_id: complete?.checkpoint_id ?? null,
    coverage: toldCoverage(complete?.coverage),
    ask: kind === "ask" ? describeAsk(start, complete) : null,
    turn: kind === "turn" ? describeTurn(start, results[0] ?? null) : null,
  };
}

/** The execs with those above them. An ask counts what its turns and cells took. */
function inTree(
  told: readonly { readonly exec: ExecDescription; readonly ask: string | undefined }[],
): ExecDescription[] {
  const asks = new Map(told.flatMap(({ exec }) => (exec.ask ? [[exec.exec_id, exec.number] as const] : [])));
  let turn: number | null = null;
  const execs = told.map(({ exec, ask }) => {
    const above = ask === undefined ? undefined : asks.get(ask);
    if (above === undefined) return exec;
    if (exec.turn) turn = exec.number;
    return { ...exec, parent: exec.turn ? above : (turn ?? above) };
  });
  const parts = Map.groupBy(told, ({ ask }) => ask);
  return execs.map((exec) => {
    if (!exec.ask) return exec;
    const own = (parts.get(exec.exec_id) ?? []).map((part) => part.exec);
    return {
      ...exec,
      time_ms: exec.time_ms === null ? null : sum(own, ({ time_ms }) => time_ms ?? 0),
      tokens: sum(own, ({ tokens }) => tokens),
      cost_usd: sum(own, ({ cost_usd }) => cost_usd),
    };
  });
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}

function whyFailed({ end, error_code, error_message }: Complete, files: Gathered["files"]): string {
  if (end?.kind === "error") return withFiles(end.error.traceback, files);
  return error_message ?? error_code ?? "failed";
}

/** @param resent when resumes sent it again, as far as the journal tells: ms since the epoch */
function describeCall(
  call: ToolCall,
  number: number,
  result: ToolResult | null,
  resent: readonly number[] = [],
): CallDescription {
  const { call_id, name, args, at } = call;
  const [prompt] = args;
  const { usage = NO_USAGE, attempts = [] } = result ?? {};
  return {
    call_id,
    number,
    name,
    batch: v.parse(Batch, args[2]).id,
    prompt: typeof prompt === "string" ? prompt : null,
    args,
    sampling: call.sampling ?? null,
    effects: call.effects ?? null,
    model: result?.model ?? "",
    status: result ? (result.success ? "ok" : "failed") : "pending",
    error_code: result && !result.success ? v.parse(Failure, result.value).code : null,
    answer: result?.value ?? null,
    misfit: result?.misfit ?? null,
    ignored: result?.ignored ?? [],
    mended: result?.mended ?? [],
    asked_at: at,
    sent_at: result?.sent_at ?? null,
    ended_at: result?.at ?? null,
    time_ms: result ? Math.max(0, result.at - (result.delivery ? at : (resent.at(-1) ?? at))) : null,
    tokens: tokensOf(usage),
    cost_usd: usage.cost_usd,
    usage,
    cached: result?.cached ?? false,
    ...(result?.reused ? { reused: result.reused } : {}),
    refused: result?.refused ?? false,
    attempts: attempts.length,
    retries: attempts,
    // A call by batch is made anew in each wave, and sent once. A function that must not run twice only waited before.
    resent: result?.delivery || call.effects === "once" ? 0 : resent.length,
    delivery: result?.delivery ?? null,
    turns: result?.turns ?? null,
    child: result?.child ? { ...result.child, description: null } : null,
  };
}

/** The error that a cell got, as its record has it. */
const Failure = v.fallback(v.object({ code: v.nullable(v.string()) }), { code: null });
const Batch = v.fallback(v.object({ id: v.nullable(v.number()) }), { id: null });
