import {
  type CellEnd,
  type Checkpoint,
  type ExecLimits,
  type ExecSignals,
  type ExecState,
  hasCode,
  type Json,
  noOutput,
  type PendingCall,
  placeless,
  RlmError,
} from "../../../runtime/index.ts";
import type { Context } from "../../context/index.ts";
import type { ToolOverrideEvent } from "../../models/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { jsonOf, withoutUndefined } from "../../platform/json.ts";
import type { Step } from "../../store/index.ts";
import type { LoadInput } from "../contexts/contexts.ts";
import type { Account, SessionState } from "../journal/account.ts";
import { type ExecRecords, replayedIn } from "../journal/exec-records.ts";
import type {
  BudgetLimits,
  CellFile,
  Complete,
  EndExtras,
  JournalRecord,
  Resume,
  Start,
  StepExtras,
  ToolCall,
  ToolResult,
} from "../journal/records.ts";
import type { Machine } from "../machine/guest.ts";
import type { Captured, Capturing } from "../machine/image-chain.ts";
import type { ExecOptions } from "../option-types.ts";
import type { SessionParts } from "../parts.ts";
import type { Answered } from "../sub-calls/port.ts";

/** An exec that is running. */
export interface Work {
  readonly setup: SessionParts;
  readonly recorder: Recorder;
  readonly exec_id: string;
  /** On the scale of `patience.time.monotonic()`; without the time that an earlier process spent on the exec. */
  startedAt: number;
  /** Decisions on tools. */
  readonly events: ToolOverrideEvent[];
}

/** Writes the records and checkpoints of one exec. `commit` and `keep` are one transaction each, on disk when they resolve. */
export interface Recorder {
  /** The session's state after the last commit. */
  state(): SessionState;
  /** Takes note of an error that something else has met: the store may have failed there too. */
  noticed(error: unknown): void;
  /** True if a commit of this exec, or a read for it, has failed. */
  hasFailed(): boolean;
  commit(records: readonly JournalRecord[], more?: CommitExtras): Promise<void>;
  /**
   * Captures the machine, which must be at rest. Nothing is kept yet.
   * @param image the image that the machine has captured by itself, or `null`
   * @param id that the image gets; absent: one of its own
   */
  capture(machine: Machine, kind: Capturing["kind"], image: Checkpoint | null, id?: string): Promise<Capture>;
  /** Keeps what was captured together with the records that name it. */
  keep(capture: Capture, kept: Kept): Promise<void>;
}

/** Parts of a commit beside its records. */
type CommitExtras = Pick<Step, "answers" | "cache" | "drop" | "checkpoint">;

export interface Capture extends Captured {
  /** When capturing began, on the scale of `clock.monotonic()`. The time in the guest's thread is subtracted. */
  readonly since: number;
}

interface Kept {
  readonly records: readonly JournalRecord[];
  readonly extras: StepExtras | GivenEndExtras;
  /** Checkpoints that are dropped. */
  readonly drop: readonly string[];
  /** The context that the state has from now on. */
  readonly context: Context | null;
}

/** Memory and helpers as the guest gave them. */
type GivenEndExtras = Omit<EndExtras, "memory" | "helpers"> & { readonly memory: Json; readonly helpers: Json };

/** The limits of a caller for one call, as its request has them. */
export function ownBudget(budget: ExecOptions["budget"]): { readonly budget?: Partial<BudgetLimits> } {
  const limits = withoutUndefined(budget ?? {});
  return Object.keys(limits).length === 0 ? {} : { budget: limits };
}

/** An ask as it begins, with its question and settings; or a turn of one, with the messages that it adds as they are sent. */
interface AskStart {
  readonly kind: "ask" | "turn";
  readonly ask?: string;
  readonly budget?: Partial<BudgetLimits>;
  readonly input: Json;
}

