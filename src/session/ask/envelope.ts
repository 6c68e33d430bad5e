import * as v from "valibot";
import { firstly, isErrorCode, remedy } from "../../../runtime/index.ts";
import { toldSkips } from "../../context/index.ts";
import { addUsage, failure, NO_USAGE, tokensOf } from "../../models/index.ts";
import type { TurnProgress } from "../events.ts";
import type { AskRecords } from "../journal/account.ts";
import { AskAnswer } from "../journal/ask-records.ts";
import { toldCoverage } from "../journal/coverage.ts";
import { type CoveredContext, coveredOf, sumCoverage } from "../journal/coverage-sums.ts";
import { type ExecEnvelope, SKIPS_IN_ANSWERS } from "../journal/envelope.ts";
import { answeredCalls, type ExecRecords, replayedIn, statusOf } from "../journal/exec-records.ts";
import { limitsMetIn, repliesTold, toolsUnusedIn } from "../journal/exec-warnings.ts";
import { type RemainingBudget, treeOf } from "../journal/ledger.ts";
import { leftOf, type SessionParts } from "../parts.ts";
import type { AskEnvelope, TrajectoryCall, TrajectoryTurn } from "./api.ts";
import { TOO_LONG, turnsDone } from "./next.ts";
import { readAsk, roundsOf } from "./records.ts";
import { proseIn } from "./reply.ts";

/** An ask as its envelope reports it. */
interface AskFacts {
  readonly session_id: string;
  readonly ask: AskRecords;
  readonly budget: RemainingBudget;
  /** The context that its cells look at; null: there is none, or it is lost. */
  readonly context: CoveredContext | null;
  /** True if the envelope is to have the trajectory. */
  readonly trajectory: boolean;
}

const Answer = v.object({ ...AskAnswer.entries, citations: v.array(v.any()) });

export function factsOf(setup: SessionParts, ask: AskRecords, trajectory: boolean): AskFacts {
  const { context } = setup.state();
  const covered = context && coveredOf(context);
  return { session_id: setup.row.id, ask, budget: leftOf(setup), context: covered, trajectory };
}

/** The envelope of an ask that has ended, from its records. */
export function askEnvelope(facts: AskFacts): AskEnvelope {
  const { complete } = facts.ask;
  if (!complete?.success) return failed(facts, complete?.error_code ?? "no_answer", complete?.error_message ?? "");
  const { value, answered_by, citations, warnings } = v.parse(Answer, complete.answer);
  const fields = fieldsOf(facts);
  const invalid = citations.filter(({ valid }) => !valid).length;
  return {
    success: true,
    ...fields,
    answer: value,
    answered_by,
    citations,
    warnings: [...fields.warnings, ...warnings, ...(invalid > 0 ? [`citation_invalid: ${invalid}`] : [])],
  };
}

/** The provider failed for longer than retries take: the ask is not over. */
export function pausedEnvelope(facts: AskFacts, { code, message }: { code: string; message: string }): AskEnvelope {
  return { ...failed(facts, code, message), resumable: true };
}

/** The ask was suspended, in a turn or in this cell. */
export function suspendedEnvelope(facts: AskFacts, cell?: Extract<ExecEnvelope, { success: false }>): AskEnvelope {
  const suspended = failed(facts, cell?.error_code ?? "cancelled", cell?.error_message ?? "the ask was suspended");
  return { ...suspended, suggestion: `${firstly("resume")}.`, resumable: true };
}

function failed(facts: AskFacts, code: string, message: string): AskEnvelope & { success: false } {
  const error_code = isErrorCode(code) ? code : "provider_error";
  return {
    success: false,
    ...fieldsOf(facts),
    error_code,
    error_message: message,
    suggestion: SUGGESTIONS[code] ?? SUGGESTIONS[error_code] ?? "Ask again later.",
  };
}

const SUGGESTIONS: Readonly<Partial<Record<string, string>>> = {
  no_answer: "Ask a narrower question, allow more turns, or name another model.",
  budget_exceeded: `Ask a narrower question, or ${remedy("moreBudget")}.`,
  schema_mismatch: "Ask for such a figure as a text.",
  cancelled: "Ask again.",
  auth_failed: "Check the provider's API key, then resume.",
  no_credit: "Check the plan and the credit at the provider, then resume.",
  auth_expired: `${firstly("login")}, then resume.`,
  rate_limited: "Wait, then resume.",
  provider_error: "Check the provider and the model, then resume.",
  window_full: failure("window_full", "").suggestion,
  [TOO_LONG]: `${firstly("discard")}, and ask a model with a larger window.`,
  timeout: "Resume: the turn is asked for again.",
};

