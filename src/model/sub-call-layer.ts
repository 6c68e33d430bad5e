/** What answers sub-calls, loaded together by {@link loadSubCallLayer}. */
export { readOnlyTools } from "./agent-tools/index.ts";
export { estimateSubCall, placeholderAnswer } from "./placeholder.ts";
export { decideTools } from "./policy.ts";
export { runSubCall } from "./sub-call.ts";
export { taskThread } from "./task-thread.ts";
export { threadedTools } from "./threaded-tools.ts";
