import type { CellEnd, ErrorCode, ExecLimits, Json } from "../../../runtime/index.ts";
import { firstly, isErrorCode, remedy } from "../../../runtime/index.ts";
import { type SkippedStats, type ToldSkips, toldSkips } from "../../context/index.ts";
import type { ToolOverrideEvent } from "../../models/index.ts";
import type { ProviderWait } from "../../provider-batches/index.ts";
import { type ObjectsRead, type QueryNote, readObjectsResult, readQueryResult } from "../../query/index.ts";
import type { HeldBack } from "../sub-calls/held-back.ts";
import type { RemainingBudget } from "./ledger.ts";
import type { CellComplete, Complete } from "./records.ts";

/** The answer of an exec (spec §3.3), by its wire names. Error envelopes carry every field of a success. */
export type ExecEnvelope = ExecSuccess | ExecFailure;

interface ExecFields {
  readonly session_id: string;
  readonly exec_id: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly result_json: Json;
  readonly result_meta: Json;
  /** stdout or stderr was cut at `max_output_bytes`. */
  readonly truncated: boolean;
  /** Each begins with its code. */
  readonly warnings: readonly string[];
  /** Wall time, ms. */
  readonly execution_time_ms: number;
  readonly limits_applied: ExecLimits;
  readonly tool_override_events: readonly ToolOverrideEvent[];
  readonly budget: RemainingBudget;
  /** The number of times that the exec was continued in a new process. */
  readonly resumed: number;
  readonly replayed_sub_calls: number;
}

export interface ExecSuccess extends ExecFields {
  readonly success: true;
}

export interface ExecFailure extends ExecFields {
  readonly success: false;
  /** Present if the exec is unfinished: `resume` finishes it. */
  readonly resumable?: true;
  readonly error_code: ErrorCode;
  /** `TypeError: …` for an error of the cell. */
  readonly error_message: string;
  readonly error_name: string;
  /** 1-based, in the cell or helper that the traceback names first; null if the error has no place. */
  readonly line: number | null;
  readonly column: number | null;
  readonly traceback: string;
  readonly suggestion: string;
  /** Present only if the exec waits only for provider batches. */
  readonly waits?: readonly ProviderWait[];
  /** Present if calls wait for tokens or dollars that other calls hold. */
  readonly held_back?: HeldBack;
  /**
   * End of the account's limit for which the exec waits, ms since the epoch. Absent if the failure does not report it.
   */
  readonly retry_at?: number;
}

export interface EnvelopeFacts {
  readonly session_id: string;
  readonly budget: RemainingBudget;
  readonly unfinished: boolean;
  /** The files that cells are from, by the cells' numbers. */
  readonly files?: ReadonlyMap<number, string>;
}

/** The error code of a cell's end, or null for a success. */
export function codeOf(end: CellEnd): ErrorCode | null {
  if (end.kind === "error") return isErrorCode(end.code) ? end.code : "js_error";
  return CODES[end.kind];
}

const CODES = { ok: null, timeout: "js_timeout", cancelled: "cancelled" } as const;

/** The envelope of an exec that ran a cell, from its record. */
export function envelope(complete: CellComplete, facts: EnvelopeFacts): ExecEnvelope {
  const answer = closedEnvelope(complete, fieldsOf(complete, facts));
  if (answer.success) return answer;
  const named = { ...answer, traceback: withFiles(answer.traceback, facts.files ?? new Map()) };
  if (!facts.unfinished) return named;
  // To run a suspended cell again would pay for its answers twice.
  const suggestion = complete.end.kind === "cancelled" ? `${firstly("resume")}.` : named.suggestion;
  return { ...named, suggestion, resumable: true };
}

/** The record of an exec that ran a cell; null if it ran none. */
export function cellIn({ end, state, ...complete }: Complete): CellComplete | null {
  return end && state && { ...complete, end, state };
}

/** A traceback whose frames name files: `at main (scan.js:3:5)` in place of `at main (<cell 2>:3:5)`. */
export function withFiles(traceback: string, files: ReadonlyMap<number, string>): string {
  return traceback.replaceAll(
    /^( {4}at .*?)<cell (\d+)>(?=:\d+:\d+\)?$)/gm,
    (frame, before: string, number: string) => {
      const file = files.get(Number(number));
      return file === undefined ? frame : `${before}${file.replaceAll(/\s/g, " ")}`;
    },
  );
}

function closedEnvelope({ end, state }: CellComplete, fields: ExecFields): ExecEnvelope {
  switch (end.kind) {
    case "ok":
      return {
        success: true,
        ...fields,
        result_json: JSON.parse(end.result),
        result_meta: end.meta === null ? null : JSON.parse(end.meta),
      };
    case "error": {
      const { message, ...error } = end.error;
      const sentence = message ? `${error.name}: ${message}` : error.name;
      return failure(codeOf(end) ?? "js_error", sentence, fields, { ...error, suggestion: end.suggestion ?? "" });
    }
    case "timeout":
      return failure("js_timeout", `the cell ran longer than ${state.limits.max_execution_ms} ms`, fields, {
        name: "TimeoutError",
        suggestion: state.warnings.some((warning) => warning.startsWith("search_index_unfinished"))
          ? `Search again: the next search continues the index. Or ${remedy("raiseTime")}.`
          : `Do less in one cell, use find and search instead of loops over P, or ${remedy("raiseTime")}.`,
      });
    case "cancelled":
      return failure("cancelled", "the cell was cancelled", fields, {
        name: "CancelledError",
        suggestion: "Run the cell again, or end the session.",
      });
  }
}