/** The record that an exec begins with. */
export function startOf(
  setup: SessionParts,
  request: ExecRequest | AskStart,
  exec_id: string,
  history?: Pick<Context, "hash">,
): Start {
  const { env, state } = setup;
  return {
    record: "rlm_start",
    exec_id,
    kind: request.kind,
    input: inputOf(request),
    cell: "source" in request ? request.source : null,
    ...("name" in request && request.name !== undefined ? { name: request.name } : {}),
    ...("ask" in request && request.ask !== undefined ? { ask: request.ask } : {}),
    ...questionOf(setup, request, exec_id),
    ...("ask" in request && request.ask !== undefined ? {} : takenKey(setup)),
    ...(history === undefined ? {} : { history_hash: history.hash }),
    ...("workflow" in request && request.workflow ? { workflow: setup.workflows.mark(exec_id, request.source) } : {}),
    limits: request.kind === "cell" ? request.limits : {},
    helpers_hash: state().account.helpers_hash,
    rest: request.kind === "cell" ? (request.rest ?? []) : [],
    at: env.clock.now(),
  };
}

/** The key of the call that begins or resumes an exec. Further execs of the call have none. */
function takenKey({ called, isDry }: Pick<SessionParts, "called" | "isDry">): Pick<Start, "call"> {
  const { key } = called;
  if (isDry || !key) return {};
  called.key = null;
  return { call: key };
}

/** The question that an exec belongs to: that of its host, or its own if its caller limits it. */
function questionOf(
  { questions, state }: Pick<SessionParts, "questions" | "state">,
  request: ExecRequest | AskStart,
  exec_id: string,
): Pick<Start, "question"> {
  if (request.kind !== "cell" && request.kind !== "query" && request.kind !== "ask") return {};
  // Cells of an ask are of its question.
  if ("ask" in request && request.ask !== undefined) return {};
  const { budget } = request;
  if (questions)
    return { question: { id: questions.id(state().account.question?.id ?? null), ...withoutUndefined({ budget }) } };
  return budget === undefined ? {} : { question: { id: exec_id, budget } };
}

function inputOf(request: ExecRequest | AskStart): Json {
  if (request.kind === "query") return request.prompt;
  if (request.kind === "cell") return request.source;
  return jsonOf(request.input);
}

/** The record of a process that takes the exec over. */
export function resumeOf(
  { setup, exec_id }: Pick<Work, "setup" | "exec_id">,
  checkpoint_id: string | null,
  replay: readonly unknown[],
  open: readonly ToolCall[],
  running: ExecRecords["running"] = [],
): Resume {
  // A call that a child answers continues where it was.
  const isAgain = (call: ToolCall) =>
    setup.rules.onRestart === "fail"
      ? setup.answers.resumes?.(call) === true
      : call.effects !== "once" || !running.includes(call.call_id);
  const idsOf = (calls: readonly ToolCall[]) => calls.map(({ call_id }) => call_id);
  return {
    record: "rlm_resume",
    exec_id,
    checkpoint_id,
    replayed: replay.length,
    resent: idsOf(open.filter(isAgain)),
    failed: idsOf(open.filter((call) => !isAgain(call))),
    ...takenKey(setup),
    at: setup.env.clock.now(),
  };
}

/** The record of an answer. */
export function resultOf(
  { id, name }: Pick<PendingCall, "id" | "name">,
  { settlement, record }: Pick<Answered, "settlement" | "record">,
  when: Pick<ToolResult, "exec_id" | "elapsed_ms" | "at">,
): ToolResult {
  const value: Json = settlement.ok ? settlement.value : { ...settlement.error };
  return { record: "rlm_tool_result", call_id: id, name, success: settlement.ok, value, ...record, ...when };
}

/** The record of the exec's end, by what the recorder has kept. */
export function completeOf({ setup, recorder, exec_id, startedAt, events }: Work, fields: Partial<Complete>): Complete {
  const { account, context } = recorder.state();
  const { last } = account;
  return {
    ...plainEnd(account, exec_id, setup.env.clock.now()),
    kind: last?.start.kind ?? "cell",
    events,
    call_count: last?.calls.length ?? 0,
    time_ms: setup.patience.time.monotonic() - startedAt,
    resumed: last?.resumes.length ?? 0,
    replayed_sub_calls: last ? replayedIn(last) : 0,
    context_hash: context?.hash ?? null,
    context_key: context?.key ?? null,
    ...fields,
  };
}

