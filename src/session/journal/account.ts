import * as v from "valibot";
import { LIMITS } from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import { tokensOf } from "../../models/index.ts";
import { givenAfter } from "./coverage.ts";
import { begun, callIn, changesBy, type ExecRecords, grown } from "./exec-records.ts";
import { isSubCall, type Question, questionAfter, spend, subCallsOf } from "./ledger.ts";
import {
  type CallKey,
  type Complete,
  contextKeyIn,
  EMPTY_LEDGER,
  type JournalRecord,
  type Ledger,
  type SessionFacts,
  type Start,
  type ToolCall,
  type ToolResult,
} from "./records.ts";
import { NOTHING_REUSABLE, type ReusableAnswers, reusableFor } from "./reused-answers.ts";

/**
 * The facts that a session's journal has about it: a fold over its records. A running session and one that is opened again
 * use the same fold.
 */
export interface Account {
  readonly ledger: Ledger;
  /** The newest question, with its own spending; null: the newest exec spends the session's budget alone. */
  readonly question: Question | null;
  /** The state that the next exec starts from; null: a fresh guest without a context. */
  readonly checkpoint: string | null;
  /** Checkpoints of the newest ends, which are to be thinned one day, the oldest first. */
  readonly ends: readonly string[];
  /** SHA-256 of P, and the key of the context in the store. */
  readonly context_hash: string | null;
  readonly context_key: string | null;
  readonly helpers_hash: string | null;
  /** The load and the appends that made the context. */
  readonly loads: readonly Start[];
  /** True until an envelope after the newest load or append has told what that left out. */
  readonly untold: boolean;
  /** Cells run since the last load: the next is `<cell N + 1>`. */
  readonly cells: number;
  /** The newest of them. */
  readonly sources: readonly CellSource[];
  /** Packed ranges of P that cells were given since the last load. */
  readonly given: readonly string[];
  /** The newest exec, whether it has ended or not. */
  readonly last: ExecRecords | null;
  /** The newest calls that have keys, the oldest first. */
  readonly keyed: readonly KeyedExec[];
  /** Answers that the newest exec takes over. */
  readonly reusable: ReusableAnswers;
  /** The newest ask, whether it has ended or not. `last` is never the ask itself. */
  readonly ask: AskRecords | null;
  /** The newest record. */
  readonly newest: Newest;
  readonly totals: Totals;
}

/** Counted over the session's whole life. */
export type Totals = Pick<SessionFacts, "execs" | "sub_calls" | "tokens" | "cost_usd" | Untold | "reused">;
type Untold = "estimated" | "estimated_usd";

/** When the newest record was written, ms since the epoch, and what was there before the resumes that are the newest. */
interface Newest {
  readonly at: number;
  /** The time of the last record before these resumes. */
  readonly before: number;
  /** The execs that they resume. */
  readonly resumed: readonly string[];
}

/** The newest ends stay, and every tenth of those before them. */
const ENDS_KEPT = 50;
const EVERY = 10;

/** The ends that nothing needs once there is one more: nine at every tenth end. */
export function oldEnds({ ends }: Pick<Account, "ends">): readonly string[] {
  return ends.length + 1 === ENDS_KEPT + EVERY ? ends.slice(0, EVERY - 1) : [];
}

interface CellSource {
  readonly number: number;
  readonly source: string;
  /** The file that it is from. */
  readonly name?: string;
}

/** The records of an ask: those of its turns and cells lie between its own two. */
export interface AskRecords extends Pick<ExecRecords, "start" | "resumes" | "complete"> {
  /** Turns and cells that have ended, in journal order. */
  readonly execs: readonly ExecRecords[];
}

export const EMPTY_ACCOUNT: Account = {
  ledger: EMPTY_LEDGER,
  question: null,
  checkpoint: null,
  ends: [],
  context_hash: null,
  context_key: null,
  helpers_hash: null,
  loads: [],
  untold: false,
  cells: 0,
  sources: [],
  given: [],
  last: null,
  keyed: [],
  reusable: NOTHING_REUSABLE,
  ask: null,
  newest: { at: 0, before: 0, resumed: [] },
  totals: { execs: 0, sub_calls: 0, tokens: 0, cost_usd: 0 },
};

/** Tracebacks name older cells too, without their columns. */
const SOURCES_KEPT = 200;

