export type {
  Amount,
  Back,
  Change,
  Counts,
  DueJob,
  Hold,
  JobKey,
  JobOfRun,
  JobPage,
  JobRow,
  JobState,
  Jobs,
  NewJob,
  Outcome,
  Rate,
  RunLimits,
  RunRow,
  Settled,
} from "./jobs/port.ts";
export type {
  CheckpointRow,
  Collected,
  JournalRow,
  Lease,
  NewCheckpoint,
  NewSession,
  SessionRow,
  Step,
  Store,
  StoredContext,
  StoredRecord,
} from "./port.ts";
export { textKey } from "./rows/answer.ts";
export { shareStore } from "./thread/shared.ts";
export { openStore } from "./thread/thread.ts";
