/** What answers sub-calls, loaded together by {@link loadSubCallLayer}. */
export { readOnlyTools } from "../agent-tools/index.ts";
export { threadedTools } from "../agent-tools/threaded.ts";
export { taskThread } from "../tasks/task-thread.ts";
export { estimateSubCall, placeholderAnswer } from "./dry-run.ts";
export { decideTools } from "./policy.ts";
export { runSubCall } from "./sub-call.ts";
