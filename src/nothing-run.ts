import type { Json } from "../runtime/index.ts";
import type { ExecSuccess, QueryEnvelope } from "./session/index.ts";

/** What an error has in place of each field of an exec that ran: it was refused before it began. */
export const NOTHING_RUN = {
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

/** What an error of a query has in place of each of its fields: see `NOTHING_RUN`. */
export const NOTHING_READ = {
  answer: null,
  notes: [],
  sections_analyzed: 0,
  sections: [],
  search_strategy_used: null,
} as const satisfies Readonly<Record<keyof QueryAnswered | "notes", Json>>;

/** `results` and `estimate` are those of a query that read objects. */
type QueryAnswered = Omit<Extract<QueryEnvelope, { success: true }>, keyof ExecSuccess | "results" | "estimate">;