function fieldsOf({ session_id, ask, budget, context, trajectory }: AskFacts) {
  const rounds = roundsOf(ask);
  const hasFence = rounds.some(({ protocol }, at) => at > 0 && protocol === "fence" && rounds[0]?.protocol === "tools");
  const inText = rounds.reduce(
    (sum, { outcome, cells }) => sum + (outcome.ok && outcome.reply.read.isInText ? cells.length : 0),
    0,
  );
  const hasElided = rounds.some(({ elide }) => elide.length > 0);
  return {
    session_id,
    ask_id: ask.start.exec_id,
    question: readAsk(ask).question,
    ...countsOf(ask),
    limits_met: ask.complete ? (ask.complete.limits_met ?? []) : limitsMetIn(ask),
    warnings: [
      ...(hasFence ? ["protocol_fence"] : []),
      ...(inText > 0 ? [`calls_in_text: ${inText}`] : []),
      ...(hasElided ? ["history_elided"] : []),
      // The end of an ask that was answered has recorded them, with those of its answer.
      ...(ask.complete?.success ? [] : repliesTold(ask.execs.flatMap(({ results }) => results))),
      ...toolsUnusedIn(ask.execs),
    ],
    execution_time_ms: Math.round(ask.execs.reduce((ms, { complete }) => ms + (complete?.time_ms ?? 0), 0)),
    budget,
    coverage: context && coverageIn(context, ask),
    skipped: context && toldSkips(context.skipped, SKIPS_IN_ANSWERS),
    resumed: ask.resumes.length,
    replayed_turns: replayedIn(ask),
    ...(trajectory ? { trajectory: trajectoryOf(ask) } : {}),
  };
}

/** The parts of the context that the ask's cells have looked at. */
function coverageIn(context: CoveredContext, { execs }: AskRecords) {
  const cells = execs.filter(({ start, complete }) => start.kind === "cell" && complete);
  const looks = cells.map(({ complete }) => ({ coverage: toldCoverage(complete?.coverage) }));
  return sumCoverage(context, looks).totals;
}

/** Turns and cells of an ask, the sessions below it, and what all of these took. */
export function countsOf(ask: AskRecords) {
  const { execs } = ask;
  const turns = execs.filter(({ start }) => start.kind === "turn").length;
  const results = execs.flatMap((exec) => exec.results);
  const usage = results.reduce((sum, result) => addUsage(sum, result.usage), NO_USAGE);
  return { turns, cells: execs.length - turns, ...treeOf(execs, readAsk(ask).settings.depth), usage };
}

/** Each turn with its cells and their calls, as the records tell them. */
function trajectoryOf(ask: AskRecords): readonly TrajectoryTurn[] {
  const rounds = roundsOf(ask);
  const turns = ask.execs.filter(({ start }) => start.kind === "turn");
  return turns.map((turn, at) => {
    const next = turns[at + 1];
    const from = ask.execs.indexOf(turn) + 1;
    const cells = ask.execs.slice(from, next ? ask.execs.indexOf(next) : undefined);
    const round = rounds[at];
    return {
      turn: round?.turn ?? at + 1,
      text: round?.outcome.ok ? round.outcome.reply.text : "",
      error_code: round && !round.outcome.ok ? round.outcome.code : null,
      usage: turn.results[0]?.usage ?? NO_USAGE,
      elapsed_ms: Math.round(turn.complete?.time_ms ?? 0),
      cells: cells.map((cell, index) => ({
        exec_id: cell.start.exec_id,
        code: cell.start.cell ?? "",
        success: cell.complete?.success === true,
        observation: round?.cells[index]?.observation ?? "",
        calls: callsOf(cell),
      })),
    };
  });
}

function callsOf(exec: Pick<ExecRecords, "calls" | "results">): readonly TrajectoryCall[] {
  return answeredCalls(exec).map(({ call, result }) => ({
    call_id: call.call_id,
    model: result?.model ?? "",
    status: statusOf(result),
    ...(result?.child ? { child: result.child } : {}),
  }));
}

/** The progress of an ask after one of its steps, for a person who waits. */
export function progressOf(ask: AskRecords, phase: TurnProgress["phase"]): TurnProgress {
  const { settings } = readAsk(ask);
  const { cells, sub_calls, usage } = countsOf(ask);
  const last = trajectoryOf(ask).at(-1);
  const rounds = roundsOf(ask);
  const outcome = rounds.at(-1)?.outcome;
  const detail = {
    text: outcome?.ok ? proseIn(outcome.reply) : "",
    cells: (last?.cells ?? []).map(({ code, observation }) => ({ code, observation })),
  };
  // A turn that the provider refused is asked for again under its number.
  const turn = phase === "asked" ? turnsDone(rounds) + 1 : (last?.turn ?? 1);
  const spent = { cells, sub_calls, tokens: tokensOf(usage), cost_usd: usage.cost_usd };
  return {
    depth: settings.depth,
    path: [],
    model: settings.model,
    turn,
    of: settings.max_turns,
    phase,
    ...spent,
    detail,
  };
}