/** The account after one more record. */
export function follow(before: Account, record: JournalRecord): Account {
  const { ask, last, totals } = before;
  const call = record.record === "rlm_tool_result" ? callIn(last, record.call_id) : undefined;
  const ledger = spend(before.ledger, record, call);
  const question = questionAfter(before.question, record, call);
  const newest = newestAfter(before.newest, record);
  const gap_ms = Math.max(0, record.at - newest.before);
  const account = { ...before, ledger, question, newest, keyed: keyedAfter(before.keyed, record) };
  if (record.record === "rlm_start" && record.kind === "ask") {
    return { ...account, ask: { start: record, execs: [], resumes: [], complete: null } };
  }
  if (ask && record.exec_id === ask.start.exec_id) {
    return {
      ...account,
      untold: account.untold && record.record !== "rlm_complete",
      ask: { ...ask, ...changesBy(record, ask, gap_ms) },
    };
  }
  if (record.record === "rlm_start") {
    const reusable = reusableFor(record, last, account.reusable);
    return { ...account, last: begun(record), reusable, totals: { ...totals, execs: totals.execs + 1 } };
  }
  // The start of another exec may be damaged: its records belong to none that is known.
  if (last?.start.exec_id !== record.exec_id) return account;
  const now = { ...account, last: grown(last, record, gap_ms) };
  switch (record.record) {
    case "rlm_resume":
    case "rlm_suspend":
    case "rlm_run":
      return now;
    case "rlm_tool_call":
      return { ...now, totals: { ...totals, sub_calls: totals.sub_calls + madeBy(record) } };
    case "rlm_tool_result": {
      const sub_calls = totals.sub_calls - madeBy(record) + subCallsOf(record);
      const tokens = totals.tokens + tokensOf(record.usage);
      const cost_usd = totals.cost_usd + record.usage.cost_usd;
      const others = { ...untoldAfter(totals, record), ...reusedAfter(totals, record) };
      return { ...now, totals: { ...totals, sub_calls, tokens, cost_usd, ...others } };
    }
    case "rlm_complete": {
      const isOfAsk = ask && last.start.ask === ask.start.exec_id;
      const ended = isOfAsk ? { ...now, ask: { ...ask, execs: [...ask.execs, now.last] } } : now;
      return over(ended, last.start, record);
    }
  }
}

function newestAfter({ at, before, resumed }: Newest, { record, at: now, exec_id }: JournalRecord): Newest {
  if (record !== "rlm_resume") return { at: now, before: now, resumed: [] };
  // A process that takes an ask over resumes the cell in it too, in the same gap.
  const isSame = resumed.length > 0 && !resumed.includes(exec_id);
  return isSame ? { at: now, before, resumed: [...resumed, exec_id] } : { at: now, before: at, resumed: [exec_id] };
}

function untoldAfter({ estimated = 0, estimated_usd = 0 }: Totals, { usage }: ToolResult): Pick<Totals, Untold> {
  const tokens = estimated + (usage.estimated ?? 0);
  const usd = estimated_usd + (usage.estimated_usd ?? 0);
  return { ...(tokens > 0 ? { estimated: tokens } : {}), ...(usd > 0 ? { estimated_usd: usd } : {}) };
}

function reusedAfter({ reused }: Account["totals"], record: ToolResult): Pick<SessionFacts, "reused"> {
  if (!record.reused) return {};
  const { answers, tokens, cost_usd } = reused ?? { answers: 0, tokens: 0, cost_usd: 0 };
  const taken = record.reused;
  return { reused: { answers: answers + 1, tokens: tokens + taken.tokens, cost_usd: cost_usd + taken.cost_usd } };
}

/** An exec with the call that began it, or continued it. */
export interface KeyedExec extends CallKey {
  readonly exec_id: string;
}

function keyedAfter(keyed: Account["keyed"], record: JournalRecord): Account["keyed"] {
  const call = record.record === "rlm_start" || record.record === "rlm_resume" ? record.call : undefined;
  return call ? [...keyed, { ...call, exec_id: record.exec_id }].slice(-LIMITS.callKeys) : keyed;
}

/** Sub-calls that a call counts as in the totals while it is open: without those that the ledger allots to its child. */
const madeBy = ({ name }: ToolCall | ToolResult) => (isSubCall(name) ? 1 : 0);

function over(before: Account, start: Start, { checkpoint_id: made, ...complete }: Complete): Account {
  const checkpoint = made ?? before.checkpoint;
  const ends = [...before.ends.slice(oldEnds(before).length > 0 ? EVERY : 0), made ?? ""];
  const account = made ? { ...before, ends, helpers_hash: complete.helpers_hash } : before;
  const context = { context_hash: complete.context_hash, context_key: contextKeyIn(complete) };
  switch (start.kind) {
    case "load":
      if (!complete.success) return account;
      return { ...account, checkpoint, ...context, loads: [start], untold: true, cells: 0, sources: [], given: [] };
    case "append":
      if (!complete.success) return account;
      return { ...account, checkpoint, ...context, loads: [...account.loads, start], untold: true };
    case "cell": {
      const cells = account.cells + 1;
      const { cell, name } = start;
      const source = { number: cells, source: cell ?? "", ...(name === undefined ? {} : { name }) };
      const sources = [...account.sources, source].slice(-SOURCES_KEPT);
      const untold = account.untold && start.ask !== undefined;
      return { ...account, checkpoint, untold, cells, sources, given: givenAfter(account.given, complete.coverage) };
    }
    case "query":
      return { ...account, checkpoint, untold: false };
    default:
      return { ...account, checkpoint };
  }
}

