export type {
  CallProgress,
  CheckpointNotice,
  ExecOptions,
  HelperEntry,
  HostedOptions,
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
} from "./api.ts";
export { type CheckpointDescription, describeSession, type SessionDescription } from "./description.ts";
export type { CallEstimate, DryRun } from "./dry-run.ts";
export {
  type ExecEnvelope,
  type ExecFailure,
  type ExecSuccess,
  envelope,
  NOTHING_READ,
  NOTHING_RUN,
  type QueryEnvelope,
  queryEnvelope,
} from "./envelope.ts";
export { type CallDescription, describeExecs, type ExecDescription } from "./exec-description.ts";
export { follow, NO_HISTORY } from "./history.ts";
export {
  type BesideEnd,
  type Complete,
  hashOf,
  type JournalRecord,
  readBesideEnd,
  readRecord,
  type ToolCall,
  type ToolResult,
} from "./journal.ts";
export { type BudgetLimits, type RemainingBudget, remaining } from "./ledger.ts";
export { openSession, openSessionWith, type SessionParts } from "./session.ts";
export { type CollectOptions, openStore, type SessionStore } from "./session-store.ts";
export {
  checkSessionName,
  forkSession,
  LAST_SESSION,
  listSessions,
  removeSession,
  type SessionSummary,
  sessionNamed,
  summaryOf,
} from "./sessions.ts";