function failure(
  error_code: ErrorCode,
  error_message: string,
  fields: ExecFields,
  error: { name: string; suggestion: string } & Partial<Pick<ExecFailure, "line" | "column" | "traceback">>,
): ExecFailure {
  const { name: error_name, line = null, column = null, suggestion } = error;
  const { traceback = `${error_name}: ${error_message}` } = error;
  return { success: false, error_code, error_message, error_name, line, column, traceback, suggestion, ...fields };
}

function fieldsOf(complete: CellComplete, facts: EnvelopeFacts): ExecFields {
  const { state, events, time_ms, resumed, replayed_sub_calls } = complete;
  const { output } = state;
  return {
    session_id: facts.session_id,
    exec_id: state.exec_id,
    stdout: output.stdout,
    stderr: output.stderr,
    result_json: null,
    result_meta: null,
    truncated: output.truncated,
    warnings: state.warnings,
    execution_time_ms: Math.round(time_ms),
    limits_applied: state.limits,
    tool_override_events: events,
    budget: facts.budget,
    resumed,
    replayed_sub_calls,
  };
}

/** The answer of a query (spec §3.4), with the facts of the exec. */
export type QueryEnvelope =
  | (QueryRead &
      QueryFacts & {
        readonly success: true;
        /** Cites its sources, each as it is in `sections`. */
        readonly answer: string;
      })
  | (ExecFailure &
      QueryRead & {
        readonly answer: null;
        /** The model's notes on each section that helps: the paid part, if only the last call failed. */
        readonly notes: readonly QueryNote[];
      });

type QueryFacts = Pick<
  ExecFields,
  "session_id" | "exec_id" | "warnings" | "execution_time_ms" | "budget" | "resumed" | "replayed_sub_calls"
>;

/** Skipped files that an answer lists. */
export const SKIPS_IN_ANSWERS = 20;

/** The sections that a query read, also if it has no answer. If it read objects, there are `results`. */
interface QueryRead extends Partial<ObjectsRead> {
  readonly sections_analyzed: number;
  /**
   * The source of each: `path:line` of where it begins, with `:column` if that is within a line; in a converted document its place,
   * `lease.pdf p.3`, or `lease.pdf p.3-p.5`.
   */
  readonly sections: readonly string[];
  /** null if the query failed before it chose sections. */
  readonly search_strategy_used: string | null;
  /** Files of the load that are not in the context; null without a context, and if it is lost. The first 20 are listed. */
  readonly skipped: ToldSkips | null;
}

/** The answer of a query from the envelope of its cell. @param skips of its context; null without one */
export function queryEnvelope(answer: ExecEnvelope, skips: SkippedStats | null): QueryEnvelope {
  const result = readQueryResult(answer.result_json);
  const objects = readObjectsResult(answer.result_json);
  const { error, notes, sections, failed, strategy } = result;
  const sections_analyzed = sections.length - failed;
  const skipped = skips && toldSkips(skips, SKIPS_IN_ANSWERS);
  const read = { sections_analyzed, sections, search_strategy_used: strategy, skipped, ...objects };
  if (!answer.success) return { ...answer, ...read, answer: null, notes };
  // A text that was read may say "[object Promise]": nothing of the query's own cell is unawaited.
  const own = answer.warnings.filter((warning) => !warning.startsWith("unawaited_value_in_prompt"));
  // Each of the objects' results says by itself whether it failed.
  const failures = failed > 0 && !objects ? [`sections_failed: ${failed}`] : [];
  const warnings = [...own, ...result.warnings, ...failures];
  if (error || result.answer === null) {
    const { success, ...fields } = answer;
    const { code, message, name, suggestion } = error ?? NO_ANSWER;
    const failed = failure(code, message, { ...fields, result_json: null }, { name, suggestion });
    return { ...failed, ...read, answer: null, notes, warnings };
  }
  const { session_id, exec_id, execution_time_ms, budget, resumed, replayed_sub_calls } = answer;
  const facts = { session_id, exec_id, warnings, execution_time_ms, budget, resumed, replayed_sub_calls };
  return { success: true, ...facts, ...read, answer: result.answer };
}

/** The error code of a query's end. The query's cell succeeds even if it has no answer. */
export function queryCodeOf(end: CellEnd): ErrorCode | null {
  return end.kind === "ok" ? (readQueryResult(JSON.parse(end.result)).error?.code ?? null) : codeOf(end);
}

const NO_ANSWER = {
  code: "sub_agent_error",
  name: "Error",
  message: "the query gave no answer",
  suggestion: "Ask again.",
} as const;
