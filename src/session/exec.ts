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
  RlmError,
  type Sandbox,
  type Settlement,
} from "../../runtime/index.ts";
import type { Context } from "../context/context.ts";
import type { ToolOverrideEvent } from "../model/policy.ts";
import type { RequestBudget } from "../model/port.ts";
import type { CallProgress } from "./api.ts";
import { openBudget } from "./budget.ts";
import type { ContextMessage } from "./context-message.ts";
import { codeOf } from "./envelope.ts";
import type { Guest } from "./guest.ts";
import type { ExecKind, JournalRecord, ToolResult } from "./journal.ts";
import { type BudgetLimits, type Ledger, spend } from "./ledger.ts";
import type { Store } from "./store.ts";

/** Where a session stands: what an exec starts from and what it leaves. */
export interface Head {
  readonly context: Context | null;
  /** Cells run since the last load: the next is `<cell N + 1>`. */
  readonly cells: number;
  readonly ledger: Ledger;
  /** Whether any exec has run in the guest since it was made. */
  readonly used: boolean;
  /** Why variables, memory and helpers are gone, until the next cell has said so. */
  readonly lost: string | null;
}

/** What is asked of an exec. */
export type ExecRequest =
  | { readonly kind: "cell"; readonly source: string; readonly limits: Partial<ExecLimits>; readonly sites?: boolean }
  /** A cell of ours, on a copy of the guest: only the ledger moves. `prompt` is what the journal keeps. */
  | { readonly kind: "query"; readonly prompt: string; readonly source: string }
  | { readonly kind: "load" | "append"; readonly source: string; read(current: Context | null): Promise<Context> }
  | { readonly kind: "memory" | "helpers"; readonly input: Json };

/** What an exec gives beside the new head. */
export type ExecOutcome =
  | {
      readonly kind: "cell" | "query";
      readonly end: ExecEnd;
      readonly warnings: readonly string[];
      readonly events: readonly ToolOverrideEvent[];
      readonly timeMs: number;
    }
  | { readonly kind: "load" | "append"; readonly context: Context }
  | { readonly kind: "memory" | "helpers"; readonly value: Json };

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

/** All that an exec needs and that does not change from exec to exec. */
export interface ExecParts {
  readonly session: string;
  readonly store: Store;
  readonly guest: Guest;
  readonly limits: ExecLimits;
  readonly budget: BudgetLimits;
  readonly answers: Answers;
  /** Told whenever a sub-call is sent or answered. */
  readonly onCalls?: (progress: CallProgress) => void;
  readonly clock: Clock;
  readonly newId: () => string;
}

/**
 * One exec: `(head, request) → head'`. Its start is in the journal before it does anything, its end before it answers.
 * Rejects where the caller asked for something that cannot be done; the head then stays as it was.
 */
