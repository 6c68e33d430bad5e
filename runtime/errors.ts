/**
 * Every error code of the product, append-only: the table of the RLM spec (§8, with `js_` for
 * `python_`), then what this runtime adds. Codes go over the wire and into records, so none is ever
 * renamed.
 */
export const ERROR_CODES = [
  "context_not_loaded",
  "path_outside_sandbox",
  "path_not_found",
  "context_too_large",
  "js_error",
  "js_timeout",
  "sandbox_violation",
  "budget_exceeded",
  "cancelled",
  "policy_violation",
  "reentrancy_error",
  "helper_limit_exceeded",
  "memory_limit_exceeded",
  "invalid_argument",
  "source_too_large",
  "machine_lost",
  "search_unavailable",
  "session_closed",
  "checkpoint_failed",
  "no_model_configured",
  "auth_expired",
  "invalid_config",
  "timeout",
  "sub_agent_error",
  "empty_answer",
  "truncated_answer",
  "content_filtered",
  "rate_limited",
  "provider_error",
  "auth_failed",
  "schema_mismatch",
  "not_awaited",
  "process_restarted",
  "checkpoint_lost",
  "context_lost",
  "context_changed",
  "exec_unfinished",
  "session_not_found",
  "session_exists",
  "session_busy",
  "store_failed",
  "store_corrupt",
  "store_too_new",
  "no_match",
  "output_failed",
  "settings_untrusted",
  "checkpoint_not_found",
  "exec_running",
  "no_answer",
  "depth_exceeded",
  "object_not_found",
  "object_ambiguous",
  "declined",
  "lease_lost",
  "run_differs",
  "run_not_found",
  "job_crashed",
  "host_incompatible",
  "answer_lost",
  "waits_for_provider",
  "otlp_failed",
  "document_unreadable",
  "store_full",
  "search_too_large",
  "function_failed",
  "function_missing",
  "no_credit",
  "window_full",
  "worktrees_changed",
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export function isErrorCode(code: string): code is ErrorCode {
  return ERROR_CODES.some((known) => known === code);
}

interface RlmErrorOptions {
  /** The remedy for the caller, as a sentence. */
  suggestion: string;
  /** The error class that the guest sees if this error reaches a cell (default `Error`). */
  guestName?: string | undefined;
  /** For errors of sub-calls: the same call may succeed if it is made again. */
  retriable?: boolean | undefined;
  cause?: unknown | undefined;
}

/** A failure with a code, a message that names the thing, and a suggestion that names the cure. */
export class RlmError extends Error {
  override readonly name = "RlmError";
  readonly code: ErrorCode;
  readonly suggestion: string;
  declare readonly guestName: string;
  declare readonly retriable: boolean | undefined;

  constructor(code: ErrorCode, message: string, options: RlmErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.suggestion = options.suggestion;
    // A text for the guest alone is not printed when nobody catches the error.
    const { guestName = "Error", retriable } = options;
    Object.defineProperties(this, { guestName: { value: guestName }, retriable: { value: retriable } });
  }

  /** The fields for `JSON.stringify`, which would leave the message of an Error out. */
  toJSON(): { readonly code: ErrorCode; readonly message: string; readonly suggestion: string } {
    const { code, message, suggestion } = this;
    return { code, message, suggestion };
  }
}

/** True if an error is an {@link RlmError} with one of these codes. */
export function hasCode<Code extends ErrorCode>(
  error: unknown,
  ...codes: readonly Code[]
): error is RlmError & { readonly code: Code } {
  return error instanceof RlmError && codes.some((code) => code === error.code);
}

/** An error for a mistake in the arguments of a builtin. The cell can catch it. */
export function argumentError(
  guestName: "TypeError" | "SyntaxError" | "RangeError",
  message: string,
  suggestion: string,
): RlmError {
  return new RlmError("js_error", message, { suggestion, guestName });
}
