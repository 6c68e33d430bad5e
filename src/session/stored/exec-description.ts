import type { Json } from "../../../runtime/index.ts";
import type { StoredRecord } from "../../store/index.ts";
import { type AskDescription, describeAsk, describeTurn, type TurnDescription } from "../ask/description.ts";
import { cellFiles, EMPTY_ACCOUNT, firstLineOf, follow } from "../journal/account.ts";
import { type ToldCoverage, toldCoverage } from "../journal/coverage.ts";
import { withFiles } from "../journal/envelope.ts";
import { begun, type ExecRecords, grown } from "../journal/exec-records.ts";
import { type Complete, type ExecKind, readRecord } from "../journal/records.ts";
import { type CallDescription, describeCall } from "./call-description.ts";

/** The journal's facts about one exec. Times are ms since the epoch. */
export interface ExecDescription {
  readonly exec_id: string;
  /** From 1, in the session's whole life. */
  readonly number: number;
  readonly kind: ExecKind;
  /** The number of the exec above it: of a turn its ask, of a cell of an ask the turn that asked for it; null for others. */
  readonly parent: number | null;
  /** First line of the cell, question or path. */
  readonly input: string;
  /** The whole cell or question; of other kinds what the host asked for. */
  readonly source: Json;
  /** The file that the cell is from, or null. */
  readonly file: string | null;
  readonly status: "ok" | "failed" | "unfinished";
  readonly error_code: string | null;
  readonly began_at: number;
  /** null: it is not over. */
  readonly ended_at: number | null;
  /** Wall time, without that in which no process ran it, ms; of an ask that of its turns and cells. null: it is not over. */
  readonly time_ms: number | null;
  /** The number of times that it was continued in a new process, and each time. */
  readonly resumed: number;
  readonly resumes: readonly ResumeDescription[];
  /** Tokens of its calls; for an ask, of its turns and cells. */
  readonly tokens: number;
  readonly cost_usd: number;
  /** The request of a turn is a call of the turn. An ask makes none itself. */
  readonly calls: readonly CallDescription[];
  /** Its output; if it is unfinished, until its newest checkpoint. */
  readonly stdout: string;
  readonly stderr: string;
  readonly warnings: readonly string[];
  readonly result_json: Json;
  /** The traceback, or why an exec failed that ran no cell; null if it did not fail. */
  readonly error: string | null;
  /** Cells that are to be run after it, by name. */
  readonly rest: readonly string[];
  /** The checkpoint of the state after it; null if it left none, or if that is dropped. */
  readonly checkpoint_id: string | null;
  /** The parts of the context that it looked at; null if that is not recorded. */
  readonly coverage: ToldCoverage | null;
  /** Only of an ask. */
  readonly ask: AskDescription | null;
  /** Only of a turn. */
  readonly turn: TurnDescription | null;
  /** Texts that are not whole here, by field: how many characters each has. */
  readonly cut?: Readonly<Record<string, number>>;
}

/** A process that took an exec over. */
export interface ResumeDescription {
  readonly at: number;
  /** Since the last record before it: no process ran the exec, or one that recorded nothing, ms. */
  readonly gap_ms: number;
  /** The checkpoint that it went on from; null: the exec's start. */
  readonly checkpoint_id: string | null;
  /** Recorded answers that were given again, calls that were sent again, and calls that were let fail. */
  readonly replayed: number;
  readonly resent: number;
  readonly failed: number;
}

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
