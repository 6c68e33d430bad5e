import { silenceSqliteWarning } from "../platform/sqlite-warning.ts";

export type { AgentTool } from "./agent-tools/index.ts";
export { cutAnswer, failure, isFailureCode, refusesTools } from "./failure.ts";
export { fetchedProblem } from "./fetched.ts";
export { type Authorization, defaultModels, keyVariable } from "./keys/keys.ts";
export { agentDirOf } from "./keys/pi-files.ts";
export { endOf, endSentence } from "./model-ends.ts";
export {
  listModels,
  type ModelFacts,
  modelsAt,
  modelsMeantBy,
  noModelCure,
  openModels,
  priceOf,
  refreshModels,
  refusalOf,
  withFallback,
} from "./models.ts";
export {
  type Complete,
  type Completion,
  type CompletionMessage,
  type CompletionRequest,
  ownModels,
} from "./own-model.ts";
export { nearestNames, priceIn } from "./pi-ai/catalog.ts";
export { piAiModel } from "./pi-ai/model.ts";
export type * from "./port.ts";
export type { Patience } from "./replies/away.ts";
export { refusalKind } from "./replies/refusal-kinds.ts";
export { standInOf, textsIn } from "./replies/stand-ins.ts";
export { readLiteral, textCalls } from "./replies/text-calls.ts";
export { toolUses } from "./replies/tool-use.ts";
export { isQuoted } from "./sent-messages.ts";
export { isLocalServer } from "./server-window.ts";
export type { ToolOverrideEvent } from "./sub-call/policy.ts";
export type { Asked, RequestParts, Spent, SubCallTurn } from "./sub-call/requests.ts";
export type { SubCall, SubCallOutcome } from "./sub-call/sub-call.ts";
export { TaskEnded, taskThread } from "./tasks/task-thread.ts";
export { addUsage, estimateTokens, knownModel, knownPrice, NO_USAGE, ratesFor, tokensOf } from "./usage.ts";

type AgentLayer = typeof import("./agents/index.ts");

let loadingAgents: Promise<AgentLayer> | undefined;

/**
 * Loads what runs programs of the user's in place of a model, with the first of them: it opens
 * SQLite in this thread.
 */
export function loadAgentLayer(): Promise<AgentLayer> {
  loadingAgents ??= loadAgents();
  return loadingAgents;
}

/** The program's own warnings are heard again afterwards. */
async function loadAgents(): Promise<AgentLayer> {
  const { emitWarning } = process;
  silenceSqliteWarning();
  try {
    return await import("./agents/index.ts");
  } finally {
    process.emitWarning = emitWarning;
  }
}

type SubCallLayer = typeof import("./sub-call/layer.ts");

let loading: Promise<SubCallLayer> | undefined;

/**
 * Loads what answers sub-calls, with the first call: a session that makes none does not wait for
 * it. The promise is kept, since a loader like jiti gives an empty module to a second import during
 * the first one.
 */
export function loadSubCallLayer(): Promise<SubCallLayer> {
  loading ??= import("./sub-call/layer.ts");
  return loading;
}
