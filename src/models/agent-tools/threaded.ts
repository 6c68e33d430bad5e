import { TaskEnded, type TaskThread } from "../tasks/task-thread.ts";
import { type AgentTool, type ReadableRoots, readOnlyTools } from "./index.ts";

/** The read-only tools, which run in the thread: neither a pattern nor a file holds up the caller's. */
export function threadedTools(readable: ReadableRoots, thread: TaskThread): AgentTool[] {
  return readOnlyTools(readable).map((tool) => ({
    ...tool,
    run: (args, signal) => thread.run("tool", [readable, tool.name, args], signal).catch(withCure),
  }));
}

/** The model reads the message and can ask for less. */
function withCure(error: unknown): never {
  if (!(error instanceof TaskEnded) || error.reason === "cancelled") throw error;
  throw new Error(`${error.message}. Search a smaller folder, or for a simpler pattern.`, { cause: error });
}
