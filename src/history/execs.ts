import * as v from "valibot";
import { NO_USAGE, tokensOf } from "../models/index.ts";
import { agentModelName } from "../platform/agent-commands.ts";
import {
  type AskRecords,
  cellFiles,
  EMPTY_ACCOUNT,
  firstLineOf,
  follow,
  recordsOf,
} from "../session/journal/account.ts";
import { describeAsk, describeTurn } from "../session/journal/ask-records.ts";
import { toldCoverage } from "../session/journal/coverage.ts";
import { withFiles } from "../session/journal/envelope.ts";
import { answeredCalls, type ExecRecords, statusOf, type Takeover } from "../session/journal/exec-records.ts";
import { isSubCall } from "../session/journal/ledger.ts";
import { type Complete, readRecord, type Start, type ToolCall, type ToolResult } from "../session/journal/records.ts";
import type { StoredRecord } from "../store/index.ts";
import type { AgainDescription, CallDescription, ExecDescription, ResumeDescription } from "./api.ts";

/** The execs that a journal tells of, in its order. */
export function describeExecs(records: readonly StoredRecord[]): ExecDescription[] {
  const execs = new Map<string, Known>();
  let account = EMPTY_ACCOUNT;
  for (const stored of records) {
    const record = readRecord(stored);
    account = follow(account, record);
    const exec = recordsOf(account, record.exec_id);
    if (exec) execs.set(record.exec_id, { exec, files: exec.complete ? cellFiles(account) : new Map() });
  }
  return inTree(Array.from(execs.values(), (known, index) => describeExec(known, index + 1)));
}

/** An exec as far as the account of its session knows it. */
interface Known {
  readonly exec: ExecRecords | AskRecords;
  /** The files that cells were from when it ended, by the cells' numbers. */
  readonly files: ReadonlyMap<number, string>;
}

/** A description, with the id of the ask that the exec is a part of. */
interface Described {
  readonly exec: ExecDescription;
  readonly ask: string | undefined;
  readonly again: Start["again"];
}

function describeExec({ exec, files }: Known, number: number): Described {
  const { start, resumes, complete } = exec;
  const calls = "calls" in exec ? answeredCalls(exec) : [];
  const resent = Map.groupBy(
    resumes.flatMap((resume) => resume.resent.map((call_id) => ({ call_id, at: resume.at }))),
    ({ call_id }) => call_id,
  );
  const described = calls.map(({ call, result }, index) =>
    describeCall(
      call,
      index + 1,
      result,
      (resent.get(call.call_id) ?? []).map(({ at }) => at),
    ),
  );
  const { kind, input, cell, rest, exec_id, at, name } = start;
  const { output, warnings } = complete?.state ?? { output: { stdout: "", stderr: "" }, warnings: [] };
  const description: ExecDescription = {
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
    resumes: resumes.map(describeResume),
    tokens: sum(described, ({ tokens }) => tokens),
    cost_usd: sum(described, ({ cost_usd }) => cost_usd),
    calls: described,
    stdout: output.stdout,
    stderr: output.stderr,
    warnings,
    result_json: complete?.end?.kind === "ok" ? JSON.parse(complete.end.result) : null,
    error: complete && !complete.success ? whyFailed(complete, files) : null,
    rest: rest.map((cell) => cell.name),
    again: null,
    checkpoint_id: complete?.checkpoint_id ?? null,
    coverage: toldCoverage(complete?.coverage),
    ask: kind === "ask" ? describeAsk(start, complete) : null,
    // The record of its call may be damaged, and its reply whole.
    turn: kind === "turn" && "results" in exec ? describeTurn(start, exec.results[0] ?? null) : null,
  };
  return { exec: description, ask: start.ask, again: start.again };
}

function describeResume({ at, gap_ms, checkpoint_id, replayed, resent, failed }: Takeover): ResumeDescription {
  return { at, gap_ms, checkpoint_id, replayed, resent: resent.length, failed: failed.length };
}

/** The execs with those above them. An ask counts what its turns and cells took. */
function inTree(told: readonly Described[]): ExecDescription[] {
  const asks = new Map(told.flatMap(({ exec }) => (exec.ask ? [[exec.exec_id, exec.number] as const] : [])));
  let turn: number | null = null;
  const byId = new Map(told.map(({ exec }) => [exec.exec_id, exec]));
  const execs = told.map(({ exec: own, ask, again }) => {
    const exec = again ? { ...own, again: describeAgain(again, byId.get(again.exec_id)) } : own;
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

function describeAgain({ answers }: NonNullable<Start["again"]>, exec: ExecDescription | undefined): AgainDescription {
  const numbers = answers.map(({ call_id }) => exec?.calls.find((call) => call.call_id === call_id)?.number);
  return { exec: exec?.number ?? null, by_hand: numbers.filter((number) => number !== undefined) };
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}

function whyFailed({ end, error_code, error_message }: Complete, files: Known["files"]): string {
  if (end?.kind === "error") return withFiles(end.error.traceback, files);
  return error_message ?? error_code ?? "failed";
}

/** @param resent when resumes sent it again: ms since the epoch */
function describeCall(
  call: ToolCall,
  number: number,
  result: ToolResult | null,
  resent: readonly number[],
): CallDescription {
  const { call_id, name, args, at } = call;
  const [prompt] = args;
  const { usage = NO_USAGE, attempts = [] } = result ?? {};
  const { label, phase, agent, model } = v.parse(Named, isSubCall(name) ? args[1] : null);
  return {
    call_id,
    number,
    name,
    batch: v.parse(Batch, args[2]).id,
    prompt: typeof prompt === "string" ? prompt : null,
    label,
    phase,
    args,
    sampling: call.sampling ?? null,
    effects: call.effects ?? null,
    model: result?.model || (agent === null ? "" : agentModelName(agent, model)),
    status: statusOf(result),
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
    by_hand: result?.by_hand ?? false,
    agent,
    started: false,
    worktrees: result?.worktrees ?? [],
    ...(result?.reused ? { reused: result.reused } : {}),
    refused: result?.refused ?? false,
    attempts: attempts.length,
    retries: attempts,
    // A call by batch is made anew in each wave, and sent once. A function that must not run
    // twice only waited before.
    resent: result?.delivery || call.effects === "once" ? 0 : resent.length,
    delivery: result?.delivery ?? null,
    turns: result?.turns ?? null,
    child: result?.child ? { ...result.child, description: null } : null,
  };
}

/** The error that a cell got, as its record has it. */
const Failure = v.fallback(v.object({ code: v.nullable(v.string()) }), { code: null });
/** Names are short, unless another user has written the store. */
const NAME_UNITS = 200;
const shortName = v.pipe(
  v.string(),
  v.transform((name) => name.slice(0, NAME_UNITS).toWellFormed()),
);
const name = v.fallback(v.nullable(shortName), null);
const Named = v.fallback(v.object({ label: name, phase: name, agent: name, model: name }), {
  label: null,
  phase: null,
  agent: null,
  model: null,
});
const Batch = v.fallback(v.object({ id: v.nullable(v.number()) }), { id: null });
