import {
  type CallHost,
  type Clock,
  clampLimits,
  type ExecEnd,
  type ExecLimits,
  type ExecState,
  type Json,
  LIMITS,
  noOutput,
  type PendingCall,
  placeless,
  type Sandbox,
  type Settlement,
} from "../../runtime/index.ts";
import type { ToolOverrideEvent } from "../model/policy.ts";
import type { RequestBudget } from "../model/port.ts";
import type { CallProgress } from "./api.ts";
import { openBudget } from "./budget.ts";
import type { ContextMessage } from "./context-message.ts";
import type { JournalRecord, ToolResult } from "./journal.ts";
import type { BudgetLimits, Ledger } from "./ledger.ts";

/** What came of a call: what the guest gets, and what the record keeps beside it. */
export interface Answered {
  readonly settlement: Settlement;
  readonly record: Pick<ToolResult, "usage" | "attempts" | "model" | "refused" | "tool_override_event">;
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
}

/** What running a cell needs of its session. */
export interface CellParts {
  readonly limits: ExecLimits;
  readonly budget: BudgetLimits;
  readonly answers: Answers;
  /** Told whenever a sub-call is sent or answered. */
  readonly onCalls?: (progress: CallProgress) => void;
  readonly clock: Clock;
}

/** The exec that a cell runs in. */
export interface CellRun {
  readonly exec_id: string;
  /** 0 for the cell of a query. */
  readonly cell: number;
  /** On the scale of `clock.monotonic()`. */
  readonly startedAt: number;
  /** Decisions on tools, added to as they are made. */
  readonly events: ToolOverrideEvent[];
  /** What is spent, by the records committed so far. */
  ledger(): Ledger;
  commit(records: readonly JournalRecord[]): Promise<void>;
}

export interface CellRequest {
  readonly source: string;
  readonly limits: Partial<ExecLimits>;
  readonly sites?: boolean;
}

/**
 * Runs a cell in a guest and answers its calls: each is recorded before it is sent, its answer before the guest gets it.
 * When the session's time ends, calls in flight fail with BudgetExceededError and the cell has 5 s to finish.
 */
export async function runCell(
  parts: CellParts,
  run: CellRun,
  guest: Sandbox<ContextMessage>,
  { source, limits, sites = false }: CellRequest,
  signal?: AbortSignal,
): Promise<ExecEnd> {
  const state: ExecState = {
    exec_id: run.exec_id,
    cell: run.cell,
    limits: clampLimits(parts.limits, limits),
    output: noOutput(),
    warnings: [],
    running_ms: 0,
    next_call: 1,
  };
  const budget = openBudget(parts.budget, run.ledger());
  const timeLeft = budget.left().remaining_time_ms;
  if (timeLeft === 0) return timeIsSpent(state, parts.budget);
  const timeOver = new AbortController();
  const outOfTime = new AbortController();
  const callOff = [
    parts.clock.after(timeLeft, () => timeOver.abort()),
    parts.clock.after(timeLeft + LIMITS.timeOverMs, () => outOfTime.abort()),
  ];
  const facts = (): Json => ({
    ...parts.answers.facts,
    ...budget.left(),
    remaining_time_ms: Math.max(0, timeLeft - (parts.clock.monotonic() - run.startedAt)),
  });
  let closed = false;
  let begun = 0;
  let done = 0;
  const tell = () =>
    parts.onCalls?.({
      done,
      running: begun - done,
      left: budget.left().remaining_sub_calls,
      tokens: run.ledger().tokens,
      cost_usd: run.ledger().cost_usd,
      held_tokens: budget.held().tokens,
      held_cost_usd: budget.held().cost_usd,
    });
  const calls: CallHost = {
    facts,
    async begin(pending) {
      const at = parts.clock.now();
      await run.commit(
        pending.map(({ id, name, args }) => ({
          record: "rlm_tool_call",
          exec_id: run.exec_id,
          call_id: id,
          name,
          args,
          at,
        })),
      );
      budget.follow(run.ledger());
      tell();
    },
    async run(call, signal) {
      const { settlement, record } = await parts.answers.answer(call, {
        budget: budget.open(call.id),
        signal,
        timeOver: timeOver.signal,
        begun() {
          begun++;
          tell();
        },
      });
      // It did not end in time when it was aborted, and the exec's record is closed.
      if (closed) return settlement;
      const success = settlement.ok;
      const value: Json = settlement.ok ? settlement.value : { ...settlement.error };
      const at = parts.clock.now();
      await run.commit([
        { record: "rlm_tool_result", exec_id: run.exec_id, call_id: call.id, success, value, ...record, at },
      ]);
      budget.close(call.id, run.ledger());
      // One that was given up is not done.
      if (settlement.ok || !signal.aborted) done++;
      tell();
      if (record.tool_override_event) run.events.push(record.tool_override_event);
      return settlement;
    },
  };
  try {
    const stop = signal ? AbortSignal.any([signal, outOfTime.signal]) : outOfTime.signal;
    const ended = await guest.exec({ source, state, sites, facts: facts() }, calls, stop);
    closed = true;
    if (run.events.some(({ denied_tools }) => denied_tools.length > 0))
      ended.state.warnings.push("tool_override_denied");
    const spent = outOfTime.signal.aborted && ended.end.kind === "cancelled" && !signal?.aborted;
    return spent ? { ...timeIsSpent(ended.state, parts.budget), lost: ended.lost } : ended;
  } finally {
    for (const each of callOff) each();
  }
}

function timeIsSpent(state: ExecState, budget: BudgetLimits): ExecEnd {
  const end = placeless(
    "budget_exceeded",
    "BudgetExceededError",
    `the session's time is spent (${budget.max_time_ms} ms inside execs)`,
    "Summarise and finish, or load the context again, which begins a new budget.",
  );
  return { state, end, lost: null };
}
