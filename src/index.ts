/** Belay's library: open a session, load a context, run cells. */
export { ERROR_CODES, type ErrorCode, type ExecLimits, type Json, LIMITS, RlmError } from "../runtime/index.ts";
export type { ContextStats, SkippedFile } from "./context/context.ts";
export type { ExecEnvelope, ExecFailure, ExecSuccess } from "./session/envelope.ts";
export type { RemainingBudget } from "./session/ledger.ts";
export {
  type ExecOptions,
  type LoadingOptions,
  type LoadResult,
  type LoadSource,
  openSession,
  type Progress,
  type Session,
  type SessionHelpers,
  type SessionMemory,
  type SessionOptions,
} from "./session/session.ts";
