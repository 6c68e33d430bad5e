/** Belay's library: open a session, load a context, run cells. */
export { ERROR_CODES, type ErrorCode, type ExecLimits, type Json, LIMITS, RlmError } from "../runtime/index.ts";
export type { ContextStats, SkippedFile } from "./context/context.ts";
export type { QueryOptions, SearchStrategy } from "./query/query.ts";
export type {
  CallProgress,
  ExecOptions,
  LoadingOptions,
  LoadResult,
  LoadSource,
  Progress,
  Session,
  SessionHelpers,
  SessionMemory,
  SessionOptions,
  SubAgentPolicy,
} from "./session/api.ts";
export type { CallEstimate, DryRun } from "./session/dry-run.ts";
export type { ExecEnvelope, ExecFailure, ExecSuccess, QueryEnvelope } from "./session/envelope.ts";
export type { BudgetLimits, RemainingBudget } from "./session/ledger.ts";
export { openSession } from "./session/session.ts";
