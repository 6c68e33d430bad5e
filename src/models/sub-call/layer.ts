/** The layer that answers sub-calls, loaded together by {@link loadSubCallLayer}. */
export { readOnlyTools } from "../agent-tools/index.ts";
export { threadedTools } from "../agent-tools/threaded.ts";
export { cutTurn } from "../pi-ai/messages.ts";
export { taskThread } from "../tasks/task-thread.ts";
export { estimateSubCall, placeholderAnswer, tokensOfTools } from "./dry-run.ts";
export { decideTools } from "./policy.ts";
export { openRequests } from "./requests.ts";
export { schemaProblem, valueIn } from "./schema-answer.ts";
export { runSubCall } from "./sub-call.ts";
