import { type CellEnd, type ExecState, hasCode, placeless, RlmError } from "../../../runtime/index.ts";
import { messageOf } from "../../platform/errors.ts";

export function recordsDoNotFit(why: string): CellEnd {
  return placeless(
    "checkpoint_lost",
    "CheckpointError",
    `the exec cannot be resumed from its records: ${why}`,
    "Nothing was sent. Run the cell again.",
  );
}

export function notRecorded(cause: unknown): CellEnd {
  if (cause instanceof RlmError) return placeless(cause.code, cause.name, cause.message, cause.suggestion);
  return placeless(
    "checkpoint_failed",
    "CheckpointError",
    `the exec could not be recorded: ${messageOf(cause)}`,
    "Nothing was sent without a record. Free space or check the store's folder, then run the cell again.",
  );
}

export function warn(state: ExecState, warning: string): void {
  if (!state.warnings.includes(warning)) state.warnings.push(warning);
}

/** The cell has ended, and the store did not take the end: the exec can be finished once the store works. */
export function notKept(error: unknown): CellEnd {
  if (hasCode(error, "output_failed")) {
    return placeless(error.code, "OutputError", error.message, error.suggestion);
  }
  const { code, message } = failureOf(error);
  const why = `the exec's end could not be recorded: ${message}`;
  if (hasCode(error, "store_corrupt")) {
    return placeless(error.code, "CheckpointError", why, error.suggestion);
  }
  return placeless(
    code === "session_busy" ? code : "checkpoint_failed",
    "CheckpointError",
    why,
    "Free space or check the store's folder, then resume the session: it continues from the last checkpoint.",
  );
}

export function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (error instanceof RlmError) return error;
  return { code: "machine_lost", message: messageOf(error) };
}
