import { type ExecLimits, type ExecState, type Json, noOutput, type PendingCall } from "../../../runtime/index.ts";
import type { ToolOverrideEvent } from "../../model/index.ts";
import type { CallProgress, OnRestart } from "../api.ts";
import { callIn } from "../journal/exec-records.ts";
import { type BudgetLimits, type RemainingBudget, remaining } from "../journal/ledger.ts";
import type { Complete, Resume, Start, ToolResult } from "../journal/records.ts";
import type { Guest } from "../machine/guest.ts";
import type { Places } from "../sub-calls/places.ts";
import type { Above, Answered, Answers } from "../sub-calls/port.ts";
import type { Recorder, RecorderParts } from "./recorder.ts";
import type { ExecAsked, ExecRequest } from "./request.ts";
import type { SessionState } from "./session-state.ts";

/** The parts of an exec that do not change from exec to exec. */
export interface ExecParts extends RecorderParts {
  readonly guest: Guest;
  readonly limits: ExecLimits;
  readonly budget: BudgetLimits;
  readonly answers: Answers;
  /** The places of the whole tree of sessions. */
  readonly places: Places;
  /** Aborts once another process may have the session. Absent: that cannot happen. */
  readonly lost?: AbortSignal;
  /** For a session that answers a call of another one. */
  readonly above?: Above;
  /** The input of the job that the session is of, as JSON; null: it is of none. */
  readonly job: string | null;
  readonly onRestart: OnRestart;
  /** Called whenever a sub-call is sent or answered. */
  readonly onCalls?: (progress: CallProgress) => void;
  readonly newId: () => string;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Checkpoints within an exec stay when it is over. */
  readonly keepSteps: boolean;
  /** Checkpoints of earlier ends that go when this one is kept. */
  gcEnds(end: { readonly id: string; readonly isWhole: boolean }): readonly string[];
}

/** An exec that is running. */
export interface Work {
  readonly parts: ExecParts;
  readonly recorder: Recorder;
  readonly exec_id: string;
  /** On the scale of `clock.monotonic()`; without the time that an earlier process spent on the exec. */
  startedAt: number;
  /** Decisions on tools. */
  readonly events: ToolOverrideEvent[];
}

/** The budget that a session may still spend between execs: at its own level and above. */
export function leftOf(
  { budget, above }: Pick<ExecParts, "budget" | "above">,
  { account }: SessionState,
): RemainingBudget {
  const own = remaining(account.ledger, budget);
  return above?.budget.atMost(own) ?? own;
}

/** A turn of an ask, as it begins. */
interface TurnStart {
  readonly kind: "turn";
  readonly ask: string;
  /** The messages that the turn adds to the conversation, as they are sent. */
  readonly input: Json;
}

/** The record that an exec begins with. */
export function startOf(
  parts: ExecParts,
  { account }: SessionState,
  request: ExecRequest | TurnStart,
  exec_id: string,
  { history }: Pick<ExecAsked, "history"> = {},
): Start {
  return {
    record: "rlm_start",
    exec_id,
    kind: request.kind,
    input: inputOf(request),
    cell: "source" in request ? request.source : null,
    ...("name" in request && request.name !== undefined ? { name: request.name } : {}),
    ...("ask" in request && request.ask !== undefined ? { ask: request.ask } : {}),
    ...(history === undefined ? {} : { history_hash: history.hash }),
    limits: request.kind === "cell" ? request.limits : {},
    helpers_hash: account.helpers_hash,
    rest: request.kind === "cell" ? (request.rest ?? []) : [],
    at: parts.clock.now(),
  };
}

function inputOf(request: ExecRequest | TurnStart): Json {
  if (request.kind === "query") return request.prompt;
  if (request.kind === "cell") return request.source;
  return JSON.parse(JSON.stringify(request.input));
}

/** The record of a process that takes the exec over. */
export function resumeOf(
  { parts, recorder, exec_id }: Work,
  checkpoint_id: string | null,
  replay: readonly unknown[],
  open: string[],
): Resume {
  const { last } = recorder.state().account;
  // A call that a child answers goes on where it was.
  const goesOn = (id: string) => {
    const call = last ? callIn(last, id) : undefined;
    return call !== undefined && parts.answers.resumes?.(call) === true;
  };
  const [resent, failed] =
    parts.onRestart === "fail" ? [open.filter(goesOn), open.filter((id) => !goesOn(id))] : [open, []];
  return {
    record: "rlm_resume",
    exec_id,
    checkpoint_id,
    replayed: replay.length,
    resent,
    failed,
    at: parts.clock.now(),
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
export function completeOf({ parts, recorder, exec_id, startedAt, events }: Work, fields: Partial<Complete>): Complete {
  const { account, context } = recorder.state();
  const last = account.last;
  return {
    record: "rlm_complete",
    exec_id,
    kind: last?.start.kind ?? "cell",
    success: true,
    error_code: null,
    error_message: null,
    end: null,
    state: null,
    events,
    call_count: last?.calls.length ?? 0,
    time_ms: parts.clock.monotonic() - startedAt,
    resumed: last?.resumed ?? 0,
    replayed_sub_calls: last?.replayed ?? 0,
    checkpoint_id: null,
    helpers_hash: account.helpers_hash,
    context_hash: context?.hash ?? null,
    context_key: context?.key ?? null,
    at: parts.clock.now(),
    ...fields,
  };
}

/** The state of an exec that has run nothing yet. */
export function unstarted({ exec_id, recorder, parts }: Work): ExecState {
  const cell = recorder.state().account.cells + 1;
  return { exec_id, cell, limits: parts.limits, output: noOutput(), warnings: [], running_ms: 0, next_call: 1 };
}
