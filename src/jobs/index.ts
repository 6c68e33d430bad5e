export type {
  Runs,
  Submission,
  Submitted,
  WorkerSession,
  WorkOptions,
  WorkProgress,
} from "./api.ts";
export { limitIn } from "./budget-reason.ts";
export { isOfAnotherBuild } from "./build.ts";
export { asksModel, checkModel } from "./check-model.ts";
export type { Dispatcher, Ticket } from "./dispatcher.ts";
export { openInProcess } from "./in-process.ts";
export { openPgBoss } from "./pg-boss/dispatcher.ts";
export { queueFigures, type TicketCounts } from "./pg-boss/figures.ts";
export { openRuns } from "./runs.ts";
export { hashOfRun, newSpec, type ProviderRate, type RunSpec } from "./spec.ts";
export { work } from "./worker.ts";
