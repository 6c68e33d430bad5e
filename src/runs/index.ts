export type * from "./api.ts";
export { type ComparedCounts, type ComparedRuns, compareRuns } from "./compare-runs.ts";
export type { Dispatcher } from "./dispatcher.ts";
export {
  type CountedReason,
  jobWarnings,
  openReasons,
  openTopReason,
  type Refusal,
  refusalJson,
  refusalOf,
  type TopReason,
  toldOf,
} from "./failures.ts";
export { countedRun, followRun, leftToOtherBuild, openPoke, untilIdle } from "./follow.ts";
export { type Forecast, forecastOf } from "./forecast.ts";
export { openInProcess } from "./in-process.ts";
export { type Choice, choiceText, hasChoice } from "./inputs/chosen.ts";
export { inputsOf } from "./inputs/inputs.ts";
export { BadInput, type Input, jsonLines } from "./inputs/lines.ts";
export { contextPath, type ReadJobs, readJobs, type SharedContext } from "./inputs/read-jobs.ts";
export { openIds, type Spool, spool } from "./inputs/spool.ts";
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
export { openPgBoss, queueFigures, type TicketCounts } from "./pg-boss.ts";
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
export { type FinalJobs, finalJobs, openResultLines, type ResultsAsked, tableLines, tableRows } from "./results.ts";
export {
  type CountedRun,
  type HeldByAll,
  type HeldJobs,
  heldByAll,
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
export { asksModel, checkModel, modelOfRun, newSpec, type ProviderRate, type RunSpec } from "./spec.ts";
export { dryRuns, type RunAsked, recordedFor, type SubmittedRun, spread, submit } from "./submit.ts";
export { work } from "./worker.ts";
