export type { AgentTool } from "./agent-tools/index.ts";
export { cutAnswer, failure, isFailureCode, refusesTools } from "./failure.ts";
export { fetchedProblem } from "./fetched.ts";
export type { Authorization } from "./keys/authorize.ts";
export { agentDirOf } from "./keys/pi-files.ts";
export { defaultModels, keyVariable } from "./keys/variables.ts";
export { listModels, type ModelFacts, modelsAt, modelsMeantBy, refreshModels } from "./list.ts";
export { nearestNames } from "./meant-models.ts";
export { endOf, endSentence } from "./model-ends.ts";
export { noModelCure, openModels, priceOf, refusalOf, withFallback } from "./models.ts";
export {
  type Complete,
  type Completion,
  type CompletionMessage,
  type CompletionRequest,
  ownModels,
} from "./own-model.ts";
export { priceIn } from "./pi-ai/catalog.ts";
export { piAiModel } from "./pi-ai/model.ts";
export type * from "./port.ts";
export type { Patience } from "./replies/away.ts";
export { refusalKind } from "./replies/refusal-kinds.ts";
export { isQuoted } from "./replies/shown.ts";
export { readLiteral, textCalls } from "./replies/text-calls.ts";
export { type GivenUse, toolUses } from "./replies/tool-use.ts";
export { isLocalServer } from "./server-window.ts";
export { estimateTokens, knownModel, knownPrice, ratesFor } from "./sub-call/estimate.ts";
export { loadSubCallLayer } from "./sub-call/load-layer.ts";
export type { ToolOverrideEvent } from "./sub-call/policy.ts";
export type { Asked, RequestParts, Spent, SubCallTurn } from "./sub-call/requests.ts";
export type { SubCall } from "./sub-call/sub-call.ts";
export { TaskEnded, taskThread } from "./tasks/task-thread.ts";
export { addUsage, NO_USAGE, tokensOf } from "./usage.ts";
