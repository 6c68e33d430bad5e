export type * from "./api.ts";
export type { AskEnvelope, AskOptions, Citation } from "./ask/api.ts";
export { checkSchema } from "./ask/ask.ts";
export type { AskDescription, TurnDescription } from "./ask/description.ts";
export { askEnvelope } from "./ask/envelope.ts";
export { contextParts, readLoadInput, storedContext } from "./contexts/contexts.ts";
export { loadIntoStore } from "./contexts/load-apart.ts";
export type { RecordedAnswers } from "./env.ts";
export type * from "./events.ts";
export type { TurnProgress } from "./events.ts";
export { EMPTY_ACCOUNT, follow } from "./journal/account.ts";
export { leftOfQuestion } from "./journal/budgets.ts";
export type { ToldCoverage as Coverage } from "./journal/coverage.ts";
export {
  type ExecEnvelope,
  type ExecFailure,
  type ExecSuccess,
  envelope,
  type QueryEnvelope,
  queryEnvelope,
} from "./journal/envelope.ts";
export { type BudgetLimits, type RemainingBudget, ROOT_CALL } from "./journal/ledger.ts";
export {
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
export { keyedCallsOf } from "./keyed-calls.ts";
export { warmMachine } from "./machine/machines.ts";
export type * from "./option-types.ts";
export { checkOptions, OBJECT, optionProblem, TOOLS_OPTIONS } from "./options.ts";
export { openParking, type Parked, type Parking } from "./parking.ts";
export { hasWaited, type ProviderWait, waitsFor } from "./provider-wait.ts";
export { openSession, openSessionWith } from "./session.ts";
export { type Compared, compareSessions } from "./stored/against.ts";
export { type TextBounds, withBoundedTexts } from "./stored/bounded-texts.ts";
export type { CallDescription, ChildDescription } from "./stored/call-description.ts";
export type { ComparedCall } from "./stored/compared-calls.ts";
export { coverageLine, coverageSentence, coveredContext, SkippedSchema } from "./stored/coverage.ts";
export {
  type CheckpointDescription,
  damagedIn,
  describeSession,
  describeWhole,
  type SessionCoverage,
  type SessionDescription,
  type WholeDescription,
} from "./stored/description.ts";
export { describeExecs, type ExecDescription, type ResumeDescription } from "./stored/exec-description.ts";
export { type RecordedAnswer, recordedAnswer } from "./stored/recorded.ts";
export { keepSettings, REMARK_NAMES, type RemarkOptions, remarksOf } from "./stored/remarks.ts";
export { openStore, type SessionStore } from "./stored/session-store.ts";
export {
  canBeChosen,
  forkSession,
  listReadableSessions,
  type ReadableSessions,
  type Removing,
  readableRows,
  type SessionSummary,
  sessionNamed,
  sessionToRemove,
  summaryOf,
} from "./stored/sessions.ts";
export { type HeldBack, heldBackText, roundedUp } from "./sub-calls/held-back.ts";
export { nanodollars, type RunPart } from "./sub-calls/run-part.ts";
export { foremost, type Wait, waitText } from "./sub-calls/waits.ts";
