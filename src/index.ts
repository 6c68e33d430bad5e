/** Belay's library: open a session, load a context, run cells. */
export { ERROR_CODES, type ErrorCode, type ExecLimits, type Json, LIMITS, RlmError } from "../runtime/index.ts";
export type { ContextStats, SkippedFile } from "./context/index.ts";
export { openSession } from "./open-session.ts";
export type { QueryOptions, SearchStrategy } from "./query/index.ts";
export {
  type AskEnvelope,
  type AskOptions,
  type BudgetLimits,
  type CallDescription,
  type CallEstimate,
  type CallProgress,
  type CheckpointDescription,
  type CheckpointNotice,
  type Citation,
  type CollectOptions,
  type DryRun,
  type ExecDescription,
  type ExecEnvelope,
  type ExecFailure,
  type ExecOptions,
  type ExecSuccess,
  type HelperEntry,
  type LoadingOptions,
  type LoadResult,
  type LoadSource,
  type OnRestart,
  openStore,
  type Progress,
  type QueryEnvelope,
  type RemainingBudget,
  type Resumed,
  type Session,
  type SessionDescription,
  type SessionHelpers,
  type SessionMemory,
  type SessionOptions,
  type SessionStore,
  type SessionSummary,
  type SubAgentPolicy,
  type Unfinished,
} from "./session/index.ts";
export type { Collected } from "./store/index.ts";
