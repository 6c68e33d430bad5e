import { hash } from "node:crypto";
import * as v from "valibot";
import type { FunctionFacts } from "../../../builtins/index.ts";
import type { CellEnd, ExecLimits, ExecState, Json, Sampling, Thinking } from "../../../runtime/index.ts";
import type { BudgetLimit, SubCallTurn, ToolOverrideEvent, Usage } from "../../models/index.ts";
import { isRecord } from "../../platform/json.ts";
import type { Store } from "../../store/index.ts";
import type { Coverage } from "./coverage.ts";

/**
 * The kind of an exec. Every change of a session is an exec of one of these kinds. A `turn` is a request to the root model of
 * an ask. The `ask` itself runs nothing: its records enclose those of its turns and cells.
 */
export type ExecKind = (typeof EXEC_KINDS)[number];

export const EXEC_KINDS = ["cell", "query", "load", "append", "helpers", "memory", "ask", "turn"] as const;

/** The ordered records of a session. Field names are those of the checkpointing spec. */
export type JournalRecord = Start | Resume | Suspend | ToolCall | FunctionRun | ToolResult | Complete;

export interface Start {
  readonly record: "rlm_start";
  readonly exec_id: string;
  readonly kind: ExecKind;
  /** The cell's source, or what the host asked for. */
  readonly input: Json;
  /** The code that runs: the cell, or that of a query. */
  readonly cell: string | null;
  /** The file that the cell is from, if it is from one. */
  readonly name?: string;
  readonly limits: Partial<ExecLimits>;
  /** SHA-256 of the helpers that run before the cell, hex. */
  readonly helpers_hash: string | null;
  /** The exec_id of the ask whose turn or cell this is; absent for all other execs. */
  readonly ask?: string;
  /** The call of a tool that began it, if its host gave it a key. Absent: it gave none. */
  readonly call?: CallKey;
  /** The question that the exec belongs to. Absent: it spends the session's budget alone, or that of its ask. */
  readonly question?: QuestionRecord;
  /** SHA-256 of the conversation that the cell reads as `history`, hex; absent if there is none. */
  readonly history_hash?: string;
  /** The mark of a workflow of the user's, signed if there was a key: only its calls may ask agents. Absent: it is none. */
  readonly workflow?: Json;
  /** Present if it runs the cell of another exec again, in a fork: its calls take over that exec's answers. */
  readonly again?: AgainRecord;
  /** Cells that are to be run after this one, if it succeeds. */
  readonly rest: readonly CellFile[];
  /** ms since the epoch. */
  readonly at: number;
}

/** The exec whose cell runs again, and the answers that a person gave to calls of it. */
interface AgainRecord {
  readonly exec_id: string;
  readonly answers: readonly { readonly call_id: string; readonly value: Json }[];
}

/** The key that the host of a tool gave to a call, so that it can be made again. */
export interface CallKey {
  readonly key: string;
  /** SHA-256 of the tool's name and the arguments, hex: the key names one call. */
  readonly sum: string;
}

/** A question of a person, with a budget of its own. Execs in a row that name the same one share its budget. */
interface QuestionRecord {
  readonly id: string;
  /** Limits of its caller for it alone. They only lower those of the session. */
  readonly budget?: Partial<BudgetLimits>;
}

/** A cell that has not run yet, and its name in messages. */
export interface CellFile {
  readonly name: string;
  readonly source: string;
}

/** Another process has taken the exec over. */
export interface Resume {
  readonly record: "rlm_resume";
  readonly exec_id: string;
  /** The checkpoint from which it continues; null: the exec's start. */
  readonly checkpoint_id: string | null;
  /** Recorded results that it is given again. */
  readonly replayed: number;
  /** Ids of calls in flight when the process ended, which are sent again. */
  readonly resent: readonly string[];
  /** Ids of such calls that are answered with `process_restarted`. */
  readonly failed: readonly string[];
  /** The call that continued it, if its host gave it a key. */
  readonly call?: CallKey;
  readonly at: number;
}

/**
 * A graceful stop of the exec has left calls of functions with the effects `once` that still run, or the exec waits for its user.
 * Written as the last thing of the process.
 */