/** The end of an exec that ran nothing and succeeded, with the state of the account. @param at ms since the epoch */
export function plainEnd({ helpers_hash, context_hash, context_key }: Account, exec_id: string, at: number) {
  return {
    record: "rlm_complete",
    exec_id,
    success: true,
    error_code: null,
    error_message: null,
    end: null,
    state: null,
    events: [],
    call_count: 0,
    time_ms: 0,
    replayed_sub_calls: 0,
    checkpoint_id: null,
    helpers_hash,
    context_hash,
    context_key,
    at,
  } as const;
}

/** The state of an exec that has run nothing yet. */
export function unstarted({ exec_id, recorder, setup }: Work): ExecState {
  const cell = recorder.state().account.cells + 1;
  return { exec_id, cell, limits: setup.rules.limits, output: noOutput(), warnings: [], running_ms: 0, next_call: 1 };
}

export function notRecorded(cause: unknown): CellEnd {
  if (cause instanceof RlmError) return placeless(cause.code, cause.name, cause.message, cause.suggestion);
  return placeless(
    "checkpoint_failed",
    "CheckpointError",
    `the exec could not be recorded: ${messageOf(cause)}`,
    "Nothing was sent without a record. Free space or check the store's folder, then run the cell again.",
  );
}

export function warn(state: ExecState, warning: string): void {
  if (!state.warnings.includes(warning)) state.warnings.push(warning);
}

/** The cell has ended, and the store did not take the end: the exec can be finished once the store works. */
export function notKept(error: unknown): CellEnd {
  if (hasCode(error, "output_failed")) {
    return placeless(error.code, "OutputError", error.message, error.suggestion);
  }
  const { code, message } = failureOf(error);
  const why = `the exec's end could not be recorded: ${message}`;
  if (hasCode(error, "store_corrupt")) {
    return placeless(error.code, "CheckpointError", why, error.suggestion);
  }
  return placeless(
    code === "session_busy" ? code : "checkpoint_failed",
    "CheckpointError",
    why,
    "Free space or check the store's folder, then resume the session: it continues from the last checkpoint.",
  );
}

export function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof RlmError) return error;
  return { code: "machine_lost", message: messageOf(error) };
}

/** A request to run an exec. */
export type ExecRequest = CellRequest | LoadRequest | CommandRequest;

export type CellRequest =
  | {
      readonly kind: "cell";
      readonly source: string;
      readonly limits: Partial<ExecLimits>;
      readonly sites?: boolean;
      readonly name?: string;
      readonly rest?: readonly CellFile[];
      /** The exec_id of the ask whose cell this is. */
      readonly ask?: string;
      /** Limits of its caller for it alone. */
      readonly budget?: Partial<BudgetLimits>;
      /** It is a workflow of the user's. */
      readonly workflow?: boolean;
    }
  /** Belay's own cell, on another machine at the same checkpoint. Only the ledger changes. */
  | {
      readonly kind: "query";
      readonly prompt: string;
      readonly source: string;
      readonly budget?: Partial<BudgetLimits>;
    };

/** A change of the guest's memory or helpers. */
export interface CommandRequest {
  readonly kind: "memory" | "helpers";
  readonly input: Json;
}

/** The signals that end an exec, and the function that takes its whole result. */
export type ExecAsked = ExecSignals & Pick<ExecOptions, "deliver" | "history">;

/** The request of a cell or query, from its first record. */
export function cellRequestOf({ kind, input, cell, limits, rest, ask, workflow }: Start): CellRequest {
  const source = cell ?? "";
  if (kind === "query") return { kind, prompt: String(input), source };
  const own = { ...withoutUndefined({ ask }), workflow: workflow !== undefined };
  return { kind: "cell", source, limits, rest, ...own };
}

export interface LoadRequest {
  readonly kind: "load" | "append";
  readonly input: LoadInput;
  read(current: Context | null): Promise<Context>;
}
