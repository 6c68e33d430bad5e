import { type CellEnd, type ExecState, placeless, RlmError } from "../../../runtime/index.ts";

export function recordsDoNotFit(why: string): CellEnd {
  return placeless(
    "checkpoint_lost",
    "CheckpointError",
    `the exec cannot go on from its records: ${why}`,
    "Nothing was sent. Run the cell again.",
  );
}

export function notRecorded(cause: unknown): CellEnd {
  if (cause instanceof RlmError) return placeless(cause.code, cause.name, cause.message, cause.suggestion);
  const why = cause instanceof Error ? cause.message : String(cause);
  return placeless(
    "checkpoint_failed",
    "CheckpointError",
    `the exec could not be recorded: ${why}`,
    "Nothing was sent without a record. Free space or check the store's folder, then run the cell again.",
  );
}

export function warn(state: ExecState, warning: string): void {
  if (!state.warnings.includes(warning)) state.warnings.push(warning);
}