export interface Suspend {
  readonly record: "rlm_suspend";
  readonly exec_id: string;
  /** Ids of the calls that still ran when the stop had waited for them: their effects are unknown. */
  readonly still_running: readonly string[];
  /** Time for which the stop has waited for them, ms. */
  readonly waited_ms: number;
  /** Present if calls wait for a person to act, such as for a larger budget. */
  readonly waits_for?: WaitsFor;
  readonly at: number;
}

/** The failure that calls of a suspended exec wait out. It holds until another process continues the exec. */
export interface WaitsFor extends EndedBy {
  readonly suggestion: string;
  /** When the limit of an account ends, ms since the epoch. Absent: it is not known, or nothing of the kind is waited for. */
  readonly retry_at?: number;
}

/** Written before the call is sent, together with the checkpoint that waits for it. */
export interface ToolCall {
  readonly record: "rlm_tool_call";
  readonly exec_id: string;
  readonly call_id: string;
  /** Its state has what was printed so far. null for the request of a turn, which changes no guest. */
  readonly checkpoint_id: string | null;
  readonly name: string;
  readonly args: readonly Json[];
  /** SHA-256 of the arguments' JSON, hex. */
  readonly args_hash: string;
  /** The number of sub-calls that it counts as until its result: itself, and those allotted to its child. Absent: 1. */
  readonly counts?: number;
  /** The level of thinking, if the call names none itself. Absent: off. */
  readonly thinking?: Thinking;
  /** Parameters for what the call does not name itself. Absent: the provider's own. */
  readonly sampling?: Sampling;
  /** Those of a function of the program. A call with `once` is run by one process alone: its `rlm_run` says that it was. */
  readonly effects?: FunctionFacts["effects"];
  /** Calls that the exec has made, this one included. */
  readonly call_count: number;
  /** Bytes printed so far. */
  readonly output_bytes: number;
  readonly at: number;
}

/**
 * A call of a function with the effects `once` has begun: its argument fits, the program has approved it, and it has a place.
 * Written before the function runs. A call without it has not run, and the process that resumes makes it. Agents have it too, if
 * another computer can resume the exec.
 */
interface FunctionRun {
  readonly record: "rlm_run";
  readonly exec_id: string;
  readonly call_id: string;
  /** Present if the call is one of an agent, whose outbox is not in the store's folder. */
  readonly agent?: AgentPlace;
  readonly at: number;
}

/** The place of an agent's outbox. */
export interface AgentPlace {
  /** Name of the computer. */
  readonly host: string;
  /** SHA-256 of the path of the outboxes' folder there, the first 16 hex digits. */
  readonly outbox: string;
}

/** Written before the guest sees the answer. */
export interface ToolResult {
  readonly record: "rlm_tool_result";
  readonly exec_id: string;
  readonly call_id: string;
  readonly name: string;
  readonly success: boolean;
  /** The answer, or the error that the guest sees. */
  readonly value: Json;
  /** If the call has a child, this is all that the child and its own children have spent, whatever became of it. */
  readonly usage: Usage;
  /** Absent if no child was made. */
  readonly child?: ChildRecord;
  /** Requests that failed and were sent again. */
  readonly attempts: readonly Attempt[];
  /** `provider/id`: the model that was asked, or whose answer was known, or that was refused; empty if none is known. */
  readonly model: string;
  /** Refused by policy, or because no price is known: nothing was sent, and it does not count as a sub-call. */
  readonly refused: boolean;
  /** The answer came from the cache: nothing was sent, and it does not count as a sub-call. */
  readonly cached: boolean;
  /** Present if it is the answer that an earlier run got; `cached` is true then. */
  readonly reused?: ReusedRecord;
  /** A person gave the answer, with a fork; `cached` is true then. */
  readonly by_hand?: true;
  /** The limit of the budget that had no room for it. Absent: none was met. */
  readonly limit_met?: BudgetLimit;
  readonly tool_override_event: ToolOverrideEvent | null;
  /** Fields of a function's result that are texts, since JavaScript would round their numbers. Absent if there are none. */
  readonly as_text?: readonly string[];
  /** Folders of worktrees in which its agent has changed something. Absent: there are none. */
  readonly worktrees?: readonly string[];
  /** When the first request left, ms since the epoch; absent if none did. */
  readonly sent_at?: number;
  /** Absent if its requests were sent at once. */
  readonly delivery?: DeliveryRecord;
  /**
   * The first 50 replies of a sub-agent, with at most 20 names of tools each, of 64 characters. Absent for a plain call that
   * one reply answered.
   */
  readonly turns?: readonly SubCallTurn[];
  /** The last answer, whole, if it did not fit the schema of the call; absent if it did. */
  readonly misfit?: string;
  /** Names of parameters that its model does not take: it was asked without them. Absent: it was asked with all. */
  readonly ignored?: readonly string[];
  /** Kinds of what was put right in its replies, such as `punctuation`. Absent: nothing was. */
  readonly mended?: readonly string[];
  /** Wall time of the exec so far, without the time in which no process ran it, ms. */
  readonly elapsed_ms: number;
  readonly at: number;
}

