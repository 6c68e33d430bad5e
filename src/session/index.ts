export type { ProviderWait } from "../provider-batches/index.ts";
export type * from "./api.ts";
export type { AskEnvelope, AskOptions, Citation } from "./ask/api.ts";
export { checkSchema } from "./ask/ask.ts";
export { askEnvelope } from "./ask/envelope.ts";
export { contextParts, knownIn, readLoadInput, storedContext } from "./contexts/contexts.ts";
export { openHeldTexts } from "./contexts/held-texts.ts";
export type { RecordedAnswers } from "./env.ts";
export type * from "./events.ts";
export { loadIntoStore } from "./exec/load.ts";
export { EMPTY_ACCOUNT, follow, type Totals } from "./journal/account.ts";
export type { ToldCoverage as Coverage } from "./journal/coverage.ts";
export { coverageLine, coverageSentence, coveredContext, NEVER, SkippedSchema } from "./journal/coverage-sums.ts";
export {
  type ExecEnvelope,
  type ExecFailure,
  type ExecSuccess,
  envelope,
  type QueryEnvelope,
  queryEnvelope,
} from "./journal/envelope.ts";
export { leftOfQuestion, type RemainingBudget, ROOT_CALL } from "./journal/ledger.ts";
export {
  type BudgetLimits,
  type Complete,
  contextKeyIn,
  type EndExtras,
  hashOf,
  type JournalRecord,
  readEndExtras,
  readRecord,
  type ToolCall,
  type ToolResult,
} from "./journal/records.ts";
export { keyedCallsOf, type RecordedAnswer, recordedAnswer } from "./keyed-calls.ts";
export { warmMachine } from "./machine/guest.ts";
export { openPassages, PLACE_UNITS } from "./machine/passages.ts";
export type { Range } from "./machine/ranges.ts";
export type * from "./option-types.ts";
export {
  COLLECT_OPTIONS,
  checkOptions,
  DESCRIBE_OPTIONS,
  FORK_OPTIONS,
  LOAD_SOURCE,
  mostOf,
  OBJECT,
  optionProblem,
  options as optionsSchema,
  SESSION_OPTIONS,
  TEXT,
  TOOLS_OPTIONS,
} from "./options.ts";
export { changeBy, type ExecProgress, NO_PROGRESS, progressParts } from "./progress.ts";
export { openSession, openSessionWith, refuseBundled } from "./session.ts";
export { childName } from "./stored/children.ts";
export { type AnsweredFork, forkWithAnswers, type GivenAnswer } from "./stored/fork-answered.ts";
export { keepSettings, REMARK_NAMES, type RemarkOptions, remarksOf } from "./stored/remarks.ts";
export {
  canBeChosen,
  forkSession,
  listReadableSessions,
  type ReadableSessions,
  type Removing,
  readableRows,
  removeSession,
  type SessionSummary,
  sessionNamed,
  sessionToRemove,
  summaryOf,
} from "./stored/sessions.ts";
export { type AgentPlaces, openAgentPlaces } from "./sub-calls/agents.ts";
export { startedAgents } from "./sub-calls/agents-folder.ts";
export { type HeldBack, heldBackText, roundedUp } from "./sub-calls/held-back.ts";
export { foremost, waitText } from "./sub-calls/patience.ts";
export { nanodollars, type RunPart } from "./sub-calls/run-part.ts";
export { openSuspension, type Suspension, type SuspensionReason } from "./suspension.ts";
export { limitName, partsOfWarning, type WarningCures, warningSentence } from "./warnings.ts";
export type { WorkflowMarks } from "./workflow-marks.ts";
