/** The layer that answers sub-calls, loaded together by {@link loadSubCallLayer}. */
export { readOnlyTools } from "../agent-tools/index.ts";
export { cutTurn } from "../pi-ai/messages.ts";
export { taskThread } from "../tasks/task-thread.ts";
export { schemaProblem, threadedTools, valueIn } from "./in-thread.ts";
export { decideTools } from "./policy.ts";
export { openRequests } from "./requests.ts";
export { estimateSubCall, placeholderAnswer, runSubCall, tokensOfTools } from "./sub-call.ts";
