import { hash } from "node:crypto";
import {
  type CallHost,
  type Checkpoint,
  type Clock,
  clampLimits,
  type ExecEnd,
  type ExecLimits,
  type ExecSignals,
  type ExecState,
  type Json,
  LIMITS,
  noOutput,
  type PendingCall,
  placeless,
  type Replayed,
  type Seed,
  type Settlement,
} from "../../runtime/index.ts";
import type { ToolOverrideEvent } from "../model/policy.ts";
import type { RequestBudget } from "../model/port.ts";
import type { Step } from "../store/port.ts";
import type { CallProgress, OnRestart } from "./api.ts";
import { openBudget } from "./budget.ts";
import type { Machine } from "./guest.ts";
import type { History } from "./history.ts";
import type { BesideStep, JournalRecord, ToolResult } from "./journal.ts";
import type { BudgetLimits } from "./ledger.ts";
import type { Taken } from "./line.ts";

/** What came of a call: what the guest gets, and what the record keeps beside it. */
export interface Answered {
  readonly settlement: Settlement;
  readonly record: Pick<ToolResult, "usage" | "attempts" | "model" | "refused" | "cached" | "tool_override_event">;
  /** The key under which the answer may be taken again; null: it may not. */
  readonly cacheKey: string | null;
}

/** What an exec lends to the answering of one call. */
export interface CallContext {
  readonly budget: RequestBudget;
  /** Aborted when the exec ends or is cancelled. */
  readonly signal: AbortSignal;
  /** Aborted when the session's time is over. */
  readonly timeOver: AbortSignal;
  /** Tells that the call is being answered: until then it waits for its turn. */
  begun(): void;
}

/** Answers the calls of async builtins. */
export interface Answers {
  /** What the worker has to know of sub-calls before a cell makes one: part of the exec's facts. */
  readonly facts: { readonly [name: string]: Json };
  /** Must not reject: a call that fails is an answer. */
  answer(call: PendingCall, context: CallContext): Promise<Answered>;
  /** Whether a call that may have been carried out already can be made once more. */
  repeatable(call: PendingCall): boolean;
}

