export type * from "./api.ts";
export { asksModel, checkModel } from "./check-model.ts";
export { type ComparedCounts, type ComparedRuns, compareRuns } from "./compare-runs.ts";
export type { Dispatcher } from "./dispatcher.ts";
export { countedRun, followRun, leftToOtherBuild, openPoke, untilIdle } from "./follow.ts";
export { type Forecast, forecastOf } from "./forecast.ts";
export { openInProcess } from "./in-process.ts";
export { type Choice, choiceText, hasChoice } from "./inputs/chosen.ts";
export { BadInput, type Input, jsonLines } from "./inputs/lines.ts";
export { contextPath, type ReadJobs, readJobs, type SharedContext } from "./inputs/read-jobs.ts";
export { openIds, type Spool, spool } from "./inputs/spool.ts";
export {
  jobWarnings,
  openReasons,
  openTopReason,
  type Reason,
  type Refusal,
  refusalJson,
  refusalOf,
  refusalOfRun,
  type TopReason,
  toldOf,
} from "./job-failures.ts";
export {
  costsByDay,
  type DayCost,
  type JobLook,
  type ListedRun,
  listRuns,
  lookAtJob,
  lookAtRun,
  type RunLook,
} from "./looks.ts";
export { openPgBoss } from "./pg-boss/dispatcher.ts";
export { queueFigures, type TicketCounts } from "./pg-boss/opening.ts";
export { isOfAnotherBuild } from "./process-parts.ts";
export {
  type DamagedOfRun,
  FINAL,
  HELD_UP,
  jobJson,
  jobsOf,
  openReadableJobs,
  readableRuns,
} from "./readable-jobs.ts";
export { dryRuns, recordedFor, spread } from "./recorded.ts";
export { type FinalJobs, finalJobs, openResultLines, type ResultsAsked } from "./result-lines.ts";
export { tableLines, tableRows } from "./result-table.ts";
export {
  type CountedRun,
  type HeldByAll,
  type HeldJobs,
  heldByAll,
  heldJobs,
  isLeftToProviders,
  jobsIn,
  limitIn,
  overIn,
  type RunState,
  runJson,
  runStateJson,
  stateOf,
} from "./run-state.ts";
export { openDispatcher, runToEnd, startWorking, usualConcurrency } from "./run-to-end.ts";
export { runsIn, type StoreRuns } from "./runs.ts";
export { modelOfRun, newSpec, type ProviderRate, type RunSpec } from "./spec.ts";
export { type RunAsked, type SubmittedRun, submit } from "./submit.ts";
export { work } from "./worker.ts";