/** The earlier run whose answer a call took over, and what that answer took. */
export interface ReusedRecord {
  /** Name of the run, or its id if it was dropped. */
  readonly from: string;
  readonly tokens: number;
  readonly cost_usd: number;
}

/** The provider's batch that answered the last request of a call. */
export interface DeliveryRecord {
  readonly by: "batch";
  /** The provider's name of it. */
  readonly batch: string;
  /** From its create until its answer was taken, ms. */
  readonly waited_ms: number;
}

/** The child session that answered a call with a context of its own. */
export interface ChildRecord {
  /** Its id. */
  readonly session: string;
  /** Those of the child and of all below it. */
  readonly sub_calls: number;
  /** Turns of its root model. */
  readonly turns: number;
  /** Depth of the deepest session below the call, the child included: from 1. */
  readonly depth_reached: number;
  /** Limits of the whole tree that the child met: tokens and dollars. Absent: none. */
  readonly limits_met?: readonly AskLimit[];
}

/** A limit that an ask can meet: of its budget, or of its turns. */
export type AskLimit = BudgetLimit | "turns";

export interface Attempt {
  readonly code: string;
  /** Time before the next one, ms. */
  readonly waited_ms: number;
}

export interface Complete {
  readonly record: "rlm_complete";
  readonly exec_id: string;
  readonly kind: ExecKind;
  readonly success: boolean;
  readonly error_code: string | null;
  /** Why an exec failed that ran no cell. */
  readonly error_message: string | null;
  /** The end of the cell, its result or error; null for kinds that run none. */
  readonly end: CellEnd | null;
  /** The state that the exec gathered: output, warnings, counts; null for kinds that run no cell. */
  readonly state: ExecState | null;
  readonly events: readonly ToolOverrideEvent[];
  /** Calls made. */
  readonly call_count: number;
  /** Wall time of the exec, ms: what the budget counts. */
  readonly time_ms: number;
  readonly resumed: number;
  readonly replayed_sub_calls: number;
  /** The session's state after the exec; null if the exec did not change it. */
  readonly checkpoint_id: string | null;
  /** SHA-256 of the helpers in that state, hex. */
  readonly helpers_hash: string | null;
  /** Hash of the context's P after the exec. */
  readonly context_hash: string | null;
  /** The key under which the store has that context. Absent: the hash is the key. */
  readonly context_key?: string | null;
  /**
   * The ranges of the context that a cell looked at; absent without a context, and for kinds that run no cell.
   */
  readonly coverage?: Coverage;
  /** The answer of an ask; absent for other kinds, and for an ask that failed. */
  readonly answer?: Json;
  /** The limits that an ask met. Absent: it met none. */
  readonly limits_met?: readonly AskLimit[];
  /** The cause of an ask's cancellation, such as the time of its call; absent if there was none. */
  readonly ended_by?: EndedBy;
  readonly at: number;
}

/** A failure by its code. */
export interface EndedBy {
  readonly code: string;
  readonly message: string;
}

/** The record of an exec that ran a cell: all that its envelope is made of. */
export type CellComplete = Complete & { readonly end: CellEnd; readonly state: ExecState };

