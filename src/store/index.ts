export { textKey } from "./cache.ts";
export type { Change, JobKey, JobState, Jobs, RunLimits, RunRow } from "./jobs/port.ts";
export type {
  CheckpointRow,
  Collected,
  JournalRow,
  NewCheckpoint,
  NewSession,
  SessionRow,
  Step,
  Store,
  StoredContext,
  StoredRecord,
} from "./port.ts";
export { shareStore } from "./shared.ts";
export { openStore } from "./thread.ts";
