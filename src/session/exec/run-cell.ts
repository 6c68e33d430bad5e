import {
  type Clock,
  clampLimits,
  type ExecLimits,
  type ExecSignals,
  type ExecState,
  noOutput,
  type Over,
  type Seed,
} from "../../../runtime/index.ts";
import { joinSignals } from "../../joined-signal.ts";
import type { CallProgress, OnRestart } from "../api.ts";
import type { BudgetLimits } from "../journal/ledger.ts";
import type { Machine } from "../machine/guest.ts";
import { openBudget } from "../sub-calls/budget.ts";
import { openCalls } from "./calls.ts";
import { warn } from "./ends.ts";
import { type CellRun, openExecJournal } from "./exec-journal.ts";
import { runLoop } from "./loop.ts";
import type { Answers, Beginning, Continuation } from "./ports.ts";
import { openTime, timeIsSpent } from "./time.ts";

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

export interface CellRequest {
  readonly source: string;
  readonly limits: Partial<ExecLimits>;
  readonly sites?: boolean;
  /** As in `ExecInput`. */
  readonly wantsWhole?: boolean;
}

/**
 * Runs a cell in a machine and answers its calls. When the session's time ends, calls in flight fail with
 * BudgetExceededError and the cell has 5 s to finish. A suspended exec ends with `lost`, and nothing more of it is recorded.
 */
export async function runCell(
  parts: CellParts,
  run: CellRun,
  machine: Machine,
  { source, limits, sites = false, wantsWhole = false }: CellRequest,
  { signal, suspend }: ExecSignals,
  from: Continuation | null,
): Promise<Over> {
  const state = from?.at ? withinLimits(from.at.state, parts.limits) : newState(run, clampLimits(parts.limits, limits));
  const budget = openBudget(parts.budget, run.account().ledger);
  const wholeMs = budget.left().remaining_time_ms;
  const spent = timeIsSpent(parts.budget.max_time_ms);
  // A machine that waits in the middle of a cell is of no use any more.
  if (wholeMs === 0) {
    return { kind: "over", state, end: spent, lost: from?.at ? "the time was spent" : null, whole: null, asides: [] };
  }
  using time = openTime(parts.clock, run.startedAt, wholeMs);
  const ledger = () => run.account().ledger;
  const calls = openCalls({ parts, budget, time, ledger, from });
  const journal = openExecJournal(run, machine, { calls, time, clock: parts.clock });
  const replay = from?.replay ?? [];
  const given = { source, state, wantsWhole, facts: calls.facts() };
  const beginning: Beginning = from?.at
    ? { kind: "resume", input: { ...given, waiting: from.at.waiting }, replay }
    : { kind: "start", input: { ...given, sites, seed: seed(parts.random) }, replay };
  using out = joinSignals(signal, time.out);
  const over = await runLoop({ machine: machine.sandbox, journal, calls, clock: parts.clock }, beginning, {
    signal: out.signal,
    ...(suspend ? { suspend } : {}),
  });
  if (run.events.some(({ denied_tools }) => denied_tools.length > 0)) warn(over.state, "tool_override_denied");
  const isOut = time.out.aborted && over.end.kind === "cancelled" && !signal?.aborted && !suspend?.aborted;
  return isOut ? { ...over, end: spent, whole: null, asides: [] } : over;
}

/** A store may come from somebody else: what it keeps of an exec cannot raise the limits of its end. */
function withinLimits(state: ExecState, limits: ExecLimits): ExecState {
  return { ...state, limits: clampLimits(limits, state.limits), running_ms: Math.max(0, state.running_ms) };
}

function newState({ exec_id, cell }: CellRun, limits: ExecLimits): ExecState {
  return { exec_id, cell, limits, output: noOutput(), warnings: [], running_ms: 0, next_call: 1 };
}

function seed(random: () => number): Seed {
  const word = () => Math.floor(random() * 2 ** 32);
  return [word(), word(), word(), word()];
}
