export type {
  JobInput,
  JobStore,
  Runs,
  Submission,
  Submitted,
  WorkerSession,
  WorkOptions,
  WorkProgress,
} from "./api.ts";
export type { Dispatcher, Ticket } from "./dispatcher.ts";
export { openInProcess } from "./in-process.ts";
export { hashOfRun, newSpec, type ProviderRate, type RunSpec } from "./spec.ts";