export async function exec(
  parts: ExecParts,
  head: Head,
  request: ExecRequest,
  signal?: AbortSignal,
): Promise<{ head: Head; outcome: ExecOutcome }> {
  const { store, session, clock } = parts;
  const exec_id = parts.newId();
  const startedAt = clock.monotonic();
  let ledger = head.ledger;
  const events: ToolOverrideEvent[] = [];
  const commit = async (records: readonly JournalRecord[]) => {
    await store.commit(session, records);
    ledger = records.reduce(spend, ledger);
  };
  const complete = (kind: ExecKind, success: boolean, error_code: string | null, after: Partial<CompleteFacts>) =>
    commit([
      {
        record: "rlm_complete",
        exec_id,
        kind,
        success,
        error_code,
        time_ms: clock.monotonic() - startedAt,
        context_hash: (after.context ?? head.context)?.hash ?? null,
        state: after.state ?? null,
        at: clock.now(),
      },
    ]);

  await commit([{ record: "rlm_start", exec_id, kind: request.kind, input: inputOf(request), at: clock.now() }]);
  try {
    switch (request.kind) {
      case "cell": {
        const guest = await parts.guest.use(head.context);
        const end = await runCell(guest, request);
        const code = codeOf(end.end);
        await complete("cell", code === null, code, { state: end.state });
        const timeMs = clock.monotonic() - startedAt;
        if (end.lost) await parts.guest.renew();
        const warnings = head.lost ? [stateLost(head.lost)] : [];
        return {
          head: { ...head, cells: head.cells + 1, ledger, used: !end.lost, lost: end.lost },
          outcome: { kind: "cell", end, warnings, events, timeMs },
        };
      }
      case "query": {
        const copy = await parts.guest.copy(head.context);
        const end = await copy
          .use(head.context)
          .then((guest) => runCell(guest, { ...request, limits: {} }))
          .finally(() => copy[Symbol.asyncDispose]());
        const code = codeOf(end.end);
        await complete("query", code === null, code, { state: end.state });
        const timeMs = clock.monotonic() - startedAt;
        return { head: { ...head, ledger }, outcome: { kind: "query", end, warnings: [], events, timeMs } };
      }
      case "load": {
        const context = await request.read(null);
        if (head.used) await parts.guest.renew();
        await complete("load", true, null, { context });
        return {
          head: { context, cells: 0, ledger, used: false, lost: null },
          outcome: { kind: "load", context },
        };
      }
      case "append": {
        const context = await request.read(head.context);
        await complete("append", true, null, { context });
        return { head: { ...head, context, ledger }, outcome: { kind: "append", context } };
      }
      default: {
        const guest = await parts.guest.use(head.context);
        const value = await guest.enter(request.kind, request.input);
        await complete(request.kind, true, null, {});
        return { head: { ...head, ledger, used: true }, outcome: { kind: request.kind, value } };
      }
    }
  } catch (error) {
    if (request.kind !== "cell") {
      await complete(request.kind, false, error instanceof RlmError ? error.code : "machine_lost", {});
    }
    throw error;
  }

  async function runCell(
    guest: Sandbox<ContextMessage>,
    { kind, source, limits, sites = false }: CellRequest,
  ): Promise<ExecEnd> {
    const state: ExecState = {
      exec_id,
      cell: kind === "query" ? 0 : head.cells + 1,
      limits: clampLimits(parts.limits, limits),
      output: noOutput(),
      warnings: [],
      running_ms: 0,
      next_call: 1,
    };
    const budget = openBudget(parts.budget, head.ledger);
    const timeLeft = budget.left().remaining_time_ms;
    if (timeLeft === 0) return timeIsSpent(state, parts.budget);
    const timeOver = new AbortController();
    const outOfTime = new AbortController();
    const callOff = [
      clock.after(timeLeft, () => timeOver.abort()),
      clock.after(timeLeft + LIMITS.timeOverMs, () => outOfTime.abort()),
    ];
    const facts = (): Json => ({
      ...parts.answers.facts,
      ...budget.left(),
      remaining_time_ms: Math.max(0, timeLeft - (clock.monotonic() - startedAt)),
    });
    let closed = false;
    let begun = 0;
    let done = 0;
    const tell = () =>
      parts.onCalls?.({
        done,
        running: begun - done,
        left: budget.left().remaining_sub_calls,
        tokens: ledger.tokens,
        cost_usd: ledger.cost_usd,
        held_tokens: budget.held().tokens,
        held_cost_usd: budget.held().cost_usd,
      });
    const calls: CallHost = {
      facts,
      async begin(pending) {
        const at = clock.now();
        await commit(
          pending.map(({ id, name, args }) => ({ record: "rlm_tool_call", exec_id, call_id: id, name, args, at })),
        );
        budget.follow(ledger);
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
        const at = clock.now();
        await commit([{ record: "rlm_tool_result", exec_id, call_id: call.id, success, value, ...record, at }]);
        budget.close(call.id, ledger);
        // One that was given up is not done.
        if (settlement.ok || !signal.aborted) done++;
        tell();
        if (record.tool_override_event) events.push(record.tool_override_event);
        return settlement;
      },
    };
    try {
      const stop = signal ? AbortSignal.any([signal, outOfTime.signal]) : outOfTime.signal;
      const ended = await guest.exec({ source, state, sites, facts: facts() }, calls, stop);
      closed = true;
      if (events.some(({ denied_tools }) => denied_tools.length > 0)) ended.state.warnings.push("tool_override_denied");
      const spent = outOfTime.signal.aborted && ended.end.kind === "cancelled" && !signal?.aborted;
      return spent ? { ...timeIsSpent(ended.state, parts.budget), lost: ended.lost } : ended;
    } finally {
      for (const each of callOff) each();
    }
  }
}

interface CellRequest {
  readonly kind: "cell" | "query";
  readonly source: string;
  readonly limits: Partial<ExecLimits>;
  readonly sites?: boolean;
}

interface CompleteFacts {
  readonly context: Context;
  readonly state: ExecState;
}

function inputOf(request: ExecRequest): Json {
  if (request.kind === "query") return request.prompt;
  return "input" in request ? request.input : request.source;
}

const stateLost = (why: string) =>
  `state_lost: variables, memory and helpers are gone (${why}); the context is still loaded`;

function timeIsSpent(state: ExecState, budget: BudgetLimits): ExecEnd {
  const end = placeless(
    "budget_exceeded",
    "BudgetExceededError",
    `the session's time is spent (${budget.max_time_ms} ms inside execs)`,
    "Summarise and finish, or load the context again, which begins a new budget.",
  );
  return { state, end, lost: null };
}
