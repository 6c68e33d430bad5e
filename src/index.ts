/** Belay's library: open a session, load a context, run cells. */
export { ERROR_CODES, type ErrorCode, type ExecLimits, type Json, LIMITS, RlmError } from "../runtime/index.ts";
export type { ContextStats, SkippedFile } from "./context/context.ts";
export type { QueryOptions, SearchStrategy } from "./query/query.ts";
export type {
  CallProgress,
  CheckpointNotice,
  ExecOptions,
  HelperEntry,
  LoadingOptions,
  LoadResult,
  LoadSource,
  OnRestart,
  Progress,
  Resumed,
  Session,
  SessionHelpers,
  SessionMemory,
  SessionOptions,
  SubAgentPolicy,
  Unfinished,
} from "./session/api.ts";
export type { CheckpointDescription, SessionDescription } from "./session/description.ts";
export type { CallEstimate, DryRun } from "./session/dry-run.ts";
export type { ExecEnvelope, ExecFailure, ExecSuccess, QueryEnvelope } from "./session/envelope.ts";
export type { CallDescription, ExecDescription } from "./session/exec-description.ts";
export type { BudgetLimits, RemainingBudget } from "./session/ledger.ts";
export { openSession } from "./session/session.ts";
export { type CollectOptions, openStore, type SessionStore } from "./session/session-store.ts";
export type { SessionSummary } from "./session/sessions.ts";
export type { Collected } from "./store/port.ts";
