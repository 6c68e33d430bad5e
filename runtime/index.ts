export {
  type Channel,
  channelOfPort,
  openCaller,
  openThreadCaller,
  serveCaller,
  type ThreadCaller,
} from "./caller.ts";
export { CellSyntaxError } from "./cells/checks.ts";
export { findImport } from "./cells/declarations.ts";
export { OWNED_NAMES } from "./cells/helper-script.ts";
export { isScriptMistake, looksTyped, withoutTypes } from "./cells/typescript.ts";
export { backgroundClock, type Clock, monotonicMs, systemClock } from "./clock.ts";
export { limitLowered, lostEnd, placeless, SUSPENDED } from "./ends.ts";
export { argumentError, ERROR_CODES, type ErrorCode, hasCode, isErrorCode, RlmError } from "./errors.ts";
export {
  applyPart,
  countPages,
  freeBytes,
  isPacked,
  MIN_PIECE,
  mostChangesOf,
  openChanges,
  PACKING,
  pack,
  problemOf,
} from "./images/changes.ts";
export {
  type GuestImage,
  type ImageDelta,
  type ImageMeta,
  type ImagePages,
  PAGE_BYTES,
  type PagesPart,
} from "./images/image.ts";
export { imageFormat, imageProblem } from "./images/image-compat.ts";
export type { CallScope, Library, LibraryOver } from "./library.ts";
export {
  clampLimits,
  DEFAULT_ASK_MS,
  DEFAULT_BUDGET,
  DEFAULT_EXEC_LIMITS,
  DEFAULT_JOB_MS,
  type ExecLimits,
  LIMITS,
  MAX_EXEC_LIMITS,
} from "./limits.ts";
export { encodable, noOutput } from "./output.ts";
export { readGuestFile } from "./prelude.ts";
export type {
  Answer,
  CallError,
  CellEnd,
  Checkpoint,
  CheckpointRequest,
  ExecInput,
  ExecState,
  GivenAnswer,
  Json,
  PendingCall,
  Restoration,
  ResumeInput,
  Settlement,
  SliceImage,
} from "./protocol.ts";
export { hasEngine } from "./quickjs/build.ts";
export { firstly, remedy, type Wording, worded, wordedEnvelope } from "./remedies.ts";
export { roundedIn, roundedInJson } from "./rounded.ts";
export { SAMPLING, type Sampling, samplingIn, THINKING, THINKING_TOKENS, type Thinking } from "./sampling.ts";
export { openSandbox, type Sandbox } from "./sandbox.ts";
export { type Machines, processMachines } from "./threads/machines.ts";
export type { ExecSignals, Over, Slice, Waiting } from "./threads/thread.ts";