/** The records of the newest exec or ask, if it is this one. */
export function recordsOf({ last, ask }: Account, exec_id: string): ExecRecords | AskRecords | null {
  if (ask?.start.exec_id === exec_id) return ask;
  return last?.start.exec_id === exec_id ? last : null;
}

/** The exec that has begun and not ended, or null. */
export function interruptedIn({ last }: Account): ExecRecords | null {
  return last && !last.complete ? last : null;
}

/** The ask that has begun and not ended, or null. */
export function openAskIn({ ask }: Account): AskRecords | null {
  return ask && !ask.complete ? ask : null;
}

/** The files that cells are from, by the cells' numbers. */
export function cellFiles({ sources, last, cells }: Account): ReadonlyMap<number, string> {
  const files = sources.flatMap(({ number, name }) => (name === undefined ? [] : [[number, name] as const]));
  const open = last && !last.complete && last.start.kind === "cell" ? last.start.name : undefined;
  return new Map(open === undefined ? files : [...files, [cells + 1, open]]);
}

/** The facts of the session after these records. They need no list of calls. */
export function factsAfter(account: Account, records: readonly JournalRecord[], context: SessionFacts["context"]) {
  const { last: exec } = account;
  const last = exec && { ...begun(exec.start), complete: exec.complete, suspended: exec.suspended };
  return factsOf(records.reduce(follow, { ...account, last }), context);
}

export function factsOf({ totals, last, ask }: Account, context: SessionFacts["context"]): SessionFacts {
  return {
    status: (last && !last.complete) || (ask && !ask.complete) ? "running" : "idle",
    ...totals,
    context,
    ...waitsOf(last),
    last: last && {
      exec_id: last.start.exec_id,
      kind: last.start.kind,
      input: firstLineOf(last.start).slice(0, INPUT_UNITS),
    },
  };
}

const INPUT_UNITS = 200;
/** UTF-16 units of a message in a session's row: a program may have written it. */
const MESSAGE_UNITS = 1000;

function waitsOf(last: ExecRecords | null): Pick<SessionFacts, "waits_for"> {
  const waits_for = last?.complete ? undefined : last?.suspended?.waits_for;
  if (!waits_for) return {};
  return { waits_for: { ...waits_for, message: waits_for.message.slice(0, MESSAGE_UNITS).toWellFormed() } };
}

/** The first line of a cell's code or of a question; a load's path or name. */
export function firstLineOf({ kind, input, cell, workflow }: Start): string {
  const asked = kind === "cell" ? (cell ?? input) : input;
  // The script of a workflow begins in the line of its description.
  if (workflow !== undefined && typeof asked === "string") return /^\/\* (.*?) \*\//.exec(asked)?.[1] ?? "workflow";
  if (typeof asked === "string") return firstLine(asked);
  const { path, name, prompt, question, turn } = v.parse(Named, asked);
  if (kind === "turn") return `turn ${turn}`;
  return firstLine(path ?? name ?? prompt ?? question ?? JSON.stringify(asked));
}

const firstLine = (text: string) => text.trimStart().split(/\r?\n/, 1)[0] ?? "";

/** The name in the input of kinds whose input is an object. */
const name = v.fallback(v.optional(v.string()), undefined);
const Named = v.fallback(
  v.object({ path: name, name, prompt: name, question: name, turn: v.optional(v.number()) }),
  {},
);

/** The state from which an exec starts, and the state that it leaves. */
export interface SessionState {
  /** The account of the journal, up to the last commit. */
  readonly account: Account;
  readonly context: Context | null;
}

/** The place at which a machine opens: a session's state between execs. */
export interface Position {
  /** The checkpoint of an exec's end; `null` for a fresh guest. */
  readonly checkpoint: string | null;
  readonly context: Context | null;
  readonly sources: readonly CellSource[];
  /** Packed ranges of the context that its cells were given. */
  readonly given: readonly string[];
}

/** The position at which the machine of the next exec opens. */
export function positionOf({ account, context }: SessionState): Position {
  return { checkpoint: account.checkpoint, context, sources: account.sources, given: account.given };
}