/** What running a cell needs of its session. */
export interface CellParts {
  readonly limits: ExecLimits;
  readonly budget: BudgetLimits;
  readonly answers: Answers;
  readonly onRestart: OnRestart;
  /** Told whenever a sub-call is sent or answered. */
  readonly onCalls?: (progress: CallProgress) => void;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** The exec that a cell runs in. */
export interface CellRun {
  readonly exec_id: string;
  /** 0 for the cell of a query. */
  readonly cell: number;
  /** On the scale of `clock.monotonic()`; an earlier process's part of the exec taken off. */
  readonly startedAt: number;
  /** Decisions on tools, added to as they are made. */
  readonly events: ToolOverrideEvent[];
  /** By the records committed so far. */
  history(): History;
  /** Keeps records, and with them answers for the cache. */
  commit(records: readonly JournalRecord[], cache?: Step["cache"]): Promise<void>;
  /** Keeps a checkpoint of the machine, which waits for calls, with the records that name it; takes it where it is not. */
  step(
    machine: Machine,
    taken: Checkpoint | null,
    make: (taken: Taken) => { readonly records: readonly JournalRecord[]; readonly beside: BesideStep },
  ): Promise<void>;
}

export interface CellRequest {
  readonly source: string;
  readonly limits: Partial<ExecLimits>;
  readonly sites?: boolean;
  /** As in `ExecInput`. */
  readonly wantsWhole?: boolean;
}

/** Where an interrupted exec goes on. */
export interface Continuation {
  /** The state of the checkpoint that the machine was opened from, and what it waits for; null: from the start. */
  readonly at: { readonly state: ExecState; readonly waiting: readonly PendingCall[] } | null;
  /** Recorded answers that the guest in the checkpoint has not got yet, in their order. */
  readonly replay: readonly Replayed[];
  /** Ids of the calls that have a record. */
  readonly recorded: ReadonlySet<string>;
}

/**
 * Runs a cell in a machine and answers its calls: a checkpoint that waits for them is kept before they are sent, each
 * answer before the guest gets it. When the session's time ends, calls in flight fail with BudgetExceededError and the
 * cell has 5 s to finish. A suspended exec ends with `lost`, and nothing more of it is recorded.
 */
export async function runCell(
  parts: CellParts,
  run: CellRun,
  machine: Machine,
  { source, limits, sites = false, wantsWhole = false }: CellRequest,
  { signal, suspend }: ExecSignals,
  from: Continuation | null,
): Promise<ExecEnd> {
  const state: ExecState = from?.at
    ? withinLimits(from.at.state, parts.limits)
    : {
        exec_id: run.exec_id,
        cell: run.cell,
        limits: clampLimits(parts.limits, limits),
        output: noOutput(),
        warnings: [],
        running_ms: 0,
        next_call: 1,
      };
  const budget = openBudget(parts.budget, run.history().ledger);
  const elapsed = () => parts.clock.monotonic() - run.startedAt;
  const wholeTime = budget.left().remaining_time_ms;
  // A machine that waits in the middle of a cell is of no use any more.
  if (wholeTime === 0) return { ...timeIsSpent(state, parts.budget), lost: from?.at ? "the time was spent" : null };
  const timeLeft = Math.max(0, wholeTime - elapsed());
  const timeOver = new AbortController();
  const outOfTime = new AbortController();
  const callOff = [
    parts.clock.after(timeLeft, () => timeOver.abort()),
    parts.clock.after(timeLeft + LIMITS.timeOverMs, () => outOfTime.abort()),
  ];
  const facts = (): Json => ({
    ...parts.answers.facts,
    ...budget.left(),
    remaining_time_ms: Math.max(0, wholeTime - elapsed()),
  });
  let closed = false;
  // What is aborted from now on has no answer: it is sent again by whoever resumes.
  suspend?.addEventListener(
    "abort",
    () => {
      closed = true;
    },
    { once: true },
  );
  let begun = 0;
  let done = 0;
  const tell = () =>
    parts.onCalls?.({
      done,
      running: begun - done,
      left: budget.left().remaining_sub_calls,
      tokens: run.history().ledger.tokens,
      cost_usd: run.history().ledger.cost_usd,
      held_tokens: budget.held().tokens,
      held_cost_usd: budget.held().cost_usd,
    });

  async function answer(call: PendingCall, signal: AbortSignal): Promise<Answered> {
    const interrupted = from?.recorded.has(call.id) === true;
    if (interrupted && (parts.onRestart === "fail" || !parts.answers.repeatable(call))) return PROCESS_RESTARTED;
    const open = budget.open(call.id);
    return parts.answers.answer(call, {
      budget: {
        async reserve(estimate, aborted) {
          const held = await open.reserve(estimate, aborted);
          tell();
          return held;
        },
      },
      signal,
      timeOver: timeOver.signal,
      begun() {
        begun++;
        tell();
      },
    });
  }

  const calls: CallHost = {
    facts,
    checkpoint: machine.line.step,
    async begin(pending, now, taken) {
      const unrecorded = pending.filter(({ id }) => from?.recorded.has(id) !== true);
      if (unrecorded.length === 0) return;
      const at = parts.clock.now();
      const made = run.history().last?.calls.length ?? 0;
      await run.step(machine, taken, ({ checkpoint, waiting }) => ({
        records: unrecorded.map(({ id, name, args }, index) => ({
          record: "rlm_tool_call",
          exec_id: run.exec_id,
          call_id: id,
          checkpoint_id: checkpoint.id,
          name,
          args,
          args_hash: hashOf(args),
          call_count: made + index + 1,
          output_bytes: Buffer.byteLength(now.output.stdout) + Buffer.byteLength(now.output.stderr),
          at,
        })),
        beside: { kind: "step", state: now, waiting, elapsed_ms: elapsed() },
      }));
      budget.follow(run.history().ledger);
      tell();
    },
    async run(call, signal) {
      const { settlement, record, cacheKey } = await answer(call, signal);
      // It did not end in time when it was aborted, and the exec's record is closed.
      if (closed) return settlement;
      const value: Json = settlement.ok ? settlement.value : { ...settlement.error };
      const at = parts.clock.now();
      await run.commit(
        [
          {
            record: "rlm_tool_result",
            exec_id: run.exec_id,
            call_id: call.id,
            name: call.name,
            success: settlement.ok,
            value,
            ...record,
            elapsed_ms: elapsed(),
            at,
          },
        ],
        cacheKey === null ? [] : [{ key: cacheKey, value: { value }, at }],
      );
      budget.close(call.id, run.history().ledger);
      // One that was given up is not done.
      if (settlement.ok || !signal.aborted) done++;
      tell();
      if (record.tool_override_event) run.events.push(record.tool_override_event);
      return settlement;
    },
  };
  try {
    const signals: ExecSignals = {
      signal: signal ? AbortSignal.any([signal, outOfTime.signal]) : outOfTime.signal,
      ...(suspend ? { suspend } : {}),
    };
    const replay = from?.replay ?? [];
    const ended = from?.at
      ? await machine.sandbox.resume(
          { source, state, wantsWhole, facts: facts(), waiting: from.at.waiting, replay },
          calls,
          signals,
        )
      : await machine.sandbox.exec(
          { source, state, sites, wantsWhole, facts: facts(), seed: seed(parts.random), replay },
          calls,
          signals,
        );
    closed = true;
    if (run.events.some(({ denied_tools }) => denied_tools.length > 0)) warn(ended.state, "tool_override_denied");
    const spent = outOfTime.signal.aborted && ended.end.kind === "cancelled" && !signal?.aborted && !suspend?.aborted;
    return spent ? { ...timeIsSpent(ended.state, parts.budget), lost: ended.lost } : ended;
  } finally {
    for (const each of callOff) each();
  }
}

/** A store may come from somebody else: what it keeps of an exec cannot raise the limits of its end. */
function withinLimits(state: ExecState, limits: ExecLimits): ExecState {
  return { ...state, limits: clampLimits(limits, state.limits), running_ms: Math.max(0, state.running_ms) };
}

/** SHA-256 of a call's arguments as JSON, hex. */
export function hashOf(args: Json): string {
  return hash("sha256", JSON.stringify(args));
}

export function warn(state: ExecState, warning: string): void {
  if (!state.warnings.includes(warning)) state.warnings.push(warning);
}

function seed(random: () => number): Seed {
  const word = () => Math.floor(random() * 2 ** 32);
  return [word(), word(), word(), word()];
}

const PROCESS_RESTARTED: Answered = {
  settlement: {
    ok: false,
    error: {
      name: "Error",
      code: "process_restarted",
      message: "Process was restarted",
      suggestion: "The call may or may not have been carried out: make it again, or go on without its answer.",
      retriable: true,
    },
  },
  record: {
    usage: { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 },
    attempts: [],
    model: "",
    refused: false,
    cached: false,
    tool_override_event: null,
  },
  cacheKey: null,
};

function timeIsSpent(state: ExecState, budget: BudgetLimits): ExecEnd {
  const end = placeless(
    "budget_exceeded",
    "BudgetExceededError",
    `the session's time is spent (${budget.max_time_ms} ms inside execs)`,
    "Summarise and finish, or load the context again, which begins a new budget.",
  );
  return { state, end, lost: null, whole: null, asides: [] };
}