/** Facts of a session in lists: of its whole life, not since the last load. */
export interface SessionFacts {
  /** `running`: an exec has started and not ended; if no process holds the session, the exec is unfinished. */
  readonly status: "idle" | "running";
  readonly execs: number;
  readonly sub_calls: number;
  readonly tokens: number;
  readonly cost_usd: number;
  /** Tokens and USD that nobody told, parts of these. Absent: all were told. */
  readonly estimated?: number;
  readonly estimated_usd?: number;
  /** Answers of earlier runs that its calls reused, and what these cost there. Absent: none. */
  readonly reused?: { readonly answers: number; readonly tokens: number; readonly cost_usd: number };
  readonly context: { readonly hash: string; readonly sources: readonly string[]; readonly chars: number } | null;
  /** The failure that calls of the unfinished exec wait out. Absent if they wait for nothing, or a process runs it. */
  readonly waits_for?: WaitsFor;
  /** The newest exec: `input` is the first line of what was asked. */
  readonly last: { readonly exec_id: string; readonly kind: ExecKind; readonly input: string } | null;
}

/** Data that a checkpoint of an exec's end keeps beside its image: enough to continue if the image cannot be read. */
export interface EndExtras {
  readonly kind: "end";
  readonly memory: { readonly [key: string]: Json };
  readonly helpers: readonly { readonly name: string; readonly code: string }[];
  readonly context_hash: string | null;
  readonly ledger: Ledger;
  /** Cells run since the last load. */
  readonly cells: number;
}

/** Data that a checkpoint of an exec that waits for calls keeps beside its image. */
export interface StepExtras {
  readonly kind: "step";
  readonly state: ExecState;
  /** Ids of the calls that the guest waits for. */
  readonly waiting: readonly string[];
  /** Wall time of the exec so far, ms. */
  readonly elapsed_ms: number;
}

const KeptEnd = v.fallback(v.custom<Partial<EndExtras>>(isRecord), {});
const KeptStep = v.fallback(v.custom<Partial<StepExtras>>(isRecord), {});
/** The store has checked the form of its records. */
const OwnRecord = v.custom<JournalRecord>(isRecord);

/** Reads them as the store gives them back, verified. A missing field becomes empty. */
export function readEndExtras(extras: Json): EndExtras {
  const kept = v.parse(KeptEnd, extras);
  return {
    kind: "end",
    memory: kept.memory ?? {},
    helpers: kept.helpers ?? [],
    context_hash: kept.context_hash ?? null,
    ledger: kept.ledger ?? EMPTY_LEDGER,
    cells: kept.cells ?? 0,
  };
}

/** Reads them as the store gives them back. @throws Error if the state is missing */
export function readStepExtras(extras: Json): StepExtras {
  const { state, waiting = [], elapsed_ms = 0 } = v.parse(KeptStep, extras);
  if (!state) throw new Error("a step was kept without its state");
  return { kind: "step", state, waiting, elapsed_ms };
}

/** The key of the context after an exec. */
export function contextKeyIn(at: { context_key?: string | null | undefined; context_hash: string | null }) {
  return at.context_key ?? at.context_hash;
}

/** A record as the store gives it back: written by this module's types, and verified by its checksum and its form. */
export function readRecord(record: { readonly record: string }): JournalRecord {
  return v.parse(OwnRecord, record);
}

/** The records of a session, or those from this number on. */
export async function readJournal(store: Pick<Store, "journal">, id: string, from?: number): Promise<JournalRecord[]> {
  return (await store.journal(id, from)).map(({ record }) => readRecord(record));
}

/** SHA-256 of a call's arguments as JSON, hex. */
export function hashOf(args: Json): string {
  return hash("sha256", JSON.stringify(args));
}

/** The limits of a session's spending since its last load. */
export interface BudgetLimits {
  readonly max_tokens: number;
  readonly max_sub_calls: number;
  readonly max_time_ms: number;
  /** USD by the models' price lists; null: no limit. */
  readonly max_cost_usd: number | null;
  /** Calls of functions that the program lends. Absent: it lends none. */
  readonly max_functions?: number | undefined;
}

/** The spending of a session since its last load: a fold over its journal. */
export interface Ledger {
  /** With those that are allotted to children whose calls are open. */
  readonly sub_calls: number;
  /** Input and output, cache reads and writes included. */
  readonly tokens: number;
  readonly cost_usd: number;
  /** ms of wall time inside execs. */
  readonly time_ms: number;
  /** Calls of functions. Absent: none. */
  readonly functions?: number;
}

export const EMPTY_LEDGER: Ledger = { sub_calls: 0, tokens: 0, cost_usd: 0, time_ms: 0 };
