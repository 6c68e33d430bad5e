import type { Json } from "../../runtime/index.ts";
import type { ExecSuccess, QueryEnvelope } from "./journal/envelope.ts";

// Tools name these fields before anything that works with sessions is loaded.

/** The fields of an error in place of those of an exec: it was refused before it began. */
export const emptyEnvelope = {
  session_id: null,
  exec_id: null,
  stdout: "",
  stderr: "",
  result_json: null,
  result_meta: null,
  truncated: false,
  warnings: [],
  execution_time_ms: 0,
  limits_applied: null,
  tool_override_events: [],
  budget: null,
  resumed: 0,
  replayed_sub_calls: 0,
} as const satisfies Readonly<Record<Exclude<keyof ExecSuccess, "success">, Json>>;

/** The fields of an error in place of those of a query. */
export const emptyQueryEnvelope = {
  answer: null,
  notes: [],
  sections_analyzed: 0,
  sections: [],
  search_strategy_used: null,
  skipped: null,
} as const satisfies Readonly<Record<keyof QueryAnswered | "notes", Json>>;

/** `results` and `estimate` are those of a query that read objects. */
type QueryAnswered = Omit<Extract<QueryEnvelope, { success: true }>, keyof ExecSuccess | "results" | "estimate">;
